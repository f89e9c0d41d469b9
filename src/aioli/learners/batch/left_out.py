"""Judges models of a batch by rows that they were not fitted to."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector

__all__ = [
    "FOLDS",
    "Codes",
    "ColumnScale",
    "log_softmax",
    "said_of_labels",
    "shares_by_likelihood",
    "spread_over_folds",
]

FOLDS = 10
LEAST_SHARE = 1e-3  # of a model that is kept
FARTHEST = 1e100  # deviations from the mean that are told apart: their squares are numbers

Codes = NDArray[np.intp]


class ColumnScale(NamedTuple):
    """The mean and the standard deviation of each column, 1 where a column is constant."""

    centre: Vector
    scale: Vector

    @classmethod
    def of(cls, X: Matrix) -> Self:
        """Return the scale of these rows."""
        deviation = X.std(axis=0)
        return cls(X.mean(axis=0), np.where(deviation > 0.0, deviation, 1.0))

    def standardised(self, X: Matrix) -> Matrix:
        """Return the rows in columns of mean 0 and deviation 1, as far as they are like those of the scale."""
        with np.errstate(over="ignore"):
            return np.clip((X - self.centre) / self.scale, -FARTHEST, FARTHEST)


def spread_over_folds(codes: Codes) -> Codes:
    """Return the fold of each row: every class is spread over all of them."""
    folds = np.empty(len(codes), dtype=np.intp)
    folds[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % FOLDS
    return folds


def said_of_labels(log_probabilities: Matrix, codes: Codes) -> Vector:
    """Return, of each row's log-probabilities, that of its own label."""
    return np.asarray(log_probabilities[np.arange(len(codes)), codes])


def shares_by_likelihood(said: Matrix, omega: Vector) -> Vector:
    r"""Return the share of each model, $q \propto e^{-\sum_t\omega_t\ell_t}$ over rows left out; 0 where it is small.

    `said` has a line a model, the log-probability that it gave to each row's label.
    """
    losses = -(said @ omega)
    shares = np.exp(losses.min() - losses)
    shares[shares <= LEAST_SHARE * shares.sum()] = 0.0
    return np.asarray(shares / shares.sum())


def log_softmax(Z: Matrix) -> Matrix:
    """Return each row less the logarithm of the sum of its exponentials: log-probabilities."""
    return np.asarray(Z - np.logaddexp.reduce(Z, axis=1)[:, None])
