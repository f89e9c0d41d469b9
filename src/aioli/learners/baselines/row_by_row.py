"""The base of the plain learners: checked rows, the loop over many, the loss so far, and snapshots."""

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np

from aioli.learners.parameters import plain_parameters, with_parameters
from aioli.learners.predicting import PredictsRows
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid, softplus
from aioli.snapshots.tree import Array, Plain, Snapshot
from aioli.streams.rows import Rows, as_label, as_labels

__all__ = ["RowByRow"]

WIDEST = 1e100  # well below where a square would overflow


class RowByRow(Remembering, PredictsRows[Rows]):
    """A learner that is two formulas: what to announce for a row, and how to answer its label.

    A subclass writes `_begin(width)`, `_announce(x)`, which gives log-odds and changes nothing, and
    `_answer(x, y, z)`, which learns from the label 0.0 or 1.0 of a row for which z was announced. Rows come as float64
    vectors, with a 1 in front where there is an intercept. The subclass names the attributes that learning changes:
    its `numbers`, from the constructor on, and from `_begin` on its `vectors` of length `width` and its square
    `matrices`. What has another form it adds in `_further` and reads in `_recall`.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.SAVES})
    numbers: ClassVar[tuple[str, ...]] = ()
    vectors: ClassVar[tuple[str, ...]] = ()
    matrices: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, intercept: bool = True) -> None:
        self.intercept = intercept
        self.n_features_: int | None = None
        self.rounds = 0
        self.loss = 0.0

    @abstractmethod
    def _begin(self, width: int) -> None: ...

    @abstractmethod
    def _announce(self, x: Vector) -> float: ...

    @abstractmethod
    def _answer(self, x: Vector, y: float, z: float) -> None: ...

    def learn(self, x: object, y: object) -> float:
        """Learn from one row and its label; returns the probability announced before the label."""
        return float(self._learn(self._rows(x, single=True), np.array([as_label(y)]))[0])

    def learn_many(self, X: object, y: object) -> Vector:
        """Learn from the rows in order; returns each row's probability before its label."""
        rows = self._rows(X)
        return self._learn(rows, as_labels(y, len(rows)))

    def snapshot(self) -> Snapshot:
        """Return all that the learner remembers: parameters, counts, and the named numbers and arrays."""
        own = vars(self)
        values: dict[str, Plain] = {
            "parameters": plain_parameters(self),
            "columns": self.n_features_,
            "rounds": self.rounds,
            "loss": self.loss,
        }
        values |= {_public(name): own[name] for name in self.numbers}
        if self.n_features_ is None:
            return Snapshot(type(self).__name__, values)
        arrays: dict[str, Array] = {_public(name): own[name].copy() for name in self.vectors + self.matrices}
        further, parts = self._further()
        return Snapshot(type(self).__name__, values, arrays | further, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        snapshot = snapshot.of(cls.__name__)
        learner = with_parameters(cls, snapshot)
        learner.rounds, learner.loss = snapshot.whole("rounds"), snapshot.number("loss")
        learner.n_features_ = snapshot.optional_whole("columns")
        own = vars(learner)
        own.update((name, snapshot.number(_public(name))) for name in cls.numbers)
        if learner.n_features_ is not None:
            width = learner.n_features_ + learner.intercept
            own.update((name, snapshot.array(_public(name), (width,)).copy()) for name in cls.vectors)
            own.update((name, snapshot.array(_public(name), (width, width)).copy()) for name in cls.matrices)
            learner._recall(snapshot, width)
        return learner

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in plain_parameters(self).items())
        progress = f"  # {self.rounds} rows, {self.loss / self.rounds:.4f} nats a row" if self.rounds else ""
        return f"{type(self).__name__}({given}){progress}"

    def _further(self) -> tuple[dict[str, Array], dict[str, Snapshot]]:
        """Return the arrays of other shapes and the parts of the snapshot."""
        return {}, {}

    def _recall(self, snapshot: Snapshot, width: int) -> None:
        """Take back what `_further` returned, from a snapshot of rows of this width."""

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=self.intercept, widest=self._widest(), width=self.n_features_, single=single)

    def _widest(self) -> float:
        """Return the length from which on a row is refused."""
        return WIDEST

    def _logits(self, rows: Rows) -> Vector:
        if self.n_features_ is None:
            return np.zeros(len(rows))
        return np.array([self._announce(x) for _, chunk in rows for x in chunk])

    def _learn(self, rows: Rows, labels: Vector) -> Vector:
        if self.n_features_ is None:
            self._begin(rows.width + self.intercept)
            self.n_features_ = rows.width
        return self._play(rows, labels)

    def _play(self, rows: Rows, labels: Vector) -> Vector:
        announced = np.empty(len(rows))
        for start, chunk in rows:
            for t, x in enumerate(chunk, start):
                z = self._announce(x)
                self._answer(x, labels[t], z)
                self.loss += softplus(-z if labels[t] else z)
                self.rounds += 1
                announced[t] = sigmoid(z)
        return announced


def _public(attribute: str) -> str:
    return attribute.lstrip("_")
