"""The ensemble of experts behind `Auto`, for rows of up to some thousand columns."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy import ndarray

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.learners.auto.ensemble import Ensemble
from aioli.learners.auto.experts import EXPERTS, Expert
from aioli.learners.base import ColumnLearner
from aioli.learners.parameters import with_parameters
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate, running_certificate, tight_certificate
from aioli.states.dense.state import State
from aioli.states.mixture.mixture import mixture_cost
from aioli.states.mixture.single_row import LONGEST
from aioli.streams.rows import LABELS, Rows, as_logits, as_weights

__all__ = ["DenseEnsemble"]

HEAVIEST = 1e6  # a weight that costs no expert its digits


class DenseEnsemble(Remembering, ColumnLearner):
    """What `Auto` plays where rows are dense and not too wide: eight learners of d² numbers each, and their mixture."""

    capabilities = ColumnLearner.capabilities | {Capability.GROWS, Capability.MIXES}

    def __init__(self, experts: int | None = None) -> None:
        super().__init__()
        if experts is not None and not (isinstance(experts, int) and 1 <= experts <= len(EXPERTS)):
            raise ParameterRefused(
                f"experts is {experts!r}; it must be a whole number from 1 to {len(EXPERTS)}, or None for all",
                parameter="experts",
                value=experts,
            )
        self.experts = experts
        self._ensemble = Ensemble(EXPERTS[:experts])

    # ---- one row

    def predict(self, x: object) -> float:
        """The probability that the row's label is 1; changes nothing. O(K d²)."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """The log-odds of `predict`: what to remember, with the row, until a late label comes. O(K d²)."""
        if self._ensemble.views is not None and type(x) is ndarray:
            try:
                z = self._ensemble.predict_logit(x)
                if not math.isnan(z):
                    return z
            except TypeError:  # another type of number, or another layout
                pass
        return float(self._logits(self._rows(x, single=True))[0])

    def learn(self, x: object, y: object, weight: float = 1.0, logit: float | None = None) -> float:
        """Learn from one row and its label; returns the probability announced before the label. O(K d²).

        `weight` and `logit` as in `AIOLI.learn`.
        """
        if self._ensemble.views is not None and weight == 1.0 and logit is None and type(x) is ndarray:
            try:
                p = self._ensemble.learn_one(x, LABELS[y])
                if p is not None:
                    return p
            except (TypeError, KeyError):  # another type of number, another layout, or not a label
                pass
        return self._learn_one(x, y, weight, logit)

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Nats of regret, against every fixed linear model of a ball, proven not to have been exceeded.

        The model is linear in the view of the expert that proves it, which `against` names: columns scaled as the
        stream went, ‖θ‖ ≤ `radius`. It is that expert's own certificate, plus all that the mixture lost more than the
        expert: nothing needs to be assumed of the mixture, so weights, drift and late labels are covered.
        """
        best: Certificate | None = None
        prove = tight_certificate if tight else running_certificate
        total_prior = sum(expert.prior for expert in EXPERTS[: self.experts])
        states = self._states or [State(expert.spec, 1) for expert in self._experts]
        for expert, state in zip(self._experts, states, strict=True):
            if not expert.certified:
                continue
            own = prove(state)
            excess = self.loss - float(state.tally[Tally.LOSS])
            theorem = own.theorem + mixture_cost(self.rounds, expert.prior / total_prior)
            if self._ensemble.had_late_labels:  # the theorem speaks of what is said when asked
                theorem = math.inf
            proven = Certificate(own + excess, own.radius, self.rounds, theorem, against=expert.name)
            best = proven if best is None or proven < best else best
        assert best is not None  # the first expert is certified
        return best

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._ensemble.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return self._ensemble.loss

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return None if self._ensemble.views is None else self._ensemble.views.width

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now: 0 if it has retired."""
        playing = zip(self._ensemble.played, self._ensemble.mixture.weights.tolist(), strict=True)
        return dict.fromkeys([expert.name for expert in EXPERTS[: self.experts]], 0.0) | dict(playing)

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(K d²)."""
        names_after = self._names_after_growing(columns, names)
        self._ensemble.grow(columns)
        self._names = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return the budget of experts, the names of the columns, and the ensemble."""
        values: dict[str, Plain] = {"parameters": {"experts": self.experts}, "names": self._names}
        return Snapshot("DenseEnsemble", values, parts={"ensemble": self._ensemble.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of("DenseEnsemble")
        learner = with_parameters(cls, given)
        learner._ensemble = learner._within_budget(Ensemble.restore(given.part("ensemble")))
        learner._take_names(given)
        return learner

    def arrays(self) -> dict[str, Vector]:
        """All that it has learned."""
        return self._ensemble.arrays()

    # ---- within

    @property
    def _experts(self) -> list[Expert]:
        """Those who still play."""
        return self._ensemble.experts

    @property
    def _states(self) -> list[State]:
        """What each of them remembers; empty before the first row."""
        return self._ensemble.states

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=False, widest=LONGEST, width=self.n_features_, names=self._names, single=single)

    def _logits(self, rows: Rows) -> Vector:
        if self._ensemble.views is None:
            return np.zeros(len(rows))
        return np.array([self._ensemble.predict_logit(x) for _, chunk in rows for x in chunk])

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        stakes = as_weights(weights, rows, LONGEST, HEAVIEST)
        late = as_logits(logits, len(rows))
        if self._ensemble.views is None:
            self._ensemble.begin(rows.width)
        announced = np.empty(len(rows))
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            self._ensemble.learn(chunk, labels[part], stakes[part], late[part], announced[part])
        return sigmoid_many(announced)

    def take_back(self, features: int | None, arrays: dict[str, Vector]) -> None:
        """What `arrays` gave, of so many columns."""
        self._ensemble = self._within_budget(Ensemble.restored(features, arrays))

    def _within_budget(self, ensemble: Ensemble) -> Ensemble:
        if not set(ensemble.experts) <= set(EXPERTS[: self.experts]):
            raise SnapshotRefused(f"its experts are {ensemble.played}, of which experts={self.experts} leaves fewer")
        return ensemble
