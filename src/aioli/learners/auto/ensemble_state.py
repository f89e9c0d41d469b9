"""The states of the experts behind `Auto`, and how blocks of rows train them."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from aioli.learners.announcements import Delayed
from aioli.learners.auto.mixed_experts import MixedExperts
from aioli.learners.auto.pipeline import play_blocks
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.threads import do_all, one_blas_thread
from aioli.outcomes.two_classes import Tally
from aioli.states.dense.play import logits_of_rows
from aioli.states.dense.state import State
from aioli.states.mixture.late_row import announce_row_late, learn_row_late
from aioli.states.mixture.merging import merged_mixtures
from aioli.states.mixture.single_row import DONE, ROUNDS, consult_rows, recount_rows
from aioli.states.mixture.survey import ColumnSurvey
from aioli.states.mixture.views import Views
from aioli.streams.rows import Rows
from aioli.streams.sparse_rows import Indices

__all__ = ["EnsembleState"]

PIECE = 512  # rows that a thread is asked about at a time
FEW = 64  # rows that are asked about one by one
ONE_BY_ONE = 4  # late rows up to which a call a row costs less than making blocks of them

Seen = tuple[Vector, Vector]  # of the views: statistics and basis
Learning = tuple[*Seen, Matrix, Vector, Indices, Indices, Vector, Vector, Vector]  # what `learn_row` takes but a row
Predicting = tuple[*Seen, Vector, Indices, Indices, Vector]  # what `predict_row` takes but a row


class EnsembleState(MixedExperts):
    """Holds the states of the experts that still play side by side in one array, and trains them on blocks of rows.

    Attributes
    ----------
    states
        The state of each expert that plays; empty before the first row.
    """

    def __init__(self, experts: int | None, budget: str) -> None:
        self.states: list[State] = []
        self._learning: Learning | None = None
        self._predicting: Predicting | None = None
        self._stop_at = 0  # rounds, after which the views may become wider, or a review is due
        super().__init__(experts, budget)

    @property
    def _games(self) -> Sequence[State]:
        return self.states

    def _keep(self, staying: Sequence[int]) -> None:
        assert self._views is not None
        self._lay_out(self._views, [self.states[i] for i in staying])

    def _recount(self, now: Matrix, announced: Matrix, y: Vector, weights: Vector) -> None:
        assert self._learning is not None
        buffers, starts = self._learning[3], self._learning[4]
        recount_rows(buffers, starts, now, announced, y, weights)

    def _fix_views(self, survey: ColumnSurvey) -> None:
        """Begin on views that are fixed to what a survey has counted."""
        width = survey.views(bending=False).width
        self._begin(width)
        self._lay_out_wider(survey.views(bending=any(expert.bends for expert in self.playing)))

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
                own = Z[start : start + len(chunk)]
                parts = [(chunk[t : t + PIECE], own[t : t + PIECE]) for t in firsts]
                do_all([partial(self._consult_piece, *part) for part in parts])
        return Z

    def _consult_piece(self, X: Matrix, Z: Matrix) -> None:
        """Write each expert's log-odds of some rows, by matrix products: the same as one by one, but for rounding."""
        assert self._views is not None
        views = self._views.of_rows_apart(X, {expert.kind for expert in self.playing})
        for i, (expert, state) in enumerate(zip(self.playing, self.states, strict=True)):
            Z[:, i] = logits_of_rows(state, views[expert.kind])

    def _announce_row(self, x: Vector) -> tuple[float, Vector] | None:
        """Return the log-odds of one row and its announcement's memory.

        None where the row must go through the border.
        """
        late = self._late
        if late is None or self._predicting is None:
            return None
        memory = self._nothing.copy()
        try:
            z = announce_row_late(*self._predicting, late.numbers, late.experts, late.stacker, x, memory)
        except TypeError:  # another type of number, or another layout
            return None
        if z != z:
            return None
        return z, memory if self._places is None else self._spread(memory[None])[0]

    def _learn_checked(self, X: Matrix, y: Vector, weights: Vector, delayed: Delayed | None) -> tuple[Vector, Vector]:
        """Learn rows that have passed the border, announced now or as `delayed` says.

        Return what was announced, and what the mixture said that is trained as if labels came in time.
        """
        if self._views is None:
            self._begin(X.shape[1])
        if delayed is None:
            announced = np.empty(len(X))
            self._learn_chunk(X, y, weights, np.full(len(X), math.nan), announced, None)
            return announced, announced
        in_time = np.empty(len(X))
        self._hear_announcements()
        if len(X) > ONE_BY_ONE or not (weights == 1.0).all():
            self._learn_chunk(X, y, weights, delayed.logits, np.empty(len(X)), delayed, in_time)
            return delayed.logits, in_time
        late = delayed.late.tolist(), delayed.logits.tolist(), y.tolist()
        for t, (x, memory, delay, logit, label) in enumerate(zip(X, delayed.memory, *late, strict=True)):
            said = self._learn_row_late(x, label, self._memory_of(memory), logit, delay)
            assert said is not None  # the row has passed the border
            in_time[t] = said[1]
        return delayed.logits, in_time

    def _learn_row_late(
        self, x: Vector, label: float, memory: Vector, logit: float, late: float
    ) -> tuple[float, float] | None:
        """Learn one row that was announced as `memory` says, or is now where that is NaN; None where x is refused.

        Return the probability announced, and the log-odds of the mixture that is trained as if labels came in time.
        """
        layer, learning = self._late, self._learning
        assert layer is not None
        assert learning is not None
        given = layer.numbers, layer.experts, layer.stacker, memory, logit, late, x, label
        outcome = learn_row_late(*learning, *given, 0)
        while outcome >= 0:  # an expert would lose digits: its state is factored, and it goes on
            self.states[outcome].factor()
            outcome = learn_row_late(*learning, *given, outcome)
        if outcome != DONE:
            return None
        p, in_time = self._logits_of_row.item(-1), self._logits_of_row.item(-2)
        self._review_when_due()
        return p, in_time

    def _memory_of(self, memory: Vector | None) -> Vector:
        """Return the memory of an announcement without the numbers of experts that have retired since."""
        if self._places is None and memory is not None and memory.size == self._nothing.size:
            return memory
        kept: Vector = self._gather(np.empty((1, 0)) if memory is None else memory[None])[0]
        return kept

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

    def _learn_chunk(
        self,
        X: Matrix,
        labels: Vector,
        weights: Vector,
        late: Vector,
        out: Vector,
        delayed: Delayed | None,
        in_time: Vector | None = None,
    ) -> None:
        """Learn the rows; `out` receives the log-odds announced, those of `late` where it is not NaN. O(K d²) a row."""
        assert self._views is not None
        first = 0
        while first < len(X):
            part = slice(first, first + self._stop_at - self.rounds)
            y, row_weights = labels[part], weights[part]
            play = partial(play_blocks, self.playing, self.states, self._views, X[part], y, row_weights)
            late_rows = None if delayed is None else delayed.of(part)
            prompt = None if in_time is None else in_time[part]
            self._learn_part(play, y, row_weights, late[part], out[part], late_rows, prompt)
            first += len(y)

    def _begin(self, width: int) -> None:
        """Make the views and the experts' states; an expert whose time such rows are not worth does not play."""
        leaving = [i for i, expert in enumerate(self.playing) if not expert.suits(width)]
        if leaving:
            self._leave(leaving)
        views = Views(width, bending=any(expert.bends for expert in self.playing))
        self._lay_out(views, [State(expert.spec, views.widths[expert.kind]) for expert in self.playing])

    def _review_when_due(self) -> None:
        """Follow the views where they have become wider, and review, where either may be due."""
        if self._totals.item(ROUNDS) < self._stop_at:
            return
        assert self._views is not None
        self._lay_out_wider(self._views)
        super()._review_when_due()
        self._set_stop()

    def _set_stop(self) -> None:
        """Say after how many rounds the views may become wider, or a review is due."""
        assert self._views is not None
        self._stop_at = self.rounds + min(self._rows_to_review(self.rounds), self._views.rows_to_bends)

    def _lay_out_wider(self, views: Views) -> None:
        """Go on with states as wide as the views are: further features were 0 in all rows so far. O(K d²)."""
        width_of = views.widths
        widths = [width_of[expert.kind] for expert in self.playing]
        if views is not self._views or widths != [state.width for state in self.states]:
            wider = [
                state if state.width == width else state.grown(width - state.width)
                for state, width in zip(self.states, widths, strict=True)
            ]
            self._lay_out(views, wider)

    def _lay_out(self, views: Views, states: Sequence[State]) -> None:
        """Copy the experts' states into one array side by side, so that one compiled call plays a row."""
        starts: Indices = np.cumsum([0] + [State.size(state.width) for state in states], dtype=np.int64)
        buffers = np.zeros(starts[-1])
        self.states = []
        for state, first, last in zip(states, starts[:-1], starts[1:], strict=True):
            moved = State(state.spec, state.width, buffers[first:last])
            self.states.append(moved.overwrite(state.P, state.w, state.tally, factored=state.factored))
        self._views = views
        self._set_stop()
        kinds: Indices = np.array([expert.kind for expert in self.playing], dtype=np.int64)
        seen = views.statistics, views.basis
        shares = self._mixture.buffer
        self._learning = (*seen, views.row, buffers, starts, kinds, shares, self._logits_of_row, self._totals)
        self._predicting = (*seen, buffers, starts, kinds, shares)
