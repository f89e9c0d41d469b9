"""The short way of a single row of plain values: each key is looked up, and no column is gathered for one row."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import NamedTuple

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.files.cell_values import POINT
from aioli.streams.files.dates import days_in, parts_of_day

__all__ = ["EncodedRow", "PlannedColumn", "RowPlan"]

LARGEST = 1e300  # an infinity, and a whole number that float64 has none for, are read the long way
PLAIN = {float, int, bool, np.float64, np.int64, np.bool_}  # numbers as they come; any other is read the long way


class PlannedColumn(NamedTuple):
    """Tells the features of a column.

    Attributes
    ----------
    name, places
        Its name, and the features of its number, or of its day: none of categories.
    mark
        The feature that marks a missing value, or, of a number that came late, one that is there; None where it has no
        place.
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
        """Return the row encoded, gaps filled from the columns' sums and counts; None where it takes the long way."""
        if not row.keys() <= self._known:
            return None
        encoded = EncodedRow(np.zeros((1, len(self._places))), [], [])
        x = encoded.features[0]
        for name, places, mark, late in self._columns:
            value = row.get(name)
            if value is None or (isinstance(value, (float, date)) and value != value):  # NaN or pandas' NaT
                if late:
                    if len(places) > 1:
                        return None
                elif mark is None:
                    return None
                else:
                    x[mark] = 1.0
                    total, count = sums.get(name, (0.0, 0))
                    _write(x, places, total / count if count else 0.0)
                encoded.missing.append(name)
            elif not places:
                own = self._places.get(f"{name}={value}") if type(value) is str else None
                if own is None:
                    return None
                x[own] = 1.0
            else:
                number = _number_in(value, is_day=len(places) > 1)
                if number is None or (late and mark is None):
                    return None
                _write(x, places, number)
                if late:
                    x[mark] = 1.0
                else:
                    encoded.numbers.append((name, number))
        return encoded if len(encoded.missing) < len(self._columns) else None


def _number_in(value: object, is_day: bool) -> float | None:
    """Return a plain number, or the days of a date since 1970; None for any other value."""
    if is_day:
        return days_in(value.isoformat(), POINT) if isinstance(value, date) else None
    plain = type(value) in PLAIN and -LARGEST < value < LARGEST  # type: ignore[operator]
    return float(value) if plain else None  # type: ignore[arg-type]


def _write(x: Vector, places: tuple[int, ...], number: float) -> None:
    """Write a number to its feature, or a day to the three that it has."""
    if len(places) == 1:
        x[places[0]] = number
    elif places:
        x[list(places)] = parts_of_day(number)
