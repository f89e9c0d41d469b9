"""The state of the ensemble of experts behind `Auto`: who plays, what each remembers, how blocks of rows train it."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from aioli.errors import AnnouncementRefused
from aioli.learners.announcements import Delayed
from aioli.learners.auto.experts import Expert, experts_within
from aioli.learners.auto.pipeline import Combine, play_blocks
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many
from aioli.numerics.threads import do_all, one_blas_thread
from aioli.outcomes.two_classes import Tally
from aioli.states.dense.play import logits_of_rows
from aioli.states.dense.state import State
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_loops import MEMORY, PROMPT, WHOLE
from aioli.states.mixture.merging import merged_mixtures
from aioli.states.mixture.mixture import Mixture, combine_rows
from aioli.states.mixture.single_row import LOSS, ROUNDS, SLOTS, TOTALS, consult_rows, recount_rows
from aioli.states.mixture.survey import ColumnSurvey
from aioli.states.mixture.views import Views
from aioli.streams.rows import Rows
from aioli.streams.sparse_rows import Indices

__all__ = ["EnsembleState"]

PIECE = 512  # rows that a thread is asked about at a time
FEW = 64  # rows that are asked about one by one
REVIEW = 4096  # rows after which an expert may retire
WORTH = 0.002  # of the loss that an expert which bends must save

Seen = tuple[Vector, Vector]  # of the views: statistics and basis
Learning = tuple[*Seen, Matrix, Vector, Indices, Indices, Vector, Vector, Vector]  # what `learn_row` takes but a row
Predicting = tuple[*Seen, Vector, Indices, Indices, Vector]  # what `predict_row` takes but a row


class EnsembleState:
    """Holds the experts that still play, their states, the views that they read, and the mixture of what they say.

    Attributes
    ----------
    invited
        The experts that the budget allows.
    playing
        Those of them that have not retired.
    states
        The state of each of these; empty before the first row.
    """

    def __init__(self, experts: int | None, budget: str) -> None:
        self.invited = experts_within(budget, experts)
        self.experts = experts
        self.budget = budget
        self.states: list[State] = []
        self._totals: Vector = np.zeros(TOTALS)
        self._late: LateMixture | None = None  # from the first announcement on
        self._views: Views | None = None
        self._learning: Learning | None = None
        self._predicting: Predicting | None = None
        self._set_experts(self.invited, Mixture(np.array([expert.prior for expert in self.invited])))

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return int(self._totals[ROUNDS])

    @property
    def _names_playing(self) -> list[str]:
        return [expert.name for expert in self.playing]

    @property
    def on_fixed_columns(self) -> bool:
        """Whether the views are fixed: then experts do not retire, so that shards have the same ones to merge."""
        return self._views is not None and self._views.fixed

    def _fix_views(self, survey: ColumnSurvey) -> None:
        """Begin on views that are fixed to what a survey has counted."""
        width = survey.views(bending=False).width
        self._begin(width)
        views = survey.views(bending=any(expert.bends for expert in self.playing))
        self._lay_out(views, self.states)

    def _merge_states(self, other: "EnsembleState", since: "EnsembleState") -> None:
        """Take in what another ensemble learned since both went on from a third, on the same views. O(K d³)."""
        assert self._views is not None
        merged = [
            own.merged(theirs, old) for own, theirs, old in zip(self.states, other.states, since.states, strict=True)
        ]
        negligible = self._negligible.copy()
        lost = np.array(
            [new.tally[Tally.LOSS] - old.tally[Tally.LOSS] for new, old in zip(merged, since.states, strict=True)]
        )
        self._set_experts(self.playing, merged_mixtures(self._mixture, other._mixture, since._mixture, lost))
        self._negligible[:] = negligible
        self._totals += other._totals - since._totals
        self._lay_out(self._views, merged)

    def _consult(self, rows: Rows) -> Matrix:
        """Return each expert's log-odds of each row, as if it came next."""
        Z = np.zeros((len(rows), len(self.playing)))
        if self._predicting is None:
            return Z
        if len(rows) < FEW:
            for start, chunk in rows:
                consult_rows(*self._predicting[:-1], chunk, Z[start : start + len(chunk)])
            return Z
        with one_blas_thread():
            for start, chunk in rows:
                firsts = range(0, len(chunk), PIECE)
                parts = [(chunk[t : t + PIECE], Z[start + t : start + t + PIECE]) for t in firsts]
                do_all([partial(self._consult_piece, *part) for part in parts])
        return Z

    def _consult_piece(self, X: Matrix, Z: Matrix) -> None:
        """Write each expert's log-odds of some rows, by matrix products: the same as one by one, but for rounding."""
        assert self._views is not None
        views = self._views.of_rows_apart(X, {expert.kind for expert in self.playing})
        for i, (expert, state) in enumerate(zip(self.playing, self.states, strict=True)):
            Z[:, i] = logits_of_rows(state, views[expert.kind])

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
            self._begin(rows.width)
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            late_rows = None if delayed is None else delayed.of(part)
            self._learn_chunk(chunk, labels[part], weights[part], logits[part], out[part], late_rows)

    def _begin(self, width: int) -> None:
        """Make the views and the experts' states; an expert whose time such rows are not worth does not play."""
        leaving = [i for i, expert in enumerate(self.playing) if not expert.suits(width)]
        if leaving:
            self._leave(leaving)
        views = Views(width, bending=any(expert.bends for expert in self.playing))
        self._lay_out(views, [State(expert.spec, views.widths[expert.kind]) for expert in self.playing])

    def _leave(self, leaving: list[int]) -> None:
        """Go on without these experts: their shares are the others'."""
        staying = [expert for i, expert in enumerate(self.playing) if i not in leaving]
        if self._late is not None:
            self._late = self._late.without(leaving)
        self._set_experts(staying, self._mixture.without(leaving))

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
                buffers, starts = self._learning[3], self._learning[4]
                recount_rows(buffers, starts, Z, np.ascontiguousarray(kept[part, :K]), y[part], weights[part])

        return combine

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
            part = slice(first, first + self._rows_to_review())
            y, row_weights, z = labels[part], weights[part], out[part]
            combine = self._combining(y, row_weights, z, None if delayed is None else delayed.of(part))
            play_blocks(self.playing, self.states, self._views, X[part], y, row_weights, combine)
            in_time = np.isnan(late[part])
            z[...] = np.where(in_time, z, late[part])
            losses = softplus_many(np.where(y == 1.0, -z, z))
            self._totals += np.array([len(z), row_weights.sum(), row_weights @ losses, np.count_nonzero(~in_time)])
            self._review_when_due()
            first += len(z)

    def _rows_to_review(self) -> int:
        """Return how many rows may come until the next review; the first comes at half where some bend."""
        if self.rounds < REVIEW // 2 and self._any_bends:
            return REVIEW // 2 - self.rounds
        return REVIEW - self.rounds % REVIEW

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
            assert self._views is not None
            states = [self.states[i] for i in staying]
            self._leave(leaving)
            self._negligible[:] = negligible[staying]
            self._lay_out(self._views, states)

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
        seen = views.statistics, views.basis
        shares = self._mixture.buffer
        self._learning = (*seen, views.row, buffers, starts, kinds, shares, self._logits_of_row, self._totals)
        self._predicting = (*seen, buffers, starts, kinds, shares)
