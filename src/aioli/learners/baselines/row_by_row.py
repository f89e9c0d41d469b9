"""The part that every plain learner shares: rows through the border, the loop over many, the loss so far."""

from abc import ABC, abstractmethod
from inspect import signature
from typing import ClassVar

import numpy as np

from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many, softplus
from aioli.streams.rows import Rows, as_label, as_labels

__all__ = ["RowByRow"]

WIDEST = 1e100  # well below where a square would overflow


class RowByRow(ABC):
    """A learner that is two formulas: what to announce for a row, and how to answer its label.

    A subclass writes `_begin(width)`, `_announce(x)`, which gives log-odds and changes nothing, and
    `_answer(x, y, z)`, which learns from the label 0.0 or 1.0 of a row for which z was announced. Rows come as float64
    vectors, with a 1 in front where there is an intercept.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset()

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

    def predict(self, x: object) -> float:
        """The probability that the row's label is 1; changes nothing."""
        return sigmoid(self.predict_logit(x))

    def predict_many(self, X: object) -> Vector:
        """Each row's probability, as if it came next; changes nothing."""
        return sigmoid_many(self.predict_logit_many(X))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`; changes nothing."""
        return float(self._logits(self._rows(x, single=True))[0])

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`; changes nothing."""
        return self._logits(self._rows(X))

    def learn(self, x: object, y: object) -> float:
        """Learn from one row and its label; returns the probability announced before the label."""
        return float(self._learn(self._rows(x, single=True), np.array([as_label(y)]))[0])

    def learn_many(self, X: object, y: object) -> Vector:
        """Play the rows in order; returns each row's probability before its label."""
        rows = self._rows(X)
        return self._learn(rows, as_labels(y, len(rows)))

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in signature(type(self)).parameters)
        told = f"  # {self.rounds} rows, {self.loss / self.rounds:.4f} nats a row" if self.rounds else ""
        return f"{type(self).__name__}({given}){told}"

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=self.intercept, widest=WIDEST, width=self.n_features_, single=single)

    def _logits(self, rows: Rows) -> Vector:
        if self.n_features_ is None:
            return np.zeros(len(rows))
        return np.array([self._announce(x) for _, chunk in rows for x in chunk])

    def _learn(self, rows: Rows, labels: Vector) -> Vector:
        if self.n_features_ is None:
            self._begin(rows.width + self.intercept)
            self.n_features_ = rows.width
        announced = np.empty(len(rows))
        for start, chunk in rows:
            for t, x in enumerate(chunk, start):
                z = self._announce(x)
                self._answer(x, labels[t], z)
                self.loss += softplus(-z if labels[t] else z)
                self.rounds += 1
                announced[t] = sigmoid(z)
        return announced
