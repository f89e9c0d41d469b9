"""Plays one key of a pooled fleet as a learner: the key's models, and the global model that they add to."""

from typing import TYPE_CHECKING

import numpy as np

from aioli.fleet.keys import Key
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid
from aioli.states.certificate import Certificate

if TYPE_CHECKING:
    from aioli.fleet.fleet import Fleet

__all__ = ["PooledLearner"]


class PooledLearner:
    """Predicts and learns rows of one key, as the pooled fleet that it was taken from would.

    The global model and the shares go with it, and learn from this key's rows alone from then on.
    """

    capabilities = frozenset({Capability.CERTIFIES, Capability.WEIGHS})

    def __init__(self, fleet: "Fleet", key: Key) -> None:
        self.fleet, self.key = fleet, key

    @property
    def rounds(self) -> int:
        """How many rows of the key it has learned from."""
        return int(self.fleet.by_key()["rows"][0])

    @property
    def loss(self) -> float:
        """The sum of the losses of the key's rows so far, in nats."""
        return float(self.fleet.by_key()["loss"][0])

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has."""
        return self.fleet.n_features_

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`; changes nothing."""
        return self.fleet.predict_logit(self.key, x)

    def predict_many(self, X: object) -> Vector:
        """Return each row's probability, as if it came next; changes nothing."""
        return self.fleet.predict_many(self._keys(X), X)

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`; changes nothing."""
        return self.fleet.predict_logit_many(self._keys(X), X)

    def learn(self, x: object, y: object, weight: float = 1.0, logit: float | None = None) -> float:
        """Learn from one row and its label; returns the probability announced before the label."""
        return self.fleet.learn(self.key, x, y, weight, logit)

    def learn_many(self, X: object, y: object, weights: object = None, logits: object = None) -> Vector:
        """Learn from the rows in order; returns each row's probability before its label."""
        return self.fleet.learn_many(self._keys(X), X, y, weights, logits)

    def certificate(self, tight: bool = False) -> Certificate:  # noqa: ARG002  (there is but one)
        """Return nats of regret over the key's rows that are proven not to have been exceeded.

        It is against the global log-odds plus θᵀx, for every ‖θ‖ ≤ B.
        """
        told = self.fleet.by_key()
        nats, rounds = float(told["certificate"][0]), int(told["rows"][0])
        return Certificate(nats, self.fleet.radius, rounds, np.inf, "the global log-odds plus θᵀx")

    def _keys(self, X: object) -> list[Key]:
        return [self.key] * len(np.asarray(X))
