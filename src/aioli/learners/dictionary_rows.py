"""Rows that were dictionaries, taught to a learner: new columns are made first, and a third label turns the learner."""

import copy
from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import TypeAlias, TypeVar

import numpy as np
from scipy.sparse import csr_array

from aioli.errors import CapabilityMissing
from aioli.learners.announcements import Announcement
from aioli.learners.cloning import learn_rows
from aioli.learners.protocol import ClassLearner, Learner, TurnsToClasses, grows, learns_late, names_columns
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Label
from aioli.streams.dictionaries import Columns, Sides, names_of_sides, refused_value, width_of, with_labels
from aioli.streams.files.table import Features

__all__ = [
    "RowWeights",
    "among_known",
    "learn_announced",
    "learn_third_label",
    "plain_labels",
    "sparse_rows",
    "widened",
]

Widened = TypeVar("Widened", Learner, ClassLearner)
LEAST_ROOM = 1024  # columns that a learner of sparse rows begins with; doubled when keys have filled them
RowWeights: TypeAlias = Sequence[float] | Vector | None  # one a row


def widened(learner: Widened, columns: Columns) -> Widened:
    """Return the learner itself, grown to these columns and knowing their names; refuse one that cannot grow."""
    known = learner.n_features_
    if known is not None and width_of(columns) > known:
        if not grows(learner):
            raise CapabilityMissing(
                f"new keys came, {list(columns)[known:]}, but {type(learner).__name__} cannot make new columns; "
                "give all keys from the first row, or use Auto or AIOLI (nothing was learned)"
            )
        learner.grow(width_of(columns) - known)
    if names_columns(learner):
        learner.feature_names_ = [str(key) for key in columns]
    return learner


def sparse_rows(
    values: Vector, keys: Sequence[Hashable], columns: Columns, new: Columns, known: int | None
) -> csr_array:
    """Return rows of the same keys as CSR, with room for keys to come, without those that have no column. O(nnz).

    `new` are columns that these rows bring, behind the others; `known` is how many the learner has room for.
    """
    if not np.isfinite(values).all():
        row, place = np.argwhere(~np.isfinite(values))[0]
        problem, at = f"is {values[row, place]}", None if len(values) == 1 else int(row)
        raise refused_value(keys[place], problem, values[row, place], "fill it", at)
    places = np.fromiter(map(columns.get, keys, repeat(-1)), np.int64, len(keys))
    if new:
        places[places < 0] = [new[key] for key in keys if key in new]
    order = np.argsort(places)[np.count_nonzero(places < 0) :]
    data = values[:, order].astype(np.float64, copy=False).ravel()
    count = len(values)
    room = max(known or LEAST_ROOM, 1 << (len(columns) + len(new)).bit_length())
    ends = np.arange(count + 1) * order.size
    indices = places[order] if count == 1 else np.tile(places[order], count)
    return csr_array((data, indices, ends), shape=(count, room))


def learn_announced(
    learner: Learner, rows: Features, labels: list[int], weights: RowWeights, announced: Announcement | None
) -> None:
    """Learn from rows in time, or from one that was announced earlier."""
    if announced is None or not learns_late(learner):
        learn_rows(learner, rows, labels, weights)
        return
    x = rows[0] if isinstance(rows, np.ndarray) else rows
    learner.learn(x, labels[0], 1.0 if weights is None else weights[0], announced=announced)


def learn_third_label(
    learner: Learner,
    sides: Sides,
    columns: Columns,
    rows: Vector,
    labels: Sequence[Label],
    weights: RowWeights,
    third: int,
) -> tuple[ClassLearner, Sides]:
    """Return a learner of many classes that has learned the rows, of which row `third` brings the third label.

    The rows before are still of two labels. The learner that is given stays as it is.
    """
    two = widened(copy.deepcopy(learner), columns)
    sides = with_labels(sides, labels[:third])
    first, rest = (None, None) if weights is None else (weights[:third], weights[third:])
    if third:
        learn_rows(two, rows[:third], [sides[y] for y in labels[:third]], first)
    assert isinstance(two, TurnsToClasses)
    negative, positive = names_of_sides(sides)
    assert negative is not None
    assert positive is not None
    many = two.with_classes(negative, positive)
    learn_rows(many, rows[third:], plain_labels(labels[third:]), rest)
    return many, sides


def plain_labels(labels: Sequence[Label]) -> list[Label]:
    """Return the labels, NumPy's as Python's."""
    return [y.item() if isinstance(y, np.generic) else y for y in labels]


def among_known(P: Matrix) -> Matrix:
    """Return the probabilities of the classes that have come, given that it is one of them: they add up to 1."""
    total = P.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(P, total, out=np.full_like(P, 1.0 / max(P.shape[1], 1)), where=total > 0.0))
