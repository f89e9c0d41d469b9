"""The short way of a single row of plain values: each key is looked up, and no column is gathered for one row."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import NamedTuple, cast

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.files.cell_values import POINT
from aioli.streams.files.dates import days_in, parts_of_day

__all__ = ["EncodedRow", "PlannedColumn", "RowPlan"]

LARGEST = 1e300  # larger numbers, infinities and integers beyond float64 take a table
PLAIN = {float, int, bool, np.float64, np.int64, np.bool_}  # types of numbers as they come; others take a table


class PlannedColumn(NamedTuple):
    """Says where a column's features are in a row.

    Attributes
    ----------
    name, places
        Its name, and the features of its number, or of its day: none of categories.
    mark
        The feature that is 1 where the value is missing; of a column that came after the first row, where one is there.
        None while it has no place.
    late
        Whether the column came after the first row.
    """

    name: str
    places: tuple[int, ...]
    mark: int | None
    late: bool


class EncodedRow(NamedTuple):
    """Holds a row of features, the numbers that its columns' means are of, and the columns that had no value."""

    features: Matrix
    numbers: list[tuple[str, float]]
    missing: list[str]


class RowPlan:
    """Encodes rows all of whose features have places, as `Encoder.encode` would.

    Parameters
    ----------
    columns
        The columns; none is free text.
    skipped
        Names of columns that are no features.
    places
        The place of every feature, by its name. The name of no column holds a "=".
    """

    def __init__(self, columns: Iterable[PlannedColumn], skipped: Iterable[str], places: Mapping[str, int]) -> None:
        self._columns = list(columns)
        self._known = {*(column.name for column in self._columns), *skipped}
        self._places = places

    def encode(self, row: Mapping[str, object], sums: Mapping[str, list[float]]) -> EncodedRow | None:
        """Return the row encoded, gaps filled from the columns' sums and counts; None where it takes a table."""
        if not row.keys() <= self._known:
            return None
        encoded = EncodedRow(np.zeros((1, len(self._places))), [], [])
        x = encoded.features[0]
        for column in self._columns:
            value = row.get(column.name)
            if value is None or (isinstance(value, (float, date)) and value != value):  # NaN or pandas' NaT
                known = _write_gap(column, x, sums)
                encoded.missing.append(column.name)
            elif column.places:
                known = _write_number(column, x, value, encoded.numbers)
            else:
                known = self._write_category(column, x, value)
            if not known:
                return None
        return encoded if len(encoded.missing) < len(self._columns) else None

    def _write_category(self, column: PlannedColumn, x: Vector, value: object) -> bool:
        """Write the 1 of a category; return whether it has a feature."""
        place = self._places.get(f"{column.name}={value}") if type(value) is str else None
        if place is not None:
            x[place] = 1.0
        return place is not None


def _write_gap(column: PlannedColumn, x: Vector, sums: Mapping[str, list[float]]) -> bool:
    """Write what stands for a missing value; return whether that is known."""
    if column.late:
        return len(column.places) <= 1  # 0 is the number of a late column, and no part of a day
    if column.mark is None:
        return False
    x[column.mark] = 1.0
    total, count = sums.get(column.name, (0.0, 0))
    _write(x, column.places, total / count if count else 0.0)
    return True


def _write_number(column: PlannedColumn, x: Vector, value: object, numbers: list[tuple[str, float]]) -> bool:
    """Write a number or a day, and note it for the mean of its column; return whether it is a plain one."""
    number = _number_in(value, is_day=len(column.places) > 1)
    if number is None or (column.late and column.mark is None):
        return False
    _write(x, column.places, number)
    if column.late:
        x[column.mark] = 1.0
    else:
        numbers.append((column.name, number))
    return True


def _number_in(value: object, is_day: bool) -> float | None:
    """Return a plain number, or the days of a date since 1970; None for any other value."""
    if is_day:
        return days_in(value.isoformat(), POINT) if isinstance(value, date) else None
    if type(value) not in PLAIN:
        return None
    number = cast(float, value)
    return float(number) if -LARGEST < number < LARGEST else None


def _write(x: Vector, places: tuple[int, ...], number: float) -> None:
    """Write a number to its feature, or a day to the three that it has."""
    if len(places) == 1:
        x[places[0]] = number
    elif places:
        x[list(places)] = parts_of_day(number)
