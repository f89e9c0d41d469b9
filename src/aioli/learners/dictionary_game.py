"""Plays rows that are dictionaries: columns are made as their keys come, and classes as their labels do.

`aioli.river` has River's methods around this game.
"""

import copy
from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from aioli.learners.announced_rows import AnnouncedRows, PredictedRow
from aioli.learners.announcements import Announcement
from aioli.learners.cloning import fresh_copy, learn_rows
from aioli.learners.dictionary_rows import (
    RowWeights,
    among_known,
    learn_announced,
    learn_third_label,
    plain_labels,
    sparse_rows,
    widened,
)
from aioli.learners.protocol import (
    AnyLearner,
    ClassLearner,
    Learner,
    TurnsToClasses,
    knows_classes,
    learns_late,
    plays_two_classes,
    require_any_learner,
)
from aioli.learners.wide import Wide
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Label
from aioli.streams.dictionaries import (
    Columns,
    Item,
    Sides,
    content_of,
    in_order,
    names_of_sides,
    numbers_of,
    place_of_third,
    spread_rows,
    with_labels,
)
from aioli.streams.files.table import Features

__all__ = ["DictionaryGame"]

MOST_WAITING = 100_000  # rows whose labels may be out
PROBABILITIES, LIKELIEST = range(2)  # which method has predicted a row: each may be called once for it


class DictionaryGame:
    """Teaches a learner rows that are dictionaries of numbers; whatever is refused leaves no trace.

    A key gets its column, and a label its side, with the first row that is learned with it. With the third label the
    learner of two goes on as one of many. A row that was predicted before other rows came is learned from what was
    announced then.

    Parameters
    ----------
    learner
        A learner that has seen nothing, of which a copy learns; None is `Auto()`.
    """

    def __init__(self, learner: AnyLearner | None) -> None:
        given = None if learner is None else require_any_learner(learner)
        self.many: ClassLearner | None = None
        if given is not None and knows_classes(given):
            self.many = copy.deepcopy(given)
        self.learner: Learner = fresh_copy(None if given is None or not plays_two_classes(given) else given)
        self.columns: Columns = {}
        self._sides: Sides = {}
        self._labels = names_of_sides({})
        self._pick: Callable[[Any], Any] | None = None
        self._late = self.many is None and learns_late(self.learner)
        self._last: PredictedRow | None = None
        self.waiting = AnnouncedRows(MOST_WAITING)
        self._heard_late = False  # whether a label has come after another row

    # ---- learning

    @property
    def takes_more_labels(self) -> bool:
        """Whether it can learn rows of a third label."""
        return self.many is not None or isinstance(self.learner, TurnsToClasses)

    def learn_one(self, x: Item, y: Label, w: float) -> None:
        """Learn from a row of numbers: in time, or from what was announced for it before other rows came."""
        if self.many is not None:
            if w == 1.0 and x.keys() <= self.columns.keys() and self.many.rounds:
                self.many.learn(self._row(x), y)
            else:
                self._learn(tuple(x), numbers_of(x)[None, :], [y], None if w == 1.0 else [w])
            return
        in_time = self._last is not None and not self._heard_late and self._last.is_of(x)
        announced = None if in_time else self._announcement(x)
        try:
            side = self._sides.get(y)
        except TypeError:  # not even hashable
            side = None
        if announced is not None:
            self._learn(tuple(x), numbers_of(x)[None, :], [y], None if w == 1.0 else [w], announced)
            if self.many is None:  # else it was the third label, with which nobody waits any more
                self.waiting.drop(content_of(x))
            self._heard_late = True
        elif side is not None and w == 1.0 and x.keys() <= self.columns.keys():
            self.learner.learn(self._row(x), side)
        else:
            self._learn(tuple(x), numbers_of(x)[None, :], [y], None if w == 1.0 else [w])
        self._last = None

    def learn_many(self, keys: tuple[Hashable, ...], values: Vector, labels: list[Label], weights: RowWeights) -> None:
        """Learn from rows of the same keys, in time and in their order."""
        self._announce_last()
        self._learn(keys, values, labels, weights)

    def _learn(
        self,
        keys: tuple[Hashable, ...],
        values: Vector,
        labels: list[Label],
        weights: RowWeights,
        announced: Announcement | None = None,
    ) -> None:
        """Learn from the rows; all that may be refused happens to copies, or before anything is kept."""
        if isinstance(self.learner, Wide):
            self._learn_sparse(self.learner, keys, values, labels, weights, announced)
            return
        new = [key for key in keys if key not in self.columns]
        columns = self.columns | {key: j for j, key in enumerate(in_order(new), len(self.columns))}
        third = None if self.many is not None else place_of_third(self._sides, labels)
        if self.many is not None or (third is not None and isinstance(self.learner, TurnsToClasses)):
            self._learn_many_labels(spread_rows(values, keys, columns), labels, weights, columns, third)
            return
        sides = with_labels(self._sides, labels)
        learner = widened(copy.deepcopy(self.learner), columns) if new else self.learner
        learn_announced(learner, spread_rows(values, keys, columns), [sides[y] for y in labels], weights, announced)
        self.learner, self.columns, self._sides = learner, columns, sides
        self._labels = names_of_sides(sides)
        self._pick = itemgetter(*columns) if len(columns) > 1 else None

    def _learn_many_labels(
        self, rows: Vector, labels: list[Label], weights: RowWeights, columns: Columns, third: int | None
    ) -> None:
        """Learn rows of more than two labels; those before the third label are still of two. All or none."""
        if self.many is None:
            assert third is not None
            many, sides = learn_third_label(self.learner, self._sides, columns, rows, labels, weights, third)
            self.learner, self._late, self._last = fresh_copy(None), False, None  # what it knew has gone over
            self._sides, self.waiting = sides, AnnouncedRows(MOST_WAITING)
        else:
            new = len(columns) > len(self.columns)
            many = widened(copy.deepcopy(self.many), columns) if new else self.many
            learn_rows(many, rows, plain_labels(labels), weights)
        self.many, self.columns = many, columns
        self._pick = itemgetter(*columns) if len(columns) > 1 else None

    def _learn_sparse(
        self,
        learner: Wide,
        keys: tuple[Hashable, ...],
        values: Vector,
        labels: list[Label],
        weights: RowWeights,
        announced: Announcement | None,
    ) -> None:
        """Learn from the rows in O(nnz): whatever is as long as there are columns is copied when their room doubles."""
        new = in_order([key for key in keys if key not in self.columns])
        columns = {key: j for j, key in enumerate(new, len(self.columns))}
        rows = self._as_sparse(values, keys, columns)
        sides = with_labels(self._sides, labels)
        room = rows.shape[1]
        if learner.n_features_ is not None and learner.n_features_ < room:
            learner = copy.deepcopy(learner).grow(room - learner.n_features_)
        if len(labels) == 1 and weights is None and announced is None:
            learner.learn(rows, sides[labels[0]])  # without the overhead of many
        else:
            learn_announced(learner, rows, [sides[y] for y in labels], weights, announced)
        self.columns.update(columns)
        self.learner, self._sides, self._labels = learner, sides, names_of_sides(sides)

    # ---- predicting

    def probabilities(self, x: Item) -> dict[Label | None, float]:
        """Return the probability of each label that has come, or must come."""
        if self.many is not None:
            return dict(zip(self.many.classes_, self._of_many(self._row(x), single=True)[0].tolist(), strict=True))
        p = self._predict_two(x, PROBABILITIES)
        zero, one = self._labels
        return {zero: 1.0 - p, one: p}

    def likeliest(self, x: Item) -> Label | None:
        """Return the likeliest label; None where none has come."""
        if self.many is not None:
            p_of_each = self._of_many(self._row(x), single=True)[0]
            return self.many.classes_[int(p_of_each.argmax())] if len(p_of_each) else None
        zero, one = self._labels
        return one if self._predict_two(x, LIKELIEST) > 0.5 else zero

    def _predict_two(self, x: Item, method: int) -> float:
        """Return the probability of the second of two labels, and remember the row, whose label may come late."""
        p = self.learner.predict(self._row(x))
        if self._late:
            self._remember(x, method)
        return p

    def probabilities_many(self, keys: Sequence[Hashable], values: Matrix) -> dict[Label | None, Vector]:
        """Return the probabilities of each label in rows of the same keys."""
        if self.many is not None:
            return dict(zip(self.many.classes_, self._of_rows(keys, values).T, strict=True))
        p = self._predict_two_many(keys, values)
        zero, one = self._labels
        return {zero: 1.0 - p, one: p}

    def likeliest_many(self, keys: Sequence[Hashable], values: Matrix) -> list[Label | None]:
        """Return the likeliest label of each of the rows, which have the same keys."""
        if self.many is not None:
            if not self.many.classes_:
                return [None] * len(values)
            return [self.many.classes_[k] for k in self._of_rows(keys, values).argmax(axis=1).tolist()]
        p = self._predict_two_many(keys, values)
        zero, one = self._labels
        return [one if above else zero for above in p > 0.5]

    def _of_rows(self, keys: Sequence[Hashable], values: Matrix) -> Matrix:
        """Return each label's probability in rows of the same keys, where there are many labels."""
        assert self.many is not None
        return self._of_many(self._rows(values, keys)) if len(values) else np.empty((0, len(self.many.classes_)))

    def _predict_two_many(self, keys: Sequence[Hashable], values: Matrix) -> Vector:
        return self.learner.predict_many(self._rows(values, keys)) if len(values) else np.empty(0)

    # ---- rows in the order of the columns

    def has_as_many_columns(self, x: Item) -> bool:
        """Whether a row has as many keys as there are columns, and so, most likely, the same ones."""
        return self._pick is not None and len(x) == len(self.columns)

    def _row(self, x: Item) -> object:
        """Return the row in the order of the columns, without the keys that have none."""
        if isinstance(self.learner, Wide):  # others would pay for the columns that are not there yet
            return self._as_sparse(numbers_of(x)[None, :], tuple(x))
        makes_up = hasattr(type(x), "__missing__")  # a defaultdict would invent a value, and keep it
        if self._pick is not None and len(x) == len(self.columns) and not makes_up:
            try:  # the same keys as ever, in whatever order: no dictionary is searched from Python
                values = np.array(self._pick(x))
                if values.ndim == 1 and values.dtype.kind in "biuf":
                    return values.astype(np.float64, copy=False)
            except (KeyError, ValueError):
                pass
        return spread_rows(numbers_of(x), tuple(x), self.columns)

    def _rows(self, values: Matrix, keys: Sequence[Hashable]) -> Features:
        """Return rows of the same keys in the order of the columns."""
        wide = isinstance(self.learner, Wide)
        return self._as_sparse(values, keys) if wide else spread_rows(values, keys, self.columns)

    def _as_sparse(self, values: Vector, keys: Sequence[Hashable], new: Columns | None = None) -> csr_array:
        return sparse_rows(values, keys, self.columns, new or {}, self.learner.n_features_)

    # ---- what was said of rows

    def _of_many(self, rows: object, single: bool = False) -> Matrix:
        """Return the probabilities of the labels that have come, adding up to 1: a label to come has no key."""
        assert self.many is not None
        return among_known(self.many.predict(rows)[None, :] if single else self.many.predict_many(rows))

    def _remember(self, x: Item, method: int) -> None:
        """Remember the row just predicted, and announce the one before it: its label, not having come next, is late."""
        if self._last is not None and self._last.is_of(x):
            self._last.times[method] += 1
            return
        self._announce_last()
        self._last = PredictedRow(dict(x), [1 - method, method])

    def _announce_last(self) -> None:
        """Announce the row predicted last; nothing was learned since, so the probability is that of the prediction."""
        if self._last is None or not learns_late(self.learner):
            return
        x, times = self._last
        row = np.zeros(max(1, len(x))) if self.learner.n_features_ is None else self._row(x)
        content = content_of(x)
        for _ in range(max(times)):
            self.waiting.add(content, self.learner.announce(row))
        self._last = None

    def _announcement(self, x: Item) -> Announcement | None:
        """Return what was announced for a row before other rows came; None where nothing was."""
        self._announce_last()
        return self.waiting.oldest(content_of(x)) if self.waiting else None
