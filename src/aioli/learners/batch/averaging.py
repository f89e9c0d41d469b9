"""The average of probabilities, as log-odds: no digit is lost where all of them are next to 0 or 1."""

from collections.abc import Sequence

import numpy as np

from aioli.learners.protocol import ClassLearner, Learner, weighs
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit_many, softplus_many

__all__ = ["average_log_odds", "average_log_probabilities", "log_odds"]


def average_log_odds(given: Sequence[Vector]) -> Vector:
    r"""Return the log-odds of $\frac1m\sum_i\sigma(z_i)$: $\log\sum_i\sigma(z_i) - \log\sum_i\sigma(-z_i)$. O(m) a row.

    By $\log\sigma(z) = -\mathrm{softplus}(-z)$ nothing overflows.

    >>> average_log_odds([np.array([50.0, -1.0]), np.array([40.0, 1.0])]).round(4)
    array([40.6931,  0.    ])
    """
    if len(given) == 1:
        return given[0]
    Z = np.array(given)
    return np.asarray(np.logaddexp.reduce(-softplus_many(-Z)) - np.logaddexp.reduce(-softplus_many(Z)))


def average_log_probabilities(learners: Sequence[ClassLearner], X: object) -> Matrix:
    """Return the logarithm of the mean of the learners' probabilities of every class, adding up to 1. O(mK) a row."""
    Z = np.logaddexp.reduce([learner.predict_logits_many(X) for learner in learners])
    return np.asarray(Z - np.logaddexp.reduce(Z, axis=1)[:, None])


def log_odds(learner: Learner, X: object) -> Vector:
    """Return a learner's log-odds of each row: of a plain one, without weights, at most those of 1 - 2⁻⁵³.

    The log-odds that a plain learner announces are not bounded: one that is certain would decide the average alone.
    """
    if weighs(learner):
        return learner.predict_logit_many(X)
    return finite_logit_many(learner.predict_many(X))
