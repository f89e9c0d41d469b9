"""Columns of Arrow as numbers, days and texts: what their types say, and how their values are read."""

import json

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.files.arrow_pieces import PyArrow
from aioli.streams.files.cell_values import is_missing
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, Texts

__all__ = ["days_of", "kind_by_type", "numbers_of", "texts_of"]

A_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def kind_by_type(arrow: PyArrow, kind: PyArrow) -> str | None:
    """Return what a column of this type is; None where the type is neither number, date nor string."""
    types = arrow.types
    if types.is_dictionary(kind):
        return CATEGORY if kind_by_type(arrow, kind.value_type) else None
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return NUMBER
    if types.is_boolean(kind) or types.is_null(kind) or types.is_time(kind):
        return NUMBER
    if types.is_timestamp(kind) or types.is_date(kind):
        return DATE
    return CATEGORY if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) else None


def numbers_of(arrow: PyArrow, column: PyArrow) -> tuple[Vector, dict[int, str]]:
    """Return a column as float64, NaN where there is null; infinities are NaN, and told by their row."""
    values = _floats(arrow, column)
    infinite = np.isinf(values)
    if not infinite.any():
        return values, {}
    return np.where(infinite, np.nan, values), {t: str(values[t]) for t in np.flatnonzero(infinite).tolist()}


def days_of(arrow: PyArrow, column: PyArrow) -> Vector:
    """Return a column of dates in days since 1970, to the microsecond as texts are read."""
    kind = column.type
    if arrow.types.is_date32(kind):
        return _floats(arrow, column.cast(arrow.int32()))
    unit = "ms" if arrow.types.is_date64(kind) else kind.unit
    if unit == "ns":
        column = column.cast(arrow.timestamp("us", kind.tz), safe=False)
        unit = "us"
    return _whole(arrow, column) / (86_400 * A_SECOND[unit])


def texts_of(arrow: PyArrow, column: PyArrow, label: bool = False) -> Texts:
    """Return a column as texts, None where one says that it is missing. Most are repeated, and are written once."""
    if not arrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    known: Texts = []
    for value in column.dictionary.to_pylist():
        text = None if value is None else _written(value)
        known.append(None if text is None or is_missing(text, label) else text)
    return [None if place is None else known[place] for place in column.indices.to_pylist()]


def _floats(arrow: PyArrow, column: PyArrow) -> Vector:
    types, kind = arrow.types, column.type
    if types.is_boolean(kind):
        column = column.cast(arrow.int8())
    elif types.is_time(kind):
        hours: Vector = _whole(arrow, column) / A_SECOND[kind.unit] / 3600.0
        return hours
    values: Vector = column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values.astype(np.float64, copy=False)


def _whole(arrow: PyArrow, column: PyArrow) -> Vector:
    bits = arrow.int32() if arrow.types.is_time32(column.type) else arrow.int64()
    values: Vector = column.cast(bits).cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def _written(value: object) -> str:
    """Return a value as a category: a string as it is, a moment as ISO 8601 writes it, the rest as JSON does."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else str(value)
