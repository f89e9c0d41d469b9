"""Rows as Python has them, such as data frames and dictionaries, as named columns of numbers, days or texts."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aioli.errors import RowRefused
from aioli.numerics.compiling import Vector
from aioli.streams.files.cell_values import POINT, converted, is_missing, number_in
from aioli.streams.files.dates import days_in
from aioli.streams.files.jsonlines import flat_row
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT, Table, Texts
from aioli.streams.files.where import Numbered, Where
from aioli.streams.frames import Frame, as_mapping, column_text, is_categorical, names_of, own_names
from aioli.streams.matrices import TypedFrame

__all__ = [
    "RawColumn",
    "RawColumns",
    "column_of_values",
    "columns_of",
    "table_of_columns",
    "the_row",
]

A_DAY = 86_400_000_000  # microseconds


class RawColumn:
    """A column as it came: numbers (NaN is missing), days since 1970, or texts (None is missing)."""

    def __init__(
        self, kind: str, numbers: Vector | None = None, texts: Texts | None = None, settled: bool = False
    ) -> None:
        self.kind, self._numbers, self._texts = kind, numbers, texts
        self._settled = settled or texts is None  # what it is, its type says

    @property
    def sample(self) -> Sequence[str | None] | str:
        """What the recogniser looks at: the texts, or what the type says."""
        return self._texts if self._texts is not None and not self._settled else self.kind

    @property
    def is_typed(self) -> bool:
        """Whether the values are numbers or days, and no texts."""
        return self._texts is None

    @property
    def is_empty(self) -> bool:
        """Whether every value is missing."""
        if self._texts is not None:
            return all(text is None or is_missing(text) for text in self._texts)
        return self._numbers is not None and bool(np.isnan(self._numbers).all())

    def texts(self, label: bool = False) -> Texts:
        """Return the values as texts, None where one is missing."""
        if self._texts is not None:
            return [None if text is None or is_missing(text, label) else text for text in self._texts]
        assert self._numbers is not None
        return [None if math.isnan(x) else json.dumps(int(x) if x.is_integer() else x) for x in self._numbers.tolist()]

    def as_numbers(self, kind: str, notation: str) -> tuple[Vector, dict[int, str]]:
        """Return the values as numbers or days, NaN where one is missing; and by row what cannot be read."""
        if self._texts is not None:
            return converted(self.texts(), partial(number_in if kind == NUMBER else days_in, notation=notation))
        assert self._numbers is not None
        infinite = np.isinf(self._numbers)
        if not infinite.any():
            return self._numbers, {}
        found = {t: str(self._numbers[t]) for t in np.flatnonzero(infinite).tolist()}
        return np.where(infinite, np.nan, self._numbers), found


RawColumns: TypeAlias = dict[str, RawColumn]


def columns_of(data: object) -> tuple[RawColumns, int, bool]:
    """Return the columns of a frame or of rows, how many rows there are, and whether a name may be absent.

    It may be where rows are dictionaries. Columns of arrays and lists are called 0, 1, …

    >>> columns, rows, _ = columns_of([{"size": 1.5, "colour": "red"}, {"size": None}])
    >>> rows, columns["size"].sample, columns["colour"].sample
    (2, 'number', ['red', None])
    """
    if (only := as_mapping(data)) is not None:
        data = [only]
    given = list(data) if isinstance(data, Sequence) and not isinstance(data, str) else None
    known = [row for row in map(as_mapping, given or []) if row is not None]
    if given is not None and len(known) == len(given):
        rows = [
            flat_row({column_text(key): value for key, value in row.items()}, the_row(t)) for t, row in enumerate(known)
        ]
        found = {
            name: column_of_values([row.get(name) for row in rows])
            for name in dict.fromkeys(k for r in rows for k in r)
        }
        return {name: column for name, column in found.items() if not column.is_empty}, len(rows), True
    if given is None and isinstance(data, Frame) and not isinstance(data, np.ndarray):
        return _of_frame(data), len(data), False
    cells = _cells(data if given is None else given)
    return {str(j): _of_array(cells[:, j]) for j in range(cells.shape[1])}, len(cells), False


def _cells(data: object) -> NDArray[np.generic]:
    """Return an array or lists of rows as a matrix of cells, or refuse what is neither."""
    cells = data if isinstance(data, np.ndarray) else None
    if isinstance(data, list) and all(isinstance(row, (list, tuple, np.ndarray)) for row in data):
        cells = np.array(data, dtype=object) if len({len(row) for row in data}) == 1 else None
    if cells is None or cells.ndim != 2:
        raise RowRefused(
            f"is {type(data).__name__}",
            remedy="give a data frame, an array of rows, a dictionary or a list of dictionaries",
            place="the data",
        )
    return cells


def the_row(row: int) -> Where:
    """Return what names a row in messages."""
    return Numbered("the data", "row", range(row, row + 1))


def table_of_columns(
    columns: RawColumns, kinds: Mapping[str, str], notations: Mapping[str, str], rows: int, new: Mapping[str, str]
) -> Table:
    """Return the columns as a table, each read as its kind says; one that is absent is missing in every row."""
    numbers: dict[str, Vector] = {}
    days: dict[str, Vector] = {}
    texts: dict[str, Texts] = {}
    unreadable: dict[str, dict[int, str]] = {}
    none: Texts = [None] * rows
    for name, kind in kinds.items():
        column = columns.get(name, RawColumn(CATEGORY, texts=none))
        if kind in (NUMBER, DATE):
            held = numbers if kind == NUMBER else days
            held[name], cells = column.as_numbers(kind, notations.get(name, POINT))
            unreadable |= {name: cells} if cells else {}
        elif kind in (CATEGORY, TEXT):
            texts[name] = column.texts()
    matrix = np.column_stack(list(numbers.values())) if numbers else np.empty((rows, 0))
    where = Numbered("the data", "row", range(rows))
    complete = not np.isnan(matrix).any()
    return Table(list(numbers), matrix, texts, None, where, {}, complete, days, dict(new), unreadable=unreadable)


def _of_frame(frame: Frame) -> RawColumns:
    types = list(frame.dtypes) if isinstance(frame, TypedFrame) else [None]
    if all(isinstance(kind, np.dtype) and kind.kind in "iuf" for kind in types):  # thousands of columns in one piece
        numbers = np.asarray(frame, dtype=np.float64)
        return {name: RawColumn(NUMBER, numbers[:, j]) for j, name in enumerate(names_of(frame))}
    named = dict(zip(names_of(frame), own_names(frame), strict=True))
    return {text: _of_series(frame[name]) for text, name in named.items()}


def _of_series(column: ArrayLike) -> RawColumn:
    values = np.asarray(column)
    if is_categorical(column):
        return RawColumn(CATEGORY, texts=[_written(value) for value in values.tolist()], settled=True)
    return _of_array(values)


def _of_array(values: NDArray[np.generic]) -> RawColumn:
    if values.dtype.kind in "biuf":
        return RawColumn(NUMBER, values.astype(np.float64))
    if values.dtype.kind == "m":
        spans = values.astype("timedelta64[us]")
        return RawColumn(NUMBER, np.where(np.isnat(spans), np.nan, spans.astype(np.int64) / 1e6))
    if values.dtype.kind == "M":
        moments = values.astype("datetime64[us]")
        return RawColumn(DATE, np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / A_DAY))
    return column_of_values(cast(list[object], values.tolist()))


def column_of_values(values: Sequence[object]) -> RawColumn:
    """Return a column of Python values: texts where one is a text, else dates, or numbers."""
    known = [None if _is_none(value) else value for value in values]
    present = [value for value in known if value is not None]
    if present and all(isinstance(value, date) for value in present):
        days = [math.nan if value is None else days_in(cast(date, value).isoformat(), POINT) for value in known]
        return RawColumn(DATE, np.array([math.nan if day is None else day for day in days], dtype=np.float64))
    if all(isinstance(value, (Real, Decimal, np.bool_, time, timedelta)) for value in present):
        return RawColumn(NUMBER, np.array([_number(value) for value in known], dtype=np.float64))
    return RawColumn(CATEGORY, texts=[_written(value) for value in known])


def _number(value: object) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, time):
        return value.hour + value.minute / 60.0 + (value.second + value.microsecond / 1e6) / 3600.0
    try:
        return math.nan if value is None else float(cast(float, value))
    except OverflowError:  # a whole number beyond float64
        return math.inf


def _is_none(value: object) -> bool:
    """Return whether there is no value: None, NaN, pandas' NA or NaT."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def _written(value: object) -> str | None:
    """Return a value as a text: a string as it is, a moment as ISO 8601 writes it, the rest as JSON does."""
    if _is_none(value) or isinstance(value, str):
        return cast("str | None", None if _is_none(value) else value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 as 1: where one is missing, pandas has whole numbers as floats
    return json.dumps(value) if isinstance(value, (bool, int, float)) else str(value)
