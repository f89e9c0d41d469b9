"""Forecasters, which play on rows of columns, and the base learner of one, which plays on rows of features."""

import copy
import math
from abc import abstractmethod
from typing import Self

import numpy as np

from aioli.errors import CapabilityMissing, SnapshotRefused
from aioli.learners.aioli import AIOLI
from aioli.learners.announcements import Delayed
from aioli.learners.base import ColumnLearner, CountsLosses
from aioli.learners.protocol import Learner, certifies, grows, learns_late, require_fresh
from aioli.learners.registry import restore_learner, snapshot_part
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit_many
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.states.dense.state import State

__all__ = ["BaseLearner", "Forecaster"]


class Forecaster(CountsLosses):
    """One map of features with its learner, or a mixture of several: it announces, and learns from rows of columns."""

    @abstractmethod
    def logits(self, X: Matrix) -> Vector:
        """Return each row's log-odds, as if it came next; changes nothing."""

    @abstractmethod
    def play(self, X: Matrix, y: Vector, weights: Vector | None, delayed: Delayed | None) -> Vector:
        """Learn from the rows in order; return each row's probability before its label."""

    @abstractmethod
    def announce(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Return each row's log-odds, as if it came next, and the memory of its announcement."""

    @abstractmethod
    def forget_announcing(self) -> None:
        """Drop what came to life with the first announcement, which was taken back."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Return how many columns a row has."""

    @abstractmethod
    def certificate(self, tight: bool) -> Certificate:
        """Return nats of regret that are proven not to have been exceeded."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return the whole state."""


class BaseLearner:
    """Holds the learner that plays on features: any of the package, asked only for what it can do."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    @classmethod
    def fresh(cls, learner: Learner) -> Self:
        """Return a copy of a learner that has learned nothing yet; any other is refused."""
        return cls(copy.deepcopy(require_fresh(learner, ", of other columns; give a fresh one")))

    def another(self, features: int) -> Self:
        """Return a copy for a map of so many features: of a learner that is known to have learned nothing yet.

        An AIOLI has its state from the beginning, so that few rows are played at once by all maps.
        """
        copied = type(self)(copy.deepcopy(self.learner))
        if type(copied.learner) is AIOLI:
            spec = copied.learner._spec
            copied.settle(State(spec, features + spec.intercept))
        return copied

    @property
    def heaviest(self) -> float:
        """Return the largest weight that a row of norm √2, which is all that features and intercept have, may carry."""
        if isinstance(self.learner, AIOLI):
            return min(1e6, 0.5 * self.learner._spec.widest_row)
        return 1e6

    @property
    def state(self) -> State | None:
        """Return the state of an AIOLI, to be rotated and restricted; None for any other, or before the first row."""
        return self.learner._state if isinstance(self.learner, AIOLI) else None

    def settle(self, state: State) -> None:
        """Give an AIOLI this state."""
        assert isinstance(self.learner, AIOLI)
        self.learner._set_state(state)

    def logits(self, F: Matrix) -> Vector:
        """Return each row's log-odds, as if it came next; changes nothing.

        A learner that takes no late labels is heard as it is when it plays: by its probabilities.
        """
        if learns_late(self.learner):
            return self.learner.predict_logit_many(F)
        return finite_logit_many(self.learner.predict_many(F))

    def announce(self, F: Matrix) -> tuple[Vector, Matrix]:
        """Return each row's log-odds, as if it came next, and the memory of the learner's announcement."""
        if isinstance(self.learner, ColumnLearner):
            return self.learner._announce_within(F)
        return self.logits(F), np.empty((len(F), 0))

    def play(self, F: Matrix, y: Vector, weights: Vector | None, delayed: Delayed | None) -> Vector:
        """Learn from the rows in order; return each row's probability before its label."""
        if not learns_late(self.learner):
            return np.asarray(self.learner.learn_many(F, y))
        if delayed is not None and delayed.memory.shape[1] and isinstance(self.learner, ColumnLearner):
            return self.learner._learn_within(F, y, weights, delayed)
        return self.learner.learn_many(F, y, weights, None if delayed is None else delayed.logits)

    def forget_announcing(self) -> None:
        """Drop what came to life with the first announcement, which was taken back."""
        if isinstance(self.learner, ColumnLearner):
            self.learner._withdraw(0)

    def grow(self) -> Self:
        """Make room for one more feature, as if it had been there, and 0, from the first row."""
        if not grows(self.learner):
            raise CapabilityMissing(f"{type(self.learner).__name__} cannot grow with a dictionary; use AIOLI or Auto")
        self.learner.grow(1)
        return self

    def certificate(self, tight: bool) -> Certificate:
        """Return the learner's certificate; an infinite one for a learner that proves nothing."""
        if certifies(self.learner):
            return self.learner.certificate(tight)
        return Certificate(math.inf, math.inf, self.learner.rounds, math.inf)

    def snapshot(self) -> Snapshot:
        """Return the learner's own snapshot."""
        return snapshot_part(self.learner)

    @classmethod
    def restore(cls, snapshot: Snapshot, features: int) -> Self:
        """Make an equal base learner from a learner's snapshot, of this many features where rows have come."""
        learner = restore_learner(snapshot)
        if learner.n_features_ not in (None, features):
            raise SnapshotRefused(f"a {snapshot.kind} of {learner.n_features_} features came for a map of {features}")
        return cls(learner)
