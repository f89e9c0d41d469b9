"""What a learner tells of itself where one dense state, on the CPU or on a device, holds all that it knows."""

from abc import abstractmethod
from typing import Generic

import numpy as np

from aioli.learners.base import RowsLearner
from aioli.learners.predicting import Checked
from aioli.numerics.compiling import Vector
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.states.certificate import Certificate, PlayedGame, running_certificate, tight_certificate
from aioli.states.dense.state import State

__all__ = ["LearnerOfState"]


class LearnerOfState(RowsLearner[Checked], Generic[Checked]):
    """A learner of rows that can tell its rounds, loss, width, coefficients and certificate from its state."""

    _spec: GameSpec

    @property
    @abstractmethod
    def _known_game(self) -> PlayedGame | None:
        """The state; None before the first row."""

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret, against every θ of the ball, that the run itself proves not to have been exceeded.

        O(1), and valid at any time. `tight` solves a trust-region problem for a smaller one, O(d³).
        """
        known = self._known_game
        if known is None:
            return running_certificate(State(self._spec, 1))
        return tight_certificate(known) if tight else running_certificate(known)

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return 0 if self._known_game is None else int(self._known_game.tally[Tally.ROUNDS])

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return 0.0 if self._known_game is None else float(self._known_game.tally[Tally.LOSS])

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has, the intercept not counted; None before the first row."""
        return None if self._known_game is None else self._known_game.width - self._spec.intercept

    @property
    def coefficients_(self) -> Vector:
        """The centre w of what it knows: the intercept first, where there is one."""
        return np.empty(0) if self._known_game is None else np.array(self._known_game.w)
