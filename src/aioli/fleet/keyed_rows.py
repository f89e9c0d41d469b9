"""Predicts and learns rows by key, one or many: checked once, then played as checked rows."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from aioli.fleet.integer_table import Integers
from aioli.fleet.keys import Key, as_key, as_keys
from aioli.learners.column_names import NamedColumns
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.streams.matrices import names_in
from aioli.streams.rows import Rows

__all__ = ["PlaysKeyedRows"]


class PlaysKeyedRows(NamedColumns):
    """Whatever predicts and learns rows that have keys; a subclass plays the checked rows."""

    @abstractmethod
    def _checked_rows(self, X: object, single: bool = False) -> Rows: ...

    @abstractmethod
    def _logits(self, keys: Sequence[Key] | Integers, rows: Rows) -> Vector: ...

    @abstractmethod
    def _learn(
        self, keys: Sequence[Key] | Integers, rows: Rows, y: object, weights: object, logits: object
    ) -> Vector: ...

    def predict(self, key: object, x: object) -> float | Vector:
        """Return the probability of one key's row; of many, as `predict_many`, where X has two dimensions."""
        if np.ndim(x) == 2:  # type: ignore[arg-type]  # it takes anything
            return self.predict_many(key, x)
        return sigmoid(self.predict_logit(key, x))

    def predict_logit(self, key: object, x: object) -> float:
        """Return the log-odds of one key's row: what to remember, with the row, until a late label comes."""
        rows = self._checked_rows(x, single=True)
        return float(self._logits([as_key(key)], rows)[0])

    def predict_many(self, keys: object, X: object) -> Vector:
        """Return each row's probability by its key's model, as if it came next; a new key's is ½. Changes nothing."""
        return sigmoid_many(self.predict_logit_many(keys, X))

    def predict_logit_many(self, keys: object, X: object) -> Vector:
        """Return the log-odds of `predict_many`."""
        rows = self._checked_rows(X)
        return self._logits(as_keys(keys, len(rows)), rows)

    def learn(self, key: object, x: object, y: object, weight: float = 1.0, logit: float | None = None) -> float:
        """Learn from one row of a key; returns the probability announced before the label."""
        rows = self._checked_rows(x, single=True)
        return float(self._learn([as_key(key)], rows, [y], [weight], None if logit is None else [logit])[0])

    def learn_many(self, keys: object, X: object, y: object, weights: object = None, logits: object = None) -> Vector:
        """Learn from rows of any mixture of keys, in order; returns each row's probability before its label.

        `weights` and `logits` as in `AIOLI.learn_many`. If one row, label or key is refused, or the disk has no room
        for models that must leave memory, nothing is learned from any.
        """
        rows = self._checked_rows(X)
        p = self._learn(as_keys(keys, len(rows)), rows, y, weights, logits)
        if self._names is None:
            names = names_in(X)
            self._names = names if names is not None and len(names) == self.n_features_ else None
        return p
