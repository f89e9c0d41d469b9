"""Predictions of one row or many, made from the log-odds of checked rows."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.streams.rows import CheckedRows

__all__ = ["Checked", "PredictsRows"]

Checked = TypeVar("Checked", bound=CheckedRows)


class PredictsRows(ABC, Generic[Checked]):
    """Predicts rows of any kind; a subclass writes `_rows`, which checks them, and `_logits` of checked rows."""

    @abstractmethod
    def _rows(self, X: object, single: bool = False) -> Checked: ...

    @abstractmethod
    def _logits(self, rows: Checked) -> Vector: ...

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing."""
        return sigmoid(self.predict_logit(x))

    def predict_many(self, X: object) -> Vector:
        """Return each row's probability, as if it came next; changes nothing."""
        return sigmoid_many(self.predict_logit_many(X))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes."""
        return float(self._logits(self._rows(x, single=True))[0])

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`, which keep their digits where a probability is 0 or 1."""
        return self._logits(self._rows(X))
