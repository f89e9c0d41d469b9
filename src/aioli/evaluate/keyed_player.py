"""Plays a fleet on a stream whose rows carry a key: the first of what is set aside beside each row."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import CapabilityMissing, KeyRefused
from aioli.evaluate.prompt_player import PromptPlayer
from aioli.fleet.fleet import Fleet
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.protocol import Batch, Keys

__all__ = ["KeyedLearner", "KeyedPlayer", "keys_by"]

NEEDS_KEYS = "a fleet learns a row by its key; use fleet.learn_many(keys, X, y)"


class KeyedLearner:
    """Shows a fleet as a learner to all that looks at one: without a key it predicts as for a key that had no row."""

    capabilities = frozenset({Capability.GROWS, Capability.NAMES_COLUMNS, Capability.SAVES})

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    @property
    def rounds(self) -> int:
        """How many rows the fleet has learned from."""
        return self.fleet.rounds

    @property
    def loss(self) -> float:
        """The sum of the losses of all keys so far, in nats."""
        return self.fleet.loss

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return self.fleet.n_features_

    @property
    def feature_names_(self) -> list[str] | None:
        """Names of the columns; None until given."""
        return self.fleet.feature_names_

    @feature_names_.setter
    def feature_names_(self, names: list[str] | None) -> None:
        self.fleet.feature_names_ = names

    def predict(self, x: object) -> float:
        """Return the probability of a row of a key that had none so far."""
        return float(self.fleet.predict_new_many(np.asarray(x)[None, :])[0])

    def predict_many(self, X: object) -> Vector:
        """Return the probability of each row, as of a key that had none so far."""
        return self.fleet.predict_new_many(X)

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`."""
        return float(self.fleet.predict_new_logit_many(np.asarray(x)[None, :])[0])

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`."""
        return self.fleet.predict_new_logit_many(X)

    def learn(self, x: object, y: object) -> float:  # noqa: ARG002  (refused whatever comes)
        """Refuse: a row without a key belongs to no model."""
        raise CapabilityMissing(NEEDS_KEYS)

    def learn_many(self, X: object, y: object) -> Vector:  # noqa: ARG002  (refused whatever comes)
        """Refuse: rows without keys belong to no model."""
        raise CapabilityMissing(NEEDS_KEYS)

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns in every model."""
        self.fleet.grow(columns, names)
        return self

    def snapshot(self) -> Snapshot:
        """Return the fleet's snapshot."""
        return self.fleet.snapshot()

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make the learner that shows the fleet of a snapshot."""
        return cls(Fleet.restore(snapshot))

    def __repr__(self) -> str:
        return repr(self.fleet)


class KeyedPlayer(PromptPlayer):
    """Plays a fleet, whose labels come at once; rows without a label are predicted by their key's model."""

    def __init__(self, learner: KeyedLearner) -> None:
        super().__init__(learner, some_unlabelled=True)
        self.fleet = learner.fleet

    def _learned(self, piece: Batch) -> Vector:
        return self.fleet.learn_many(keys_by(piece.keys), piece.X, piece.y, piece.weights)

    def _said(self, piece: Batch) -> Vector:
        return self.fleet.predict_many(keys_by(piece.keys), piece.X)


def keys_by(keys: Keys | None) -> list[str]:
    """Return the first key of each row; a row without one is refused."""
    assert keys is not None
    found = [key[0] for key in keys]
    for t, key in enumerate(found):
        if key is None:
            raise KeyRefused("the key is missing", row=t, remedy="fill it, or leave such rows out with --on-error skip")
    return [key for key in found if key is not None]
