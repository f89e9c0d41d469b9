"""Learners that bend, beside Auto: River's forests and trees, and batch models fitted anew as rows come.

Each is a `Contender` (`benchmarks.late_labels`): it is asked for rows and told labels, so that labels may come late.
"""

import importlib
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from aioli import Auto
from aioli.commands.peers import unchecked
from aioli.learners.announcements import Announcements
from aioli.numerics.compiling import Vector
from benchmarks.late_contenders import River
from benchmarks.late_labels import Contender, Delay, Stream

__all__ = ["BATCHES", "TREES", "Blocks", "Refitted", "announced_in_time", "auto_in_blocks"]

FIRST = 64  # labels before a batch model is fitted for the first time
GROWTH = 1.25  # by how much labels must have grown for the next fit: as a nightly job would
BLOCK = 100  # rows that are announced at once where labels are late


class Refitted:
    """Play a batch model that is fitted to all labels known each time these have grown by a quarter.

    Before the first fit it says the share of the label so far. Rows up to the next fit are predicted at once, which is
    the same game: it is the charitable choice where a call costs milliseconds.
    """

    def __init__(self, make: Callable[[], Any], stream: Stream) -> None:
        self._make, self._X, self._y = make, stream.X, stream.y.astype(np.int64)
        self._model: Any = None
        self._known, self._due = 0, FIRST
        self._said: Vector = np.empty(0)  # of the rows from `_said_from` on, by the model of now
        self._said_from = 0

    def announce(self, rows: slice) -> Vector:
        """See `Contender`."""
        if self._model is None:
            ones = float(self._y[: self._known].sum())
            return np.full(rows.stop - rows.start, (ones + 0.5) / (self._known + 1.0))
        if rows.start < self._said_from or rows.stop > self._said_from + len(self._said):
            last = max(rows.stop, rows.start + self._due - self._known)
            with unchecked(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # LightGBM names columns and misses the names
                self._said = np.asarray(self._model.predict_proba(self._X[rows.start : last])[:, 1])
            self._said_from = rows.start
        first = rows.start - self._said_from
        return self._said[first : first + rows.stop - rows.start]

    def learn(self, rows: slice) -> None:
        """See `Contender`."""
        while self._known < rows.stop:
            self._known = min(rows.stop, self._due)
            if self._known == self._due:
                self._due = math.ceil(GROWTH * self._due)
                self._fit()

    def close(self) -> None:
        """It holds nothing."""

    def _fit(self) -> None:
        y = self._y[: self._known]
        if y.min() == y.max():
            return
        with unchecked(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._model = self._make().fit(self._X[: self._known], y)
        self._said, self._said_from = np.empty(0), 0


def _batch(module: str, name: str, **settings: object) -> Callable[[Stream], Contender]:
    def make(stream: Stream) -> Contender:
        return Refitted(lambda: getattr(importlib.import_module(module), name)(random_state=0, **settings), stream)

    return make


def _river(module: str, name: str) -> Callable[[Stream], Contender]:
    return lambda stream: River(getattr(importlib.import_module(module), name)(seed=0), stream)


TREES: dict[str, Callable[[Stream], Contender]] = {
    "river-arf": _river("river.forest", "ARFClassifier"),
    "river-amf": _river("river.forest", "AMFClassifier"),
    "river-srp": _river("river.ensemble", "SRPClassifier"),
    "river-hat": _river("river.tree", "HoeffdingAdaptiveTreeClassifier"),
}
BATCHES: dict[str, tuple[str, Callable[[Stream], Contender]]] = {  # the package, and how it is made
    "boosting": ("sklearn", _batch("sklearn.ensemble", "HistGradientBoostingClassifier")),
    "random-forest": ("sklearn", _batch("sklearn.ensemble", "RandomForestClassifier", n_jobs=1)),
    "lightgbm": ("lightgbm", _batch("lightgbm", "LGBMClassifier", n_jobs=1, verbose=-1)),
}


def announced_in_time(contender: Contender, n: int) -> Iterator[float]:
    """Yield each row's probability before its label, which the contender learns at once."""
    for t in range(n):
        row = slice(t, t + 1)
        yield float(contender.announce(row)[0])
        contender.learn(row)


class Blocks(Delay):
    """Labels late by a number of rows, a hundred rows at a time: those of a block come once so many more have come."""

    def turns(self, n: int) -> Iterator[tuple[slice, slice]]:
        """Yield which rows are announced next and, after all of these, whose labels are learned."""
        for first in range(0, n, BLOCK):
            learned = max(first - self.rows, 0)
            yield slice(first, min(first + BLOCK, n)), slice(learned, max(first + BLOCK - self.rows, 0))


class _AutoInBlocks:
    """Play Auto by its announcements, a block at a time, with many blocks waiting for their labels."""

    def __init__(self, learner: Auto, stream: Stream) -> None:
        self._learner, self._stream = learner, stream
        self._waiting: dict[int, Announcements] = {}

    def announce(self, rows: slice) -> Vector:
        """See `Contender`."""
        tickets = self._waiting[rows.start] = self._learner.announce_many(self._stream.X[rows])
        return tickets.probabilities

    def learn(self, rows: slice) -> None:
        """See `Contender`."""
        if rows.stop > rows.start:
            tickets = self._waiting.pop(rows.start)
            self._learner.learn_many(self._stream.X[rows], self._stream.y[rows], announced=tickets)

    def close(self) -> None:
        """It holds nothing."""


def auto_in_blocks(budget: str) -> Callable[[Stream], Contender]:
    """Return what makes the contender of an Auto of this budget."""
    return lambda stream: _AutoInBlocks(Auto(budget=budget), stream)
