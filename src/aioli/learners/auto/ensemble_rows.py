"""The rows of `Auto`'s ensembles: checked at the border, or one announced row the short way."""

from abc import abstractmethod

import numpy as np

from aioli.learners.announcements import Announcement, LateMany
from aioli.learners.base import RowsLearner
from aioli.numerics.compiling import Vector
from aioli.states.mixture.views import LONGEST
from aioli.streams.rows import LABELS, Rows, is_logit

__all__ = ["EnsembleRows"]


class EnsembleRows(RowsLearner[Rows]):
    """A learner of dense rows that learns one announced row without the border.

    Most calls of a service that learns labels as they come are of one announced row.
    """

    @abstractmethod
    def _learn_row_announced(self, x: Vector, label: float, announced: Announcement) -> float | None:
        """Learn one row that was announced; return the probability announced.

        None, and nothing learned, where the row must go through the border.
        """

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateMany = None
    ) -> Vector:
        """Play the rows in order; returns each row's probability before its label, as `RowsLearner.learn_many` does.

        One announced row takes the short way.
        """
        if announced is not None and weights is None and logits is None and len(announced) == 1:
            one = self._as_row(X, y)
            if one is not None and is_logit(announced.logits.item()):
                p = self._learn_row_announced(*one, announced[0])
                if p is not None:
                    return np.array([p])
        return super().learn_many(X, y, weights, logits, announced)

    def learn_batch(self, X: object, y: object, weights: object = None) -> Vector:
        """Announce all rows before the first of their labels, then learn from them; returns what was announced.

        One row takes the short way, as `learn_many` does.
        """
        if type(X) is np.ndarray and X.shape[:-1] == (1,):
            return self._announce_then_learn(X, y, weights)
        return super().learn_batch(X, y, weights)

    def _as_row(self, X: object, y: object) -> tuple[Vector, float] | None:
        """Return the row and its label where compiled code takes them as they came, else None."""
        if type(X) is not np.ndarray or type(y) is not np.ndarray or X.shape != (1, self.n_features_) or y.size != 1:
            return None
        if y.dtype.hasobject:  # it may hold anything: the border has a sentence for it
            return None
        label = LABELS.get(y.item())
        return None if label is None or X.dtype != np.float64 or not X.flags.carray else (X[0], label)

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=False, widest=LONGEST, width=self.n_features_, names=self._names, single=single)
