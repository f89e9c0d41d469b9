r"""Models that are fitted to all rows of a batch at once, beside learners of streams, and their shares.

A learner of streams pays for what it did not know yet: on a hundred rows, that is more than all else. A batch has a
remedy that a stream has not: fit all rows at once. Two families of models are (`linear_models`, `gaussian_classes`).
The shares of the learners and of both families in the mean of probabilities $\sum_i a_i p_i$ are what would have been
best on rows that nobody had seen: those left out, and what the learners announced before the labels came.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from aioli.learners.batch.gaussian_classes import GaussianClasses
from aioli.learners.batch.left_out import Codes, spread_over_folds
from aioli.learners.batch.linear_models import LinearModels
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.matrices import Values

__all__ = ["BatchModels", "as_dense", "is_affordable"]

LEAST_ROWS = 10  # below, too few are left out to choose by
MOST_WORK = 2e7  # rows times squared coefficients: a fit takes some hundred times as many multiplications
MIXING_STEPS = 200


class Family(Protocol):
    """Models of one kind, with shares among themselves."""

    def log_probabilities(self, X: Matrix) -> Matrix:
        """Return the logarithms of the models' probabilities together, a column each class."""
        ...


def is_affordable(rows: int, columns: int, classes: int) -> bool:
    """Return whether a batch of this shape is fitted at once: where rows are few, it is worth most.

    >>> is_affordable(500, 30, 2), is_affordable(100_000, 30, 2), is_affordable(500, 3000, 2)
    (True, False, False)
    """
    return rows >= LEAST_ROWS and rows * float((classes - 1) * (columns + 1)) ** 2 <= MOST_WORK


def as_dense(rows: Values) -> Matrix:
    """Return rows that may be sparse as a dense matrix."""
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


@dataclass(frozen=True)
class BatchModels:
    """Families of models, and their shares in what is said together with the learners.

    Attributes
    ----------
    linear, gaussian
        Maximum likelihood at several strengths of penalty, and classes of normally distributed rows.
    shares
        Of the learners, of the linear models, and of the Gaussian classes.
    """

    linear: LinearModels
    gaussian: GaussianClasses
    shares: Vector

    @classmethod
    def fitted(cls, X: Matrix, codes: Codes, classes: int, weights: Vector | None, announced: Vector) -> Self:
        """Return the models of rows in an order that means nothing.

        `announced` is what the learners said of each label before it came, NaN where nobody asks.
        """
        omega = np.ones(len(codes)) if weights is None else weights
        folds = spread_over_folds(codes)
        linear, by_linear = LinearModels.fitted(X, codes, classes, omega, folds)
        gaussian, by_gaussian = GaussianClasses.fitted(X, codes, classes, omega, folds)
        heard = ~np.isnan(announced)
        said = np.array([announced, by_linear, by_gaussian])[:, heard]
        return cls(linear, gaussian, _best_shares(said, omega[heard]))

    def mixed(self, said: Matrix, X: Matrix) -> Matrix:
        """Return logarithms of what is said together, of those of the learners' probabilities and the rows."""
        families: list[Family] = [self.linear, self.gaussian]
        shares: list[float] = self.shares.tolist()
        heard = [np.log(a) + family.log_probabilities(X) for family, a in zip(families, shares[1:], strict=True) if a]
        return np.asarray(np.logaddexp.reduce([*heard, np.log(shares[0]) + said] if shares[0] else heard))


def _best_shares(said: Matrix, omega: Vector) -> Vector:
    r"""Return the shares a that are best in $\sum_t\omega_t\log\sum_i a_ip_{it}$, by expectation and maximisation."""
    shares = np.full(len(said), 1.0 / len(said))
    if not said.size:
        return shares
    likelihoods = np.maximum(said, np.finfo(np.float64).tiny)  # that somebody is heard, where all say 0
    for _ in range(MIXING_STEPS):
        parts = shares[:, None] * likelihoods
        shares = (parts / parts.sum(axis=0)) @ omega
        shares /= shares.sum()
    return shares
