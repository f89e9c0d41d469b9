"""A learner with states of its past, of rounds drawn uniformly: what an average of them is made of."""

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NoReturn, Self, TypeVar

import numpy as np

from aioli.errors import AioliError, CapabilityMissing, SnapshotRefused
from aioli.learners.batch.reservoir import Reservoir
from aioli.learners.cloning import learn_rows
from aioli.learners.parameters import require_share, require_whole, with_parameters
from aioli.learners.protocol import AnyLearner, Capability, certifies, names_columns
from aioli.learners.registry import is_restorable, snapshot_part
from aioli.learners.remembering import RemembersParts
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.streams.matrices import Values, as_matrix

__all__ = ["KeepsStates"]

ALONE = {  # not with its earlier states
    Capability.GROWS,
    Capability.LEARNS_LATE,
    Capability.MERGES,
    Capability.MIXES,
    Capability.SHARDS,
}

Kept = TypeVar("Kept", bound=AnyLearner)
Said = TypeVar("Said", float, Vector)


class KeepsStates(RemembersParts, Generic[Kept]):
    """Plays a learner and keeps m of its states; a subclass predicts by their average.

    Parameters
    ----------
    learner
        A learner that has seen nothing, and belongs to this object.
    states, seed, share
        As those of `OnlineToBatch`.
    """

    def __init__(self, learner: Kept, states: int, seed: int, share: float | None) -> None:
        self.learner = learner
        self.states = require_whole("states", states, least=1)
        self.seed = require_whole("seed", seed, least=0)
        self.share = (1.0 if self.states == 1 else 0.5) if share is None else require_share("share", share)
        self.capabilities = self.learner.capabilities - ALONE
        if not is_restorable(self.learner):
            self.capabilities -= {Capability.SAVES}
        self.rounds = 0
        self.learner_: Kept = copy.deepcopy(self.learner)
        self._reservoir = Reservoir(self.states, self.seed)
        self._kept: list[Kept] = []  # a state for each of the reservoir's slots

    @classmethod
    @abstractmethod
    def _restored(cls, snapshot: Snapshot) -> Kept:
        """Return the learner of a snapshot."""

    @abstractmethod
    def _labels(self, y: object, count: int) -> Sequence[object] | Vector:
        """Return one label a row, checked as far as can be before the rows are learned."""

    @abstractmethod
    def _together(self, announced: Sequence[Vector]) -> Vector:
        """Return what was announced for all rows, of what was for the parts in order."""

    # ---- learning

    def learn_many(self, X: object, y: object, weights: object = None) -> Vector:
        """Play the rows in order; return what the learner announced for each before its label.

        The rounds whose states are kept are those that `learn` row by row keeps; between them, rows are learned at
        once. If one row is not a row, nothing is learned from any.
        """
        table = as_matrix(X, width=self.n_features_, names=self.feature_names_, single=False)
        count = table.shape[0]
        labels = self._labels(y, count)
        stakes = None if weights is None else np.asanyarray(weights)
        if stakes is not None and stakes.shape != (count,):
            raise AioliError(
                f"{count} rows came with weights of shape {stakes.shape}; give one a row (nothing was learned)"
            )
        if self._reservoir.next > self.rounds + count:
            announced = learn_rows(self.learner_, table, labels, stakes)
            self.rounds += count
            return announced
        playing = self._draft()
        try:
            announced = playing._play(table, labels, stakes)
        except ValueError:
            learn_rows(copy.deepcopy(self.learner_), table, labels, stakes)  # says why, and counts from the first row
            raise
        vars(self).update(vars(playing))
        return announced

    def announce(self, _x: object) -> NoReturn:
        """Refused: the bound is of states that announced each row just before its label."""
        raise CapabilityMissing(
            "OnlineToBatch does not learn late labels: its bound speaks of the states that announced the rows, each "
            "just before its label; announce by the learner itself, such as Auto, and learn here once labels are known"
        )

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return the learner's certificate: nats of regret, in its one pass, proven not to have been exceeded."""
        learner: AnyLearner = self.learner_
        if not certifies(learner):
            raise CapabilityMissing(f"{type(learner).__name__} has no certificate, so its average has none either")
        return learner.certificate(tight)

    def excess_risk_bound(self, tight: bool = False) -> float:
        r"""Return $C_n/n$ in nats: what bounds, **in expectation**, the excess risk of the average over θ of the ball.

        The expectation is over the n rows, drawn independently from one law, and over the rounds kept; so this is one
        draw of a quantity whose mean is a bound, not a bound for this very sample. `certificate().theorem / n` is the
        corollary's own, the same for every sample of such rows. Where the certificate is `Auto`'s, θ speaks of columns
        scaled as they were in each round, and the comparison is with the mean of its n risks. With a `share` below 1
        it is $C_n/(\text{share}\cdot n)$, which asks for more (see `share`). Infinite before the first row.
        """
        return float(self.certificate(tight)) / (self.share * self.rounds) if self.rounds else math.inf

    @property
    def loss(self) -> float:
        """Return the sum of the losses of what the learner announced, in nats."""
        return self.learner_.loss

    @property
    def n_features_(self) -> int | None:
        """Return how many columns a row has; None before the first row."""
        return self.learner_.n_features_

    @property
    def kept_rounds_(self) -> list[int]:
        """Return the rounds, counted from 1, whose states are averaged, in order; a state is that before its round."""
        return sorted(self._reservoir.rounds[slot] for slot in self._slots())

    @property
    def feature_names_(self) -> list[str] | None:
        """Return the names of the columns; None until given, or where the learner knows none."""
        learner: AnyLearner = self.learner_
        return learner.feature_names_ if names_columns(learner) else None

    @feature_names_.setter
    def feature_names_(self, names: Sequence[str] | None) -> None:
        states: list[AnyLearner] = [self.learner_, *self._kept]
        for state in states:
            if not names_columns(state):
                raise CapabilityMissing(f"{type(state).__name__} knows no names of columns")
            state.feature_names_ = None if names is None else list(names)

    # ---- its life

    def snapshot(self) -> Snapshot:
        """Return the learner, the states kept of it, and the reservoir that chooses them.

        For learners that have a snapshot themselves, as all of the package have.
        """
        learners: dict[str, AnyLearner] = {"template": self.learner, "learner": self.learner_}
        learners |= {f"state {i}": state for i, state in enumerate(self._kept)}
        parts = {name: snapshot_part(learner) for name, learner in learners.items()}
        values: dict[str, Plain] = {
            "parameters": {"states": self.states, "seed": self.seed, "share": self.share},
            "rounds": self.rounds,
        }
        return Snapshot(type(self).__name__, values, parts=parts | {"reservoir": self._reservoir.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal model from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of(cls.__name__)
        model = with_parameters(partial(cls, cls._restored(given.part("template"))), given)
        model.learner_ = cls._restored(given.part("learner"))
        model._reservoir = reservoir = Reservoir.restore(given.part("reservoir"))
        model._kept = [cls._restored(given.part(f"state {i}")) for i in range(len(reservoir.rounds))]
        model.rounds = given.whole("rounds")
        if reservoir.size != model.states or model.rounds >= reservoir.next:
            raise SnapshotRefused(
                f"{len(model._kept)} of {reservoir.size} states, of rounds {reservoir.rounds}, came with "
                f"{model.rounds} rounds and room for {model.states} states"
            )
        return model

    def __repr__(self) -> str:
        suffix = f"  # {self.rounds} rows, {len(self._slots())} states averaged" if self.rounds else ""
        return f"OnlineToBatch({self.learner!r}, states={self.states}, seed={self.seed}, share={self.share:g}){suffix}"

    # ---- within

    def _slots(self) -> list[int]:
        """Return the reservoir's slots of rounds in the last `share` of all; the latest round's where there is none."""
        rounds = self._reservoir.rounds
        first = (1.0 - self.share) * self.rounds
        return [i for i, t in enumerate(rounds) if t > first] or [i for i, t in enumerate(rounds) if t == max(rounds)]

    def _averaged(self) -> list[Kept]:
        return [self._kept[slot] for slot in self._slots()] or [self.learner_]

    def _learned(self, learn: Callable[[], Said]) -> Said:
        """Let the learner learn one row; return what it announced, and keep its state before where it is chosen."""
        before = copy.deepcopy(self.learner_) if self._reservoir.next == self.rounds + 1 else None
        announced = learn()
        if before is not None:
            self._keep(before)
        self.rounds += 1
        return announced

    def _keep(self, state: Kept) -> None:
        slot = self._reservoir.admit()
        self._kept[slot : slot + 1] = [state]

    def _draft(self) -> Self:
        """Return a copy to learn with, dropped if a row is refused; states kept never change, so they are shared."""
        draft = type(self).__new__(type(self))
        vars(draft).update(vars(self))
        draft.learner_, draft._reservoir = copy.deepcopy(self.learner_), copy.deepcopy(self._reservoir)
        draft._kept = list(self._kept)
        return draft

    def _play(self, table: Values, labels: Sequence[object] | Vector, stakes: Vector | None) -> Vector:
        """Learn the rows between two rounds that enter the reservoir at once; keep the state before each of these."""
        announced = []
        start = 0
        while start < len(labels):
            if self._reservoir.next == self.rounds + 1:
                self._keep(copy.deepcopy(self.learner_))
            end = min(len(labels), start + self._reservoir.next - self.rounds - 1)
            part = slice(start, end)
            stake = None if stakes is None else stakes[part]
            announced.append(learn_rows(self.learner_, table[part], labels[part], stake))
            self.rounds += end - start
            start = end
        return self._together(announced)
