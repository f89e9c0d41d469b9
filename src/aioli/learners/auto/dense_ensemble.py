"""The ensemble of AIOLI experts that `Auto` plays on dense rows of up to some thousand columns."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy import ndarray

from aioli.errors import AnnouncementRefused, ParameterRefused, SnapshotRefused
from aioli.learners.announcements import Announcement, Delayed, Late
from aioli.learners.auto.experts import EXPERTS, Expert
from aioli.learners.auto.pipeline import Combine, play_blocks
from aioli.learners.base import RowsLearner
from aioli.learners.parameters import with_parameters
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many, softplus_many
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate, running_certificate, tight_certificate
from aioli.states.dense.state import State
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_loops import MEMORY, PROMPT, WHOLE
from aioli.states.mixture.late_row import announce_row_late, learn_row_late
from aioli.states.mixture.mixture import Mixture, announce_rows, combine_rows, mixture_cost
from aioli.states.mixture.single_row import (
    DONE,
    LATE,
    LONGEST,
    LOSS,
    NO_ROW,
    ROUNDS,
    SLOTS,
    TOTALS,
    consult_rows,
    learn_row,
    predict_row,
    recount_rows,
)
from aioli.states.mixture.views import Views
from aioli.streams.rows import LABELS, Rows, as_logits, as_weights
from aioli.streams.sparse_rows import Indices

__all__ = ["DenseEnsemble"]

HEAVIEST = 1e6  # a weight that costs no expert its digits
REVIEW = 4096  # rows after which an expert may retire

Seen = tuple[Matrix, Vector, Matrix, Vector]  # of the views: statistics of the columns, totals, directions and phases
Learning = tuple[*Seen, Matrix, Vector, Indices, Indices, Vector, Vector, Vector]  # what `learn_row` takes but a row
Predicting = tuple[*Seen, Vector, Indices, Indices, Vector]  # what `predict_row` takes but a row


class DenseEnsemble(Remembering, RowsLearner[Rows]):
    """Plays up to eight AIOLI learners on views of the rows, and announces the log-odds of their mixture.

    Attributes
    ----------
    playing
        The experts that have not retired.
    states
        The state of each of these; empty before the first row.
    """

    capabilities = RowsLearner.capabilities | {Capability.GROWS, Capability.MIXES}

    def __init__(self, experts: int | None = None) -> None:
        super().__init__()
        if experts is not None and not (isinstance(experts, int) and 1 <= experts <= len(EXPERTS)):
            raise ParameterRefused(
                f"experts is {experts!r}; it must be a whole number from 1 to {len(EXPERTS)}, or None for all",
                parameter="experts",
                value=experts,
            )
        self.experts = experts
        self.states: list[State] = []
        self._totals: Vector = np.zeros(TOTALS)
        self._late: LateMixture | None = None  # from the first announcement on
        self._views: Views | None = None
        self._learning: Learning | None = None
        self._predicting: Predicting | None = None
        budget = EXPERTS[:experts]
        self._set_experts(budget, Mixture(np.array([expert.prior for expert in budget])))

    # ---- one row

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing. O(K d²)."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes. O(K d²)."""
        if self._predicting is not None and type(x) is ndarray:
            try:
                late = self._late
                if late is None:
                    z = predict_row(*self._predicting, x)
                else:
                    z = announce_row_late(
                        *self._predicting, late.numbers, late.experts, late.stacker, x, self._nothing.copy()
                    )
                if not math.isnan(z):
                    return z
            except TypeError:  # another type of number, or another layout
                pass
        return float(self._logits(self._rows(x, single=True))[0])

    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes. O(K d²)."""
        late = self._late
        if late is not None and self._predicting is not None and type(x) is ndarray:
            memory = self._nothing.copy()
            try:
                z = announce_row_late(*self._predicting, late.numbers, late.experts, late.stacker, x, memory)
                if z == z:
                    if self._places is not None:
                        memory = self._spread(memory[None])[0]
                    return self._ledger.issue_one(self._totals.item(ROUNDS), z, memory)
            except TypeError:  # another type of number, or another layout
                pass
        return super().announce(x)

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; returns the probability announced before the label. O(K d²).

        `weight`, `logit` and `announced` as in `AIOLI.learn`.
        """
        if self._learning is not None and weight == 1.0 and logit is None and type(x) is ndarray:
            try:
                label = LABELS[y]
                if self._late is not None:
                    p_late = self._learn_one_late(x, label, announced)
                    if p_late is not None:
                        return p_late
                    return self._learn_one(x, y, weight, logit, announced)
                outcome = learn_row(*self._learning, x, label, 0)
                while outcome >= 0:  # an expert would lose digits: its state is factored, and it goes on
                    self.states[outcome].factor()
                    outcome = learn_row(*self._learning, x, label, outcome)
                if outcome == DONE:
                    p: float = self._logits_of_row.item(-1)
                    if not self._totals.item(ROUNDS) % REVIEW:
                        self._review()
                    return p
            except (TypeError, KeyError):  # another type of number, another layout, or not a label
                pass
        return self._learn_one(x, y, weight, logit, announced)

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret, against every fixed linear model of a ball, proven not to have been exceeded.

        The model is linear in the view of the expert that proves it, which `against` names: columns scaled as the
        stream went, ‖θ‖ ≤ `radius`. It is that expert's own certificate, plus all that the mixture lost more than the
        expert: nothing needs to be assumed of the mixture, so weights, drift and late labels are covered.
        """
        return self._best_proof(tight)[0]

    @property
    def views(self) -> Views | None:
        """The views of a row that the experts read; None before the first row."""
        return self._views

    @property
    def certifying_expert(self) -> Expert:
        """The expert whose certificate is the ensemble's."""
        return self._best_proof(tight=False)[1]

    def _best_proof(self, tight: bool) -> tuple[Certificate, Expert]:
        """Return the smallest certificate that a certified expert proves, and that expert."""
        best: tuple[Certificate, Expert] | None = None
        prove = tight_certificate if tight else running_certificate
        total_prior = sum(expert.prior for expert in EXPERTS[: self.experts])
        states = self.states or [State(expert.spec, 1) for expert in self.playing]
        for expert, state in zip(self.playing, states, strict=True):
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
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return int(self._totals[ROUNDS])

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return float(self._totals[LOSS])

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return None if self._views is None else self._views.width

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now: 0 if it has retired."""
        heard = self._late if self._late is not None and self._late.awake else self._mixture
        shares = zip(self._names_playing, heard.shares.tolist(), strict=True)
        return dict.fromkeys([expert.name for expert in EXPERTS[: self.experts]], 0.0) | dict(shares)

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(K d²)."""
        names_after = self._names_after_growing(columns, names)
        if self._views is not None:
            views = self._views.grown(columns)
            playing = zip(self.playing, self.states, strict=True)
            self._lay_out(views, [state.grown(views.widths[expert.kind] - state.width) for expert, state in playing])
        self._names = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return the budget of experts, those still playing and their states, the totals, the mixture and the views."""
        parameters: dict[str, Plain] = {"experts": self.experts}
        values: dict[str, Plain] = {"parameters": parameters, "names": self._names, "playing": self._names_playing}
        arrays = {"totals": self._totals.copy(), "negligible": self._negligible.copy()}
        parts = {"mixture": self._mixture.snapshot(), **self._ledger_part}
        if self._late is not None:
            parts["late"] = self._late.snapshot()
        if self._views is not None:
            parts["views"] = self._views.snapshot()
            parts |= {f"expert{i}": state.snapshot() for i, state in enumerate(self.states)}
        return Snapshot("DenseEnsemble", values, arrays, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of("DenseEnsemble")
        learner = with_parameters(cls, given)
        names = given.texts("playing") or []
        playing = [expert for expert in EXPERTS[: learner.experts] if expert.name in names]
        if names[:1] != [EXPERTS[0].name] or names != [expert.name for expert in playing]:
            raise SnapshotRefused(f"its experts are {names}, which experts={learner.experts} does not play")
        mixture = Mixture.restore(given.part("mixture"))
        if mixture.prior.size != len(playing):
            raise SnapshotRefused(f"{len(playing)} experts have {mixture.prior.size} shares of the mixture")
        learner._set_experts(playing, mixture)
        if "late" in given.parts:
            learner._late = LateMixture.restore(given.part("late"))
            if learner._late.shares.size != len(playing):
                raise SnapshotRefused(f"{len(playing)} experts have {learner._late.shares.size} shares of late labels")
        learner._totals[...] = given.array("totals", (TOTALS,))
        learner._negligible[...] = given.array("negligible", (len(playing),))
        if "views" in given.parts:
            views = Views.restore(given.part("views"))
            states = [State.restore(given.part(f"expert{i}")) for i in range(len(playing))]
            for expert, state in zip(playing, states, strict=True):
                if state.spec != expert.spec or state.width != views.widths[expert.kind]:
                    raise SnapshotRefused(f"the state of {expert.name} is of another game, or of another width")
            learner._lay_out(views, states)
        learner._take_names(given)
        return learner

    # ---- within

    @property
    def _names_playing(self) -> list[str]:
        return [expert.name for expert in self.playing]

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=False, widest=LONGEST, width=self.n_features_, names=self._names, single=single)

    def _logits(self, rows: Rows) -> Vector:
        if self._predicting is None:
            return np.zeros(len(rows))
        if self._late is not None:
            return self._late.announce(self._mixture, self._consult(rows))[0]
        out = np.empty(len(rows))
        announce_rows(self._mixture.buffer.copy(), self._consult(rows), out)
        return out

    def _consult(self, rows: Rows) -> Matrix:
        """Return each expert's log-odds of each row, as if it came next."""
        Z = np.zeros((len(rows), len(self.playing)))
        if self._predicting is not None:
            for start, chunk in rows:
                consult_rows(*self._predicting[:-1], chunk, Z[start : start + len(chunk)])
        return Z

    def _announce(self, rows: Rows) -> tuple[Vector, Matrix]:
        logits, kept = self._hear_announcements().announce(self._mixture, self._consult(rows))
        return logits, self._spread(kept)

    def _spread(self, kept: Matrix) -> Matrix:
        """Return the memory of announcements with a column for every expert of the budget: NaN where it has retired."""
        places = self._places
        if places is None:
            return kept
        spread = np.full((len(kept), len(EXPERTS[: self.experts]) + MEMORY), math.nan)
        spread[:, places] = kept
        return spread

    def _gather(self, memory: Matrix) -> Matrix:
        """Return the memory of announcements without the columns of experts that have retired since."""
        if memory.shape[1] != len(EXPERTS[: self.experts]) + MEMORY:
            raise AnnouncementRefused("the announcements are of another kind of learner (nothing was learned)")
        return memory if self._places is None else np.ascontiguousarray(memory[:, self._places])

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        late = as_logits(logits, len(rows))
        announced = np.empty(len(rows))
        self._learn_rows(rows, labels, row_weights, late, announced, None)
        return sigmoid_many(announced)

    def _answer(self, rows: Rows, labels: Vector, weights: object, delayed: Delayed) -> None:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        self._gather(delayed.memory)  # refuses announcements of another kind of learner
        self._hear_announcements()
        self._learn_rows(rows, labels, row_weights, delayed.logits, np.empty(len(rows)), delayed)

    def _hear_announcements(self) -> LateMixture:
        """Return what learns from announcements, which comes to life with the first of them."""
        if self._late is None:
            self._late = LateMixture(self._mixture.prior, self._mixture.shares)
        return self._late

    def _forget_announcing(self) -> None:
        self._late = None

    @property
    def has_announced(self) -> bool:
        """Whether a row has been announced, so that its label may come late."""
        return self._late is not None

    def _learn_rows(
        self,
        rows: Rows,
        labels: Vector,
        weights: Vector,
        logits: Vector,
        out: Vector,
        delayed: Delayed | None,
    ) -> None:
        if self._views is None:
            views = Views(rows.width)
            self._lay_out(views, [State(expert.spec, views.widths[expert.kind]) for expert in self.playing])
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            late_rows = None if delayed is None else delayed.of(part)
            self._learn_chunk(chunk, labels[part], weights[part], logits[part], out[part], late_rows)

    def _combining(self, y: Vector, weights: Vector, out: Vector, delayed: Delayed | None) -> Combine:
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
            layer.answer(self._mixture, Z, y[part], weights[part], kept[part], late[part])
            out[part] = kept[part, K + (WHOLE if awake else PROMPT)]
            if delayed is not None:
                assert self._learning is not None
                buffers, starts = self._learning[5], self._learning[6]
                recount_rows(buffers, starts, Z, np.ascontiguousarray(kept[part, :K]), y[part], weights[part])

        return combine

    def _learn_one_late(self, x: Vector, label: float, announced: Late) -> float | None:
        """Learn one row once rows have been announced; return the probability announced, None where x is refused."""
        layer, learning = self._late, self._learning
        assert layer is not None
        assert learning is not None
        memory, logit, late, outcome = self._nothing, math.nan, 0.0, NO_ROW
        if announced is not None:
            if announced.logit != announced.logit:  # which would say that the row comes in time
                return None
            self._ledger.settle_one(announced)
        try:
            if announced is not None:
                memory, logit = self._memory_of(announced), announced.logit
                late = self._ledger.late_one(announced, self._totals.item(ROUNDS))
            given = layer.numbers, layer.experts, layer.stacker, memory, logit, late, x, label
            outcome = learn_row_late(*learning, *given, 0)
            while outcome >= 0:  # an expert would lose digits: its state is factored, and it goes on
                self.states[outcome].factor()
                outcome = learn_row_late(*learning, *given, outcome)
        finally:
            if outcome != DONE and announced is not None:
                self._ledger.reopen_one(announced)
        if outcome != DONE:
            return None
        p: float = self._logits_of_row.item(-1)
        if not self._totals.item(ROUNDS) % REVIEW:
            self._review()
        return p

    def _memory_of(self, announced: Announcement) -> Vector:
        """Return the memory of an announcement without the numbers of experts that have retired since."""
        memory = announced.memory
        if self._places is None and memory is not None and memory.size == self._nothing.size:
            return memory
        kept: Vector = self._gather(announced.row.memory)[0]
        return kept

    def _learn_chunk(
        self,
        X: Matrix,
        labels: Vector,
        weights: Vector,
        late: Vector,
        out: Vector,
        delayed: Delayed | None,
    ) -> None:
        """Learn the rows; `out` receives the log-odds announced, those of `late` where it is not NaN. O(K d²) a row."""
        assert self._views is not None
        first = 0
        while first < len(X):
            part = slice(first, first + REVIEW - self.rounds % REVIEW)
            y, row_weights, z = labels[part], weights[part], out[part]
            combine = self._combining(y, row_weights, z, None if delayed is None else delayed.of(part))
            play_blocks(self.playing, self.states, self._views, X[part], y, row_weights, combine)
            in_time = np.isnan(late[part])
            z[...] = np.where(in_time, z, late[part])
            losses = softplus_many(np.where(y == 1.0, -z, z))
            self._totals += np.array([len(z), row_weights.sum(), row_weights @ losses, np.count_nonzero(~in_time)])
            if not self._totals.item(ROUNDS) % REVIEW:
                self._review()
            first += len(z)

    def _review(self) -> None:
        """Retire the experts that have no influence, now and at the last review.

        An expert that forgets stays, for the day the world changes, and so does the first certified one.
        """
        negligible = self._mixture.negligible()
        if self._late is not None and self._late.awake:
            negligible = np.minimum(negligible, self._late.negligible())
        staying: list[int] = []
        leaving: list[int] = []
        for i, expert in enumerate(self.playing):
            retires = negligible[i] and self._negligible[i] and i > 0 and expert.forgetting == 1.0
            (leaving if retires else staying).append(i)
        self._negligible[:] = negligible
        if leaving:
            assert self._views is not None
            states = [self.states[i] for i in staying]
            if self._late is not None:
                self._late = self._late.without(leaving)
            self._set_experts([self.playing[i] for i in staying], self._mixture.without(leaving))
            self._negligible[:] = negligible[staying]
            self._lay_out(self._views, states)

    def _set_experts(self, playing: Sequence[Expert], mixture: Mixture) -> None:
        self.playing = list(playing)
        self._mixture = mixture
        self._negligible: Vector = np.zeros(len(playing))  # at the last review
        self._logits_of_row: Vector = np.zeros(len(playing) + SLOTS)
        self._nothing: Vector = np.full(len(playing) + MEMORY, math.nan)  # the memory of a row that was not announced
        budget = EXPERTS[: self.experts]
        places = [*(budget.index(expert) for expert in playing), *range(-MEMORY, 0)]
        self._places = None if len(playing) == len(budget) else places  # of those who play, in an announcement's memory

    def _lay_out(self, views: Views, states: Sequence[State]) -> None:
        """Copy the experts' states into one array side by side, so that one compiled call plays a row."""
        starts: Indices = np.cumsum([0] + [State.size(state.width) for state in states], dtype=np.int64)
        buffers = np.zeros(starts[-1])
        self.states = []
        for state, first, last in zip(states, starts[:-1], starts[1:], strict=True):
            moved = State(state.spec, state.width, buffers[first:last])
            self.states.append(moved.overwrite(state.P, state.w, state.tally, factored=state.factored))
        self._views = views
        kinds: Indices = np.array([expert.kind for expert in self.playing], dtype=np.int64)
        seen = views.columns, views.totals, views.directions, views.phases
        shares = self._mixture.buffer
        self._learning = (*seen, views.row, buffers, starts, kinds, shares, self._logits_of_row, self._totals)
        self._predicting = (*seen, buffers, starts, kinds, shares)
