"""Scores learners that give some classes no probability at all: each is smoothed as is best for it in hindsight."""

from collections.abc import Sequence

import numpy as np

from aioli.evaluate.class_scores import ClassScores
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Label

__all__ = ["SMOOTHINGS", "SmoothedScores"]

SMOOTHINGS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3)


class SmoothedScores(ClassScores):
    r"""The scores of K classes, with the log loss of $(1-\varepsilon)p_k + \varepsilon/K$ at the best ε of a few.

    A forest or a naive Bayes says 0 and 1 where it has seen little, and would lose everything on one such row. The ε
    that is best in hindsight favours it over those that must say their probabilities beforehand.

    >>> scores = SmoothedScores(["a", "b"])
    >>> scores.update([[1.0, 0.0]] * 9 + [[0.0, 1.0]], ["a"] * 10)
    >>> f"{scores.log_loss:.3f}, smoothed by {scores.smoothing}"
    '0.336, smoothed by 0.3'
    """

    def __init__(self, classes: Sequence[Label] = (), declared: bool = True) -> None:
        super().__init__(classes, declared)
        self._smoothed = np.zeros(len(SMOOTHINGS))

    def count(self, P: Matrix, y: Vector, base: Vector | None = None, classes: Sequence[Label] | None = None) -> None:
        """Take in what was announced, at every smoothing."""
        super().count(P, y, base, classes)
        said = np.asarray(P)[np.arange(len(y)), y.astype(np.int64)]
        for i, part in enumerate(SMOOTHINGS):
            smooth = (1.0 - part) * said + part / max(len(self.classes), 1)
            self._smoothed[i] -= np.log(np.maximum(smooth, 5e-324)).sum()

    @property
    def nats(self) -> float:
        """The sum of the log losses at the best smoothing."""
        return float(self._smoothed.min())

    @property
    def log_loss(self) -> float:
        """Mean log loss at the best smoothing."""
        return self.nats / self.rows if self.rows else float("nan")

    @property
    def smoothing(self) -> float:
        """The ε that is best so far."""
        return SMOOTHINGS[int(self._smoothed.argmin())]
