"""A law or an adversary by its name, `synthetic:logistic`, as a stream like any file."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.marks import Mark
from aioli.streams.files.table import NUMBER, SparseTable, Table, Tables
from aioli.streams.files.where import Numbered, Where
from aioli.streams.labels import Labels
from aioli.streams.laws import Law
from aioli.streams.protocol import Batch
from aioli.streams.synthetic import STREAMS, named

__all__ = ["SCHEME", "SyntheticStream"]

SCHEME = "synthetic:"
ADVERSARY = "adversary"


class Predicts(Protocol):
    """A learner, as far as the adversary needs it."""

    def predict(self, x: Vector, /) -> float:
        """Return the probability that the row's label is 1."""


class SyntheticStream:
    """Yields `rows` rows of a law; the adversary gives each row the label that the learner found less likely.

    Attributes
    ----------
    learner
        The learner that the adversary asks before each label; it must have learned all rows before.
    """

    sparse = False
    rereadable = True
    label: str | None = "label"
    shared = 0

    def __init__(self, source: str, rows: int, seed: int, snapshot: Snapshot | None = None) -> None:
        if rows < 1:
            raise ParameterRefused(f"{rows} rows were asked for; ask for at least one", parameter="rows", value=rows)
        self.name = source
        self.law = _law(source)
        self.rows = rows
        self.seed = seed
        self.learner: Predicts | None = None
        self.hostile = source == SCHEME + ADVERSARY
        self.features = [f"x{i + 1}" for i in range(self.law.width)]
        self.kinds = dict.fromkeys(self.features, NUMBER)
        self.missing: dict[str, int] = {}
        self.categories: dict[str, int] = {}
        self.labels = Labels("1")
        self._played = 0
        self._answers: Vector = np.empty(rows if self.hostile else 0)  # the adversary's labels, in the order of rows
        if snapshot is not None:
            self._go_on(snapshot.of("SyntheticStream"))

    def marks(self, count: int = 0) -> list[Mark]:  # noqa: ARG002  (a stream's signature)
        """Return nothing: no file is read."""
        return []

    def _go_on(self, snapshot: Snapshot) -> None:
        self.labels = Labels.restore(snapshot.part("labels"))
        self._played = snapshot.whole("position")
        if self._played > self.rows:
            raise SnapshotRefused(f"{self.name}: {self._played} rows have come of {self.rows}")
        if self.hostile:
            self._answers[: self._played] = snapshot.array("answers", (self._played,))

    @property
    def fraction(self) -> float:
        """How much of the stream has been encoded, from 0 to 1."""
        return self._played / self.rows

    def tables(self) -> Tables:
        """Yield the blocks that are left of rows and labels; of the adversary, single rows without a label."""
        begin, first = self._played, 0
        for X, y in self.law.blocks(self.rows, self.seed):
            for t in range(max(begin - first, 0), len(y), 1 if self.hostile else len(y)):
                stop = t + 1 if self.hostile else len(y)
                yield Table(
                    self.features,
                    X[t:stop],
                    texts={},
                    labels=None if self.hostile else y[t:stop],
                    where=self._where(first + t),
                    after={"row": first + stop},
                )
            first += len(y)

    def encode(self, table: Table | SparseTable) -> Batch:
        """Return the rows as they are. The adversary asks the learner, which must have learned all rows before."""
        assert isinstance(table, Table)
        y = self._answer(table.numbers[0]) if table.labels is None else table.labels
        y = self.labels.encode(y, table.where)
        if self.hostile:
            self._answers[self._played] = y[0]
        self._played += len(y)
        return Batch(table.numbers, y, None, table.where)

    def _answer(self, x: Vector) -> Vector:
        assert self.learner is not None, "the adversary needs the learner that it plays against"
        return np.array([float(self.learner.predict(x) < 0.5)])

    def read_again(self) -> Iterator[Batch]:
        """Yield all rows from the first, with the labels that came."""
        first = 0
        for X, y in self.law.blocks(self.rows, self.seed):
            labels = self._answers[first : first + len(y)] if self.hostile else y
            yield Batch(X, labels, None, self._where(first))
            first += len(y)

    def _where(self, first: int) -> Where:
        return Numbered(self.name, "row", range(first + 1, self.rows + 1))

    def snapshot(self) -> Snapshot:
        """Return all that is needed to go on behind the last table that was encoded. O(1): answers are shared."""
        arrays = {"answers": self._answers[: self._played]} if self.hostile else {}
        return Snapshot("SyntheticStream", {"position": self._played}, arrays, {"labels": self.labels.snapshot()})

    def close(self) -> None:
        """Do nothing: there is no file to close."""


def _law(source: str) -> Law:
    name = source.removeprefix(SCHEME)
    if name == ADVERSARY:
        formula = "rows of the logistic stream; each label is the one to which the learner gave less"
        return replace(named("logistic"), name=ADVERSARY, formula=formula)
    if name not in STREAMS:
        message = f"{source}: give {SCHEME}NAME, where NAME is one of {', '.join([*STREAMS, ADVERSARY])}"
        raise ParameterRefused(message, parameter="source", value=source)
    return named(name)
