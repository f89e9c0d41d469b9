"""The experts that play behind `Auto`, how much each is heard, and what is counted of the whole, wherever they play."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from aioli.errors import AnnouncementRefused
from aioli.learners.announcements import Delayed
from aioli.learners.auto.experts import Expert, experts_within
from aioli.learners.auto.pipeline import Combine
from aioli.learners.counted import CountsTotals
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate, PlayedGame, running_certificate, tight_certificate
from aioli.states.dense.state import State
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_loops import MEMORY, PROMPT, WHOLE
from aioli.states.mixture.mixture import Mixture, mixture_cost
from aioli.states.mixture.mixture_loops import announce_rows, combine_rows
from aioli.states.mixture.single_row import LATE, LOSS, ROUNDS, SLOTS, TOTALS
from aioli.states.mixture.views import Views

__all__ = ["MixedExperts"]

REVIEW = 4096  # rows after which an expert may retire
WORTH = 0.002  # of the loss that an expert which bends must save


class ExpertGame(PlayedGame, Protocol):
    """The state of an expert: what a certificate reads of it, and its snapshot."""

    def snapshot(self) -> Snapshot:
        """Return all of it."""


class MixedExperts(CountsTotals, ABC):
    """Holds the experts that still play, the mixture of what they say, and the views that they read.

    A subclass holds their states and plays rows.

    Attributes
    ----------
    invited
        The experts that the budget allows.
    playing
        Those of them that have not retired.
    """

    def __init__(self, experts: int | None, budget: str) -> None:
        self.invited = experts_within(budget, experts)
        self.experts = experts
        self.budget = budget
        self._totals: Vector = np.zeros(TOTALS)
        self._late: LateMixture | None = None  # from the first announcement on
        self._views: Views | None = None
        self._set_experts(self.invited, Mixture(np.array([expert.prior for expert in self.invited])))

    # ---- what a subclass writes

    @property
    @abstractmethod
    def _games(self) -> Sequence[ExpertGame]:
        """The state of each expert that plays; empty before the first row."""

    @abstractmethod
    def _keep(self, staying: Sequence[int]) -> None:
        """Go on with these of the states: the experts of the others have left."""

    @abstractmethod
    def _recount(self, now: Matrix, announced: Matrix, y: Vector, weights: Vector) -> None:
        """Count the experts' losses of rows where they were announced, and not where the labels found them."""

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret, against every fixed linear model of a ball, proven not to have been exceeded.

        The model is linear in the view of the expert that proves it, which `against` names: columns scaled as the
        stream went, ‖θ‖ ≤ `radius`. It is that expert's own certificate, plus all that the mixture lost more than the
        expert: nothing needs to be assumed of the mixture, so weights, drift and late labels are covered.
        """
        return self._best_proof(tight)[0]

    @property
    def certifying_expert(self) -> Expert:
        """The expert whose certificate is the ensemble's."""
        return self._best_proof(tight=False)[1]

    def _best_proof(self, tight: bool) -> tuple[Certificate, Expert]:
        """Return the smallest certificate that a certified expert proves, and that expert."""
        best: tuple[Certificate, Expert] | None = None
        prove = tight_certificate if tight else running_certificate
        total_prior = sum(expert.prior for expert in self.invited)
        games = self._games or [State(expert.spec, 1) for expert in self.playing]
        for expert, state in zip(self.playing, games, strict=True):
            if not expert.certified:
                continue
            own = prove(state)
            excess = self.loss - float(state.tally[Tally.LOSS])
            theorem = own.theorem + mixture_cost(self.rounds, expert.prior / total_prior)
            late = self._totals[LATE] > 0.0 or (self._late is not None and self._late.awake)
            if late:  # the theorem speaks of what is said when asked
                theorem = math.inf
            proven = Certificate(own + excess, own.radius, self.rounds, theorem, against=expert.name)
            best = (proven, expert) if best is None or proven < best[0] else best
        assert best is not None  # the first expert is certified
        return best

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return None if self._views is None else self._views.width

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now: 0 if it has retired."""
        heard = self._late if self._late is not None and self._late.awake else self._mixture
        shares = zip(self._names_playing, heard.shares.tolist(), strict=True)
        return dict.fromkeys([expert.name for expert in self.invited], 0.0) | dict(shares)

    @property
    def views(self) -> Views | None:
        """The views of a row that the experts read; None before the first row."""
        return self._views

    @property
    def on_fixed_columns(self) -> bool:
        """Whether the views are fixed: then experts do not retire, so that shards have the same ones to merge."""
        return self._views is not None and self._views.fixed

    @property
    def has_announced(self) -> bool:
        """Whether a row has been announced, so that its label may come late."""
        return self._late is not None

    @property
    def _names_playing(self) -> list[str]:
        return [expert.name for expert in self.playing]

    def _ensemble_snapshot(self, names: Sequence[str] | None, ledger: dict[str, Snapshot]) -> Snapshot:
        """Return the budget of experts, those still playing and their states, the totals, the mixture and the views."""
        parameters: dict[str, Plain] = {"experts": self.experts, "budget": self.budget}
        values: dict[str, Plain] = {"parameters": parameters, "names": names, "playing": self._names_playing}
        arrays = {"totals": self._totals.copy(), "negligible": self._negligible.copy()}
        parts = {"mixture": self._mixture.snapshot(), **ledger}
        if self._late is not None:
            parts["late"] = self._late.snapshot()
        if self._views is not None:
            parts["views"] = self._views.snapshot()
            parts |= {f"expert{i}": state.snapshot() for i, state in enumerate(self._games)}
        return Snapshot("DenseEnsemble", values, arrays, parts)

    def _mixed(self, Z: Matrix) -> Vector:
        """Return the log-odds of rows, given those of the experts, each row as if it came next; 0 before the first."""
        out = np.zeros(len(Z))
        if self._views is None:
            return out
        if self._late is not None:
            return self._late.announce(self._mixture, Z)[0]
        announce_rows(self._mixture.buffer.copy(), Z, out)
        return out

    # ---- announcements

    def _spread(self, kept: Matrix) -> Matrix:
        """Return the memory of announcements with a column for every expert of the budget: NaN where it has retired."""
        places = self._places
        if places is None:
            return kept
        spread = np.full((len(kept), len(self.invited) + MEMORY), math.nan)
        spread[:, places] = kept
        return spread

    def _gather(self, memory: Matrix) -> Matrix:
        """Return the memory of announcements without the columns of experts that have retired since."""
        if memory.shape[1] != len(self.invited) + MEMORY:
            raise AnnouncementRefused("the announcements are of another kind of learner (nothing was learned)")
        return memory if self._places is None else np.ascontiguousarray(memory[:, self._places])

    def _hear_announcements(self) -> LateMixture:
        """Return what learns from announcements, which comes to life with the first of them."""
        if self._late is None:
            self._late = LateMixture(self._mixture.prior, self._mixture.shares)
        return self._late

    def _forget_announcing(self) -> None:
        self._late = None

    # ---- learning

    def _learn_part(
        self,
        play: Callable[[Combine], None],
        labels: Vector,
        weights: Vector,
        late: Vector,
        out: Vector,
        delayed: Delayed | None,
        in_time: Vector | None = None,
    ) -> None:
        """Learn rows up to the next review; `out` receives the log-odds announced, those of `late` where not NaN.

        `play` lets the experts learn the rows, and hands their log-odds before each label to the function given.
        Where rows are `delayed`, `in_time` receives what the mixture says that is trained as if they came in time.
        """
        play(self._combining(labels, weights, out, delayed, in_time))
        prompt = np.isnan(late)
        out[...] = np.where(prompt, out, late)
        losses = softplus_many(np.where(labels == 1.0, -out, out))
        self._totals += np.array([len(out), weights.sum(), weights @ losses, np.count_nonzero(~prompt)])
        self._review_when_due()

    def _combining(
        self, y: Vector, weights: Vector, out: Vector, delayed: Delayed | None, in_time: Vector | None
    ) -> Combine:
        """Return a function that trains the mixture on the experts' log-odds of rows, and writes its own to `out`."""
        layer = self._late
        if layer is None:
            return lambda Z, part: combine_rows(self._mixture.buffer, Z, y[part], weights[part], out[part])
        kept = np.full((len(y), len(self.playing) + MEMORY), math.nan)
        late = np.zeros(len(y))
        if delayed is not None:
            kept[...], late = self._gather(delayed.memory), delayed.late

        def combine(Z: Matrix, part: slice) -> None:
            K = Z.shape[1]
            awake = layer.awake
            prompt = layer.answer(self._mixture, Z, y[part], weights[part], kept[part], late[part])
            if in_time is not None:
                in_time[part] = prompt
            out[part] = kept[part, K + (WHOLE if awake else PROMPT)]
            if delayed is not None:
                self._recount(Z, np.ascontiguousarray(kept[part, :K]), y[part], weights[part])

        return combine

    # ---- who plays

    def _rows_to_review(self, rounds: int) -> int:
        """Return how many rows may come after so many until a review; the first comes at half where some bend."""
        if rounds < REVIEW // 2 and self._any_bends:
            return REVIEW // 2 - rounds
        return REVIEW - rounds % REVIEW

    def _review_when_due(self) -> None:
        rounds = self._totals.item(ROUNDS)
        due = not rounds % REVIEW or (rounds == REVIEW // 2 and self._any_bends)
        if due and not self.on_fixed_columns:
            self._review()

    def _review(self) -> None:
        """Retire the experts that have no influence, now and at the last review.

        Those that cost several times what others do must be worth it: all of a view leave at once if none of them is.
        An expert that forgets stays, for the day the world changes, unless it costs so much; and so does the first
        certified one.
        """
        heard = np.array([expert.heard for expert in self.playing])
        negligible = self._mixture.negligible(heard)
        worthless = self._mixture.worthless(WORTH * self._totals[LOSS])
        if self._late is not None and self._late.awake:
            unheard = self._late.negligible(heard)
            negligible, worthless = np.minimum(negligible, unheard), np.minimum(worthless, unheard)
        staying: list[int] = []
        leaving: list[int] = []
        for i, expert in enumerate(self.playing):
            retires = negligible[i] and self._negligible[i] and i > 0 and (expert.forgetting == 1.0 or expert.bends)
            kind = [j for j, other in enumerate(self.playing) if expert.bends and other.view == expert.view]
            (leaving if retires or (kind and worthless[kind].all()) else staying).append(i)
        self._negligible[:] = negligible
        if leaving:
            self._leave(leaving)
            self._negligible[:] = negligible[staying]
            self._keep(staying)

    def _leave(self, leaving: list[int]) -> None:
        """Go on without these experts: their shares are the others'."""
        staying = [expert for i, expert in enumerate(self.playing) if i not in leaving]
        if self._late is not None:
            self._late = self._late.without(leaving)
        self._set_experts(staying, self._mixture.without(leaving))

    def _set_experts(self, playing: Sequence[Expert], mixture: Mixture) -> None:
        self.playing = list(playing)
        self._any_bends = any(expert.bends for expert in playing)
        self._mixture = mixture
        self._negligible: Vector = np.zeros(len(playing))  # at the last review
        self._logits_of_row: Vector = np.zeros(len(playing) + SLOTS)
        self._nothing: Vector = np.full(len(playing) + MEMORY, math.nan)  # the memory of a row that was not announced
        places = [*(self.invited.index(expert) for expert in playing), *range(-MEMORY, 0)]
        self._places = (
            None if len(playing) == len(self.invited) else places
        )  # of those who play, in an announcement's memory
