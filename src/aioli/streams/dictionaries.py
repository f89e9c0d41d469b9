"""Rows as dictionaries whose keys come and go, and labels of any two kinds, as numbers for a learner."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from aioli.errors import LabelRefused, RowRefused
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Label

__all__ = [
    "ENCODE",
    "Columns",
    "Item",
    "Sides",
    "content_of",
    "in_order",
    "names_of_sides",
    "numbers_of",
    "place_of_third",
    "refused_value",
    "spread_rows",
    "width_of",
    "with_labels",
]

ENCODE = "give numbers, and encode others before"

Item: TypeAlias = Mapping[Any, Any]  # a row as River has it; what its values are is looked at one by one
Columns = dict[Hashable, int]
Sides = dict[Label, int]


def spread_rows(values: Vector, keys: Sequence[Hashable], columns: Columns) -> Vector:
    """Return rows in the order of the columns, 0 where a key is absent; keys without a column are left out."""
    width = width_of(columns)
    rows = np.zeros((*values.shape[:-1], width + 1))
    rows[..., [columns.get(key, width) for key in keys]] = values
    return rows[..., :width]


def width_of(columns: Columns) -> int:
    """Return how many columns a learner is given."""
    return max(1, len(columns))  # a row without keys still has its label: a first column of zeros stands for its key


def in_order(keys: Iterable[Hashable]) -> list[Hashable]:
    """Return the keys sorted, by their texts where they do not compare."""
    keys_of_any_kind: list[Any] = list(keys)
    try:
        return sorted(keys_of_any_kind)
    except TypeError:  # kinds that do not compare
        return sorted(keys_of_any_kind, key=str)


def content_of(x: Item) -> frozenset[tuple[Hashable, float]]:
    """Return the row as it can be looked up, whatever the order of its keys."""
    return frozenset(zip(x, numbers_of(x).tolist(), strict=True))


def numbers_of(x: Item) -> Vector:
    """Return the values of a row in the order of its keys, or refuse what is no number."""
    try:
        values = np.array([*x.values()])  # without a type: np.float64 would read the string "1" as a number
        if values.ndim == 1 and values.dtype.kind in "biuf":
            return values
    except ValueError:  # sequences of several lengths
        pass
    return np.array([_number(key, value) for key, value in x.items()])


def _number(key: Hashable, value: object) -> float:
    if isinstance(value, (Real, np.bool_)):
        try:
            return float(value)
        except OverflowError:  # a whole number beyond float64
            pass
    raise refused_value(key, f"is {value!r}", value, ENCODE)


def refused_value(key: Hashable, problem: str, value: object, remedy: str, row: int | None = None) -> RowRefused:
    """Return the error that refuses a value of a row."""
    column = key if isinstance(key, (str, int)) else repr(key)
    return RowRefused(problem, row=row, column=column, value=value, remedy=remedy)


def with_labels(sides: Sides, labels: Sequence[Label]) -> Sides:
    """Return the mapping of label values to 0 and 1, extended by these labels."""
    try:
        distinct = dict.fromkeys(labels)
    except TypeError as error:
        raise LabelRefused(f"a label is not a single value ({error})", remedy="give one of two") from None
    sides = dict(sides)
    for y in distinct:
        if y in sides:
            continue
        row = None if len(labels) == 1 else labels.index(y)
        if y is None or y != y:
            raise LabelRefused(f"the label is {y!r}", row=row, value=y, remedy="leave out rows without one")
        if len(sides) == 2:
            raise LabelRefused(
                f"a third label, {y!r}, came after {' and '.join(map(repr, sides))}",
                row=row,
                value=y,
                remedy="this classifier knows two: use Auto or AIOLI, or river.multiclass.OneVsRestClassifier",
            )
        label = y.item() if isinstance(y, np.generic) else y
        sides[label] = 1 - next(iter(sides.values())) if sides else int(label == 1)
    return sides


def place_of_third(sides: Sides, labels: Sequence[Label]) -> int | None:
    """Return the place of the first label that is neither of two; None where there is none."""
    known = dict.fromkeys(sides)
    for place, y in enumerate(labels):
        try:
            if y in known or y is None or y != y:
                continue
        except TypeError:  # not even hashable
            return None
        if len(known) == 2:
            return place
        known[y] = None
    return None


def names_of_sides(sides: Sides) -> tuple[Label | None, Label | None]:
    """Return the label values that stand for 0 and 1; None for one that has not come and cannot be inferred."""
    if not sides:
        return False, True
    names: list[Label | None] = [None, None]
    for label, side in sides.items():
        names[side] = label
    if len(sides) == 1:
        ((label, side),) = sides.items()
        names[1 - side] = type(label)(1 - side) if type(label) in (bool, int, float) and label in (0, 1, -1) else None
    return names[0], names[1]
