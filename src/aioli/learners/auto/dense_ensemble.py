"""The ensemble of AIOLI experts that `Auto` plays on dense rows of up to some thousand columns."""

import contextlib
import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy import ndarray

from aioli.errors import CapabilityMissing, ParameterRefused, SnapshotRefused
from aioli.learners.announcements import Announcement, Delayed, Late
from aioli.learners.auto.ensemble_rows import EnsembleRows
from aioli.learners.auto.ensemble_state import EnsembleState
from aioli.learners.auto.experts import with_budget
from aioli.learners.parameters import with_parameters
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.state import State
from aioli.states.mixture.column_statistics import SAVED
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_row import announce_row_late
from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.single_row import (
    DONE,
    ROUNDS,
    TOTALS,
    learn_row,
    predict_row,
)
from aioli.states.mixture.survey import ColumnSurvey
from aioli.states.mixture.views import LONGEST, Views
from aioli.streams.rows import LABELS, Rows, as_logits, as_weights, is_logit

__all__ = ["DenseEnsemble"]

HEAVIEST = 1e6  # a weight that costs no expert its digits
IN_TIME = math.nan  # what the compiled loop is given in place of log-odds announced earlier


class DenseEnsemble(EnsembleState, Remembering, EnsembleRows):
    """Plays up to eleven AIOLI learners on views of the rows, and announces the log-odds of their mixture."""

    capabilities = EnsembleRows.capabilities | {Capability.GROWS, Capability.MIXES}

    def __init__(self, experts: int | None = None, budget: str = "usual") -> None:
        EnsembleRows.__init__(self)
        EnsembleState.__init__(self, experts, budget)

    # ---- one row

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing. O(K d²)."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes. O(K d²)."""
        z = self.logit_of_row(x) if type(x) is ndarray else None
        return float(self._logits(self._rows(x, single=True))[0]) if z is None else z

    def logit_of_row(self, x: Vector) -> float | None:
        """Return the log-odds of one row as if it came next; None where the row must go through the border."""
        if self._predicting is None:
            return None
        late = self._late
        try:
            if late is None:
                z = predict_row(*self._predicting, x)
            else:
                z = announce_row_late(
                    *self._predicting, late.numbers, late.experts, late.stacker, x, self._nothing.copy()
                )
        except TypeError:  # another type of number, or another layout
            return None
        return None if math.isnan(z) else z

    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes. O(K d²)."""
        if type(x) is ndarray:
            said = self._announce_row(x)
            if said is not None:
                return self._ledger.issue_one(self._totals.item(ROUNDS), *said)
        return super().announce(x)

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; returns the probability announced before the label. O(K d²).

        `weight`, `logit` and `announced` as in `AIOLI.learn`.
        """
        if weight == 1.0 and type(x) is ndarray:
            p: float | None = None
            if announced is None:
                p = self.learn_row(x, y, logit)
            elif logit is None:
                with contextlib.suppress(TypeError, KeyError):  # as in `learn_row`
                    p = self._learn_row_announced(x, LABELS[y], announced)
            if p is not None:
                return p
        return self._learn_one(x, y, weight, logit, announced)

    def learn_row(self, x: Vector, y: object, logit: float | None = None) -> float | None:
        """Learn from one row of weight 1 whose label comes in time, or that was announced with these log-odds.

        Return the probability announced; None, and nothing learned, where the row must go through the border.
        """
        learning = self._learning
        if learning is None or self.on_fixed_columns:
            return None
        try:
            label = LABELS[y]
            if self._late is not None:
                late = self._learn_row_late(x, label, self._nothing, math.nan, 0.0) if logit is None else None
                return None if late is None else late[0]
            if logit is not None and not is_logit(logit):
                return None
            said = IN_TIME if logit is None else logit
            outcome = learn_row(*learning, x, label, said, 0)
            while outcome >= 0:  # an expert would lose digits: its state is factored, and it goes on
                self.states[outcome].factor()
                outcome = learn_row(*learning, x, label, said, outcome)
        except (TypeError, KeyError):  # another type of number, another layout, or not a label
            return None
        if outcome != DONE:
            return None
        p: float = self._logits_of_row.item(-1)
        self._review_when_due()
        return p

    # ---- its life

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:
        """Leave columns whose missing numbers are marked as they are: the mark has a coefficient of its own."""

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(K d²)."""
        names_after = self._names_after_growing(columns, names)
        if self._views is not None:
            self._lay_out_wider(self._views.grown(columns))
        self._names = names_after
        return self

    def fix_columns(self, survey: ColumnSurvey) -> Self:
        """Read the columns as a survey says, from the first row on; return the ensemble."""
        self._fix_views(survey)
        return self

    def merge(self, other: Self, since: Self | None = None) -> Self:
        """Take in what another ensemble learned on the same fixed columns; `since` is counted once. O(K d³)."""
        ancestor = self._fresh_on_same_columns() if since is None else since
        for given in (self, other, ancestor):
            if not given.on_fixed_columns or given._late is not None:
                raise CapabilityMissing(
                    "these Auto learners do not merge: columns must be fixed (fix_columns), and no row announced; "
                    "otherwise each has scaled its columns by its own rows; merge AIOLI learners"
                )
        for given in (other, ancestor):
            if self._names_playing != given._names_playing or not self._sees_as(given):
                raise ParameterRefused(
                    "the learners read their columns by other surveys; give all shards copies of one learner",
                    parameter="other",
                )
        self._merge_states(other, ancestor)
        self._names = self._names or other._names
        return self

    def _fresh_on_same_columns(self) -> Self:
        fresh = type(self)(self.experts, self.budget)
        if self._views is not None:
            fresh._begin(self._views.width)
            fresh._lay_out_wider(self._views)
        return fresh

    def _sees_as(self, other: Self) -> bool:
        """Whether both read a row in the same way."""
        own, theirs = self._views, other._views
        return (
            own is not None
            and theirs is not None
            and np.array_equal(own.columns[:SAVED], theirs.columns[:SAVED])
            and np.array_equal(own.basis, theirs.basis)
        )

    def snapshot(self) -> Snapshot:
        """Return the budget of experts, those still playing and their states, the totals, the mixture and the views."""
        return self._ensemble_snapshot(self._names, self._ledger_part)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of("DenseEnsemble")
        learner = with_parameters(cls, with_budget(given))
        names = given.texts("playing") or []
        playing = [expert for expert in learner.invited if expert.name in names]
        if names[:1] != [learner.invited[0].name] or names != [expert.name for expert in playing]:
            raise SnapshotRefused(f"its experts are {names}, which experts={learner.experts} does not play")
        mixture = Mixture.restore(given.part("mixture"))
        if mixture.prior.size != len(playing):
            raise SnapshotRefused(f"{len(playing)} experts have {mixture.prior.size} shares of the mixture")
        learner._set_experts(playing, mixture)
        if "late" in given.parts:
            learner._late = LateMixture.restore(given.part("late"))
            if learner._late.shares.size != len(playing):
                raise SnapshotRefused(f"{len(playing)} experts have {learner._late.shares.size} shares of late labels")
        learner._totals[...] = given.totals("totals", (TOTALS,))
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

    def _logits(self, rows: Rows) -> Vector:
        return self._mixed(self._consult(rows))

    def _announce(self, rows: Rows) -> tuple[Vector, Matrix]:
        logits, kept = self._hear_announcements().announce(self._mixture, self._consult(rows))
        return logits, self._spread(kept)

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

    def _announce_checked(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Return the log-odds of rows that have passed the border, and their announcements' memory."""
        if len(X) == 1:
            said = self._announce_row(X[0])
            if said is not None:
                return np.array([said[0]]), said[1][None]
        return self._announce(Rows(X, intercept=False, widest=LONGEST))

    def _learn_row_announced(self, x: Vector, label: float, announced: Announcement) -> float | None:
        if self._learning is None or self._late is None or self.on_fixed_columns:
            return None
        if announced.logit != announced.logit:  # which would say that the row comes in time
            return None
        self._ledger.settle_one(announced)
        said: tuple[float, float] | None = None
        try:
            late = self._ledger.late_one(announced, self._totals.item(ROUNDS))
            said = self._learn_row_late(x, label, self._memory_of(announced.memory), announced.logit, late)
        finally:
            if said is None:
                self._ledger.reopen_one(announced)
        return None if said is None else said[0]
