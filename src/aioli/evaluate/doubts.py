"""Finds columns that should probably not be learned from: identifiers, constants, copies of the label."""

from collections.abc import Sequence

import numpy as np

from aioli.evaluate.background import RowSample
from aioli.evaluate.original_columns import OriginalColumn
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.files.table import CATEGORY, NUMBER

__all__ = ["doubts"]

LEAST_ROWS = 50  # of the sample: fewer say nothing
LEAST_OF_A_CLASS = 10
DIFFERENT = 0.95  # of an identifier's values


def doubts(sample: RowSample, columns: Sequence[OriginalColumn]) -> list[str]:
    """Return a few words for each column to look at, by a sample of the rows; none where rows are few or sparse."""
    found = sample.labelled()
    if found is None or len(found[0]) < LEAST_ROWS:
        return []
    rows, labels = found
    said = [(column.name, _doubt(column, rows, labels)) for column in columns if column.values]
    return [f"{name} {doubt}" for name, doubt in said if doubt]


def _doubt(column: OriginalColumn, rows: Matrix, labels: Vector) -> str:
    """Return what is odd about a column; rows are in the order in which they came."""
    places = [place for place in column.values if place < rows.shape[1]]
    part = rows[:, places]
    if not places or (part == part[0]).all():
        return "" if column.marks else "is constant"
    if min(labels.sum(), (1.0 - labels).sum()) >= LEAST_OF_A_CLASS and _tells(part, labels):
        return "looks like a copy of the label"
    first = part[:, 0]
    if column.kind == NUMBER and (first == np.floor(first)).all() and (np.diff(first) > 0.0).all():
        return "looks like an identifier: it only grows"
    if column.kind == CATEGORY and len(np.unique(part, axis=0)) >= DIFFERENT * len(rows):
        return "looks like an identifier: its values are all different"
    return ""


def _tells(part: Matrix, labels: Vector) -> bool:
    """Return whether a column has two values, one for each label."""
    ones, zeros = (np.unique(part[labels == label], axis=0) for label in (1.0, 0.0))
    return len(ones) == len(zeros) == 1 and not np.array_equal(ones, zeros)
