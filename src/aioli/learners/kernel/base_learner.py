"""The learner underneath a map of features: any of the package's, as one that plays on rows of features."""

import copy
import math
from abc import ABC, abstractmethod
from typing import Any, Self, cast

import numpy as np

from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.learners.base import ColumnLearner
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit_many
from aioli.states.certificate import Certificate
from aioli.states.dense.state import State

__all__ = ["BaseLearner", "Player"]

Arrays = dict[str, Vector]

PREFIX = "inner."  # of its arrays among those of the map


class Player(ABC):
    """Who plays on rows of columns: one map of features with its learner, or a mixture of several."""

    @abstractmethod
    def logits(self, X: Matrix) -> Vector:
        """Each row's log-odds, as if it came next; changes nothing."""

    @abstractmethod
    def play(self, X: Matrix, y: Vector, weights: Vector | None, logits: Vector | None) -> Vector:
        """Learn from the rows in order; returns each row's probability before its label."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How many rows it has learned from."""

    @property
    @abstractmethod
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""

    @abstractmethod
    def certificate(self, tight: bool) -> Certificate:
        """Nats of regret proven not to have been exceeded."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """All that it has learned, to be saved."""

    @abstractmethod
    def restore(self, arrays: Arrays) -> None:
        """Take back what `arrays` gave."""


class BaseLearner:
    """A copy of a learner that has learned nothing yet, to be played on features."""

    def __init__(self, learner: Learner) -> None:
        rounds = getattr(learner, "rounds", None)
        if not callable(getattr(learner, "learn_many", None)) or rounds is None:
            raise ValueError(f"learner is {learner!r}; give a learner such as AIOLI(), or None")
        if rounds:
            raise ValueError(f"learner has learned from {rounds} rows already, of other columns; give a fresh one")
        self.learner: Any = copy.deepcopy(learner)

    @property
    def heaviest(self) -> float:
        """The largest weight that a row of norm √2, which is all that features and intercept have, may carry."""
        if isinstance(self.learner, AIOLI):
            return min(1e6, 0.5 * self.learner._spec.widest_row)
        return 1e6

    @property
    def weighs(self) -> bool:
        """Whether rows may have weights and late labels."""
        return isinstance(self.learner, ColumnLearner)

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return int(self.learner.rounds)

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return float(self.learner.loss)

    @property
    def state(self) -> State | None:
        """The state of an AIOLI, to be rotated and restricted; None for any other, or before the first row."""
        return self.learner._state if isinstance(self.learner, AIOLI) else None

    @state.setter
    def state(self, state: State) -> None:
        self.learner._settle(state)

    def logits(self, F: Matrix) -> Vector:
        """Each row's log-odds, as if it came next; changes nothing."""
        if self.weighs:
            return cast(ColumnLearner, self.learner).predict_logit_many(F)
        return finite_logit_many(self.learner.predict_many(F))

    def play(self, F: Matrix, y: Vector, weights: Vector | None, logits: Vector | None) -> Vector:
        """Learn from the rows in order; returns each row's probability before its label."""
        if self.weighs:
            return cast(ColumnLearner, self.learner).learn_many(F, y, weights, logits)
        return np.asarray(self.learner.learn_many(F, y))

    @property
    def grows(self) -> bool:
        """Whether it can make room for further features."""
        return isinstance(self.learner, AIOLI | Auto)

    def grow(self) -> Self:
        """Make room for one more feature, as if it had been there, and 0, from the first row."""
        self.learner.grow(1)
        return self

    def certificate(self, tight: bool) -> Certificate:
        """Its certificate; infinite for a learner that proves nothing."""
        if self.weighs:
            return cast(ColumnLearner, self.learner).certificate(tight)
        return Certificate(math.inf, math.inf, self.rounds, math.inf)

    # ---- to files and back

    def description(self) -> dict[str, Any]:
        """Which learner it is, and with which parameters."""
        if type(self.learner) is AIOLI:
            return {"learner": "AIOLI", "parameters": self.learner._played()}
        if type(self.learner) is Auto:
            return {"learner": "Auto", "parameters": {"experts": self.learner.experts}}
        raise ValueError(f"{type(self.learner).__name__} has no file format; save with AIOLI or Auto inside, or pickle")

    @staticmethod
    def described(description: dict[str, Any]) -> AIOLI | Auto:
        """A fresh learner of the description."""
        kinds: dict[str, type[AIOLI | Auto]] = {"AIOLI": AIOLI, "Auto": Auto}
        return kinds[description["learner"]](**description["parameters"])

    def arrays(self) -> Arrays:
        """What it has learned, under names of its own."""
        if self.learner.n_features_ is None:
            return {}
        if isinstance(self.learner, Auto):
            arrays = self.learner.arrays()
        else:
            state = cast(State, self.state)
            arrays = {"P": state.P, "w": state.w, "tally": state.tally, "factored": np.array([float(state.factored)])}
        return {PREFIX + name: array for name, array in arrays.items()}

    def restore(self, features: int, given: Arrays) -> None:
        """Take back what `arrays` gave, of so many features."""
        arrays = {name.removeprefix(PREFIX): array for name, array in given.items() if name.startswith(PREFIX)}
        if not arrays:
            return
        if isinstance(self.learner, Auto):
            self.learner.take_back(features, arrays)
            return
        width = features + self.learner._spec.intercept
        shapes = {name: arrays[name].shape for name in ("P", "w")}
        if shapes != {"P": (width, width), "w": (width,)}:
            raise ValueError(f"its arrays have shapes {shapes} for {width} features")
        state = State(self.learner._spec, width)
        factored = bool(arrays["factored"][0])
        self.state = state.holding(arrays["P"], arrays["w"], arrays["tally"], factored=factored)
