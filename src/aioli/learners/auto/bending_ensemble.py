"""The linear experts of `Auto` together with companions that bend, heard as one."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import AnnouncementRefused, SnapshotRefused
from aioli.learners.announcements import Announcement, Delayed, Late
from aioli.learners.auto.companions import Companion
from aioli.learners.auto.dense_ensemble import HEAVIEST, DenseEnsemble
from aioli.learners.auto.ensemble_rows import EnsembleRows
from aioli.learners.auto.experts import Expert
from aioli.learners.auto.mixed_members import LINEAR, LateRows, MixedMembers
from aioli.learners.protocol import Capability
from aioli.learners.remembering import RemembersParts
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit, sigmoid, sigmoid_many
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.views import LONGEST
from aioli.streams.gap_marks import gaps_among
from aioli.streams.rows import LABELS, Rows, as_label, as_logits, as_weights, is_logit

__all__ = ["BendingEnsemble"]


class BendingEnsemble(RemembersParts, EnsembleRows):
    r"""A mixture of `DenseEnsemble` and of companions' members, by the mixture and stackers that it has itself.

    Each companion holds a prior share of $0.6/C$, divided among its members: what is announced loses at most
    $\ln\frac1{0.4} + \ln\frac1{0.4} + 1.11\ln\frac{n+9}{9}$ nats more than the linear experts alone, on any data.
    Companions that are not worth their time retire, and may begin anew (`learners.auto.auditions`). Where all have
    retired, the linear experts speak for themselves, and nothing else is paid for.

    Parameters
    ----------
    dense
        The linear experts.
    companions
        The others, none of which has learned from a row.
    """

    # without SAVES: the Auto that it is part of restores it
    capabilities = (EnsembleRows.capabilities | {Capability.GROWS, Capability.MIXES}) - {Capability.SAVES}

    def __init__(self, dense: DenseEnsemble, companions: Sequence[Companion]) -> None:
        EnsembleRows.__init__(self)
        self.dense = dense
        self._mixed = MixedMembers(companions)

    @property
    def companions(self) -> Sequence[Companion | None]:
        """The companions, None in place of one that has retired."""
        return self._mixed.companions

    # ---- one row

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes."""
        if type(x) is np.ndarray:
            z = self.dense.logit_of_row(x)
            if z is not None:
                return self._mixed.logit_of_row(x, z)
        return super().predict_logit(x)

    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes."""
        if isinstance(x, np.ndarray) and self._is_row(x):
            said = self.dense._announce_row(x)
            if said is not None:
                logits, memory = self._announce_with(x[None], np.array([said[0]]), said[1][None])
                return self._ledger.issue_one(self.rounds, logits.item(), memory[0])
        return super().announce(x)

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; returns the probability announced before the label.

        `weight`, `logit` and `announced` as in `AIOLI.learn`.
        """
        if weight == 1.0 and type(x) is np.ndarray:
            if announced is None and (logit is None or is_logit(logit)):
                p = self.dense.learn_row(x, y)
                if p is not None:
                    return sigmoid(self._mixed.learn_row(x, LABELS[y], finite_logit(p), logit, None, self.dense._late))
            elif announced is not None and logit is None and is_logit(announced.logit) and self._is_row(x):
                p_announced = self._learn_row_announced(x, as_label(y), announced)
                if p_announced is not None:
                    return p_announced
        return self._learn_one(x, y, weight, logit, announced)

    def _learn_row_announced(self, x: Vector, label: float, announced: Announcement) -> float | None:
        memory, width = announced.memory, self._mixed.memory_width
        if self.dense._learning is None or not self.dense.has_announced or memory is None or memory.size <= width:
            return None
        self._ledger.settle_one(announced)
        learned: tuple[float, float] | None = None
        delay = float(self._ledger.late_one(announced, self.rounds))
        try:
            own = self.dense._memory_of(np.ascontiguousarray(memory[width:]))  # refuses what is not its own
            learned = self.dense._learn_row_late(x, label, own, memory.item(0), delay)
        finally:
            if learned is None:  # no row, as the border will say
                self._ledger.reopen_one(announced)
        if learned is None:
            return None
        kept = np.ascontiguousarray(memory[:width])[None]
        row = LateRows(kept, np.array([delay]), np.array([learned[1]]))
        z = self._mixed.learn_row(x, label, memory.item(0), announced.logit, row, self.dense._late)
        return sigmoid(z)

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return the certificate of the linear experts, plus all that the whole lost more than they did."""
        own = self.dense.certificate(tight)
        theorem = own.theorem - math.log(LINEAR) - math.log(0.4) + 1.11 * math.log((self.rounds + 9.0) / 9.0)
        if self._mixed.any_late:
            theorem = math.inf
        return Certificate(own + (self.loss - self.dense.loss), own.radius, self.rounds, theorem, against=own.against)

    @property
    def certifying_expert(self) -> Expert:
        """The linear expert whose certificate is the ensemble's."""
        return self.dense.certifying_expert

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._mixed.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return self._mixed.loss

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return self.dense.n_features_

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert and each companion's member holds now: 0 if it has retired."""
        linear = self._mixed.linear_share
        return {name: linear * share for name, share in self.dense.weights_.items()} | self._mixed.shares

    # ---- its life

    def labels_come_late(self) -> None:
        """Tell the companions that labels come late to whoever this ensemble is a part of."""
        self._mixed.tell_companions()

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:
        """Tell the companions of columns whose missing numbers are marked, as `Companion.mark_gaps` says."""
        self._mixed.mark_gaps(gaps)

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        self.dense.grow(columns, names)
        self._mixed.grow(columns)
        self._set_names(names_after)
        return self

    def snapshot(self) -> Snapshot:
        """Return the linear experts, the companions that still play, and the mixture of them all."""
        parts = {"dense": self.dense.snapshot(), **self._mixed.parts(), **self._ledger_part}
        return Snapshot("BendingEnsemble", {"names": self._names}, self._mixed.arrays(), parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Refuse: which companions there are is known by whoever made the ensemble; see `recall`."""
        del snapshot
        raise SnapshotRefused("a BendingEnsemble is restored by the Auto that it is part of")

    def recall(self, snapshot: Snapshot) -> Self:
        """Take over what an ensemble of the same companions remembered; return this ensemble."""
        given = snapshot.of("BendingEnsemble")
        self.dense = DenseEnsemble.restore(given.part("dense"))
        self._mixed.recall(given)
        playing = [companion for companion in self.companions if companion is not None]
        if self.n_features_ is not None and not all(companion.fits(self.n_features_) for companion in playing):
            raise SnapshotRefused(
                f"in a BendingEnsemble, a companion read other rows than of {self.n_features_} columns"
            )
        self._take_names(given)
        return self

    def has_members_of(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot is of an ensemble of as many members."""
        known = snapshot.of("BendingEnsemble").part("combination").part("mixture").array("prior", (None,))
        return self._mixed.count == known.size

    # ---- within

    def _set_names(self, names: Sequence[str] | None) -> None:
        super()._set_names(names)
        self.mark_gaps(gaps_among(names))

    def _is_row(self, x: NDArray[np.generic]) -> bool:
        """Return whether x is one row as compiled code takes it: of float64, contiguous, and not read-only."""
        plain = type(x) is np.ndarray and x.dtype == np.float64 and x.ndim == 1 and x.flags.carray
        return plain and x.size == self.n_features_

    def _logits(self, rows: Rows) -> Vector:
        linear = self.dense._logits(rows)
        return np.concatenate([self._mixed.logits(chunk, linear[t : t + len(chunk)]) for t, chunk in rows])

    def _announce(self, rows: Rows) -> tuple[Vector, Matrix]:
        parts = [self._announce_with(chunk, *self.dense._announce_checked(chunk)) for _, chunk in rows]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([logits for logits, _ in parts]), np.concatenate([memory for _, memory in parts])

    def _announce_with(self, X: Matrix, linear: Vector, kept: Matrix) -> tuple[Vector, Matrix]:
        """Return the log-odds of rows and their announcements' memory, given those of the linear experts."""
        logits, kept_too = self._mixed.announce(X, linear)
        return logits, np.concatenate([kept_too, kept], axis=1)

    def _forget_announcing(self) -> None:
        self._mixed.forget_announcing()
        self.dense._forget_announcing()

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        late = as_logits(logits, len(rows))
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        return sigmoid_many(self._learn_rows(rows, labels, row_weights, late, None))

    def _answer(self, rows: Rows, labels: Vector, weights: object, delayed: Delayed) -> None:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        if delayed.memory.shape[1] <= self._mixed.memory_width:
            raise AnnouncementRefused("the announcements are of another kind of learner (nothing was learned)")
        self.dense._gather(delayed.memory[:, self._mixed.memory_width :])  # refuses what is not its own
        self._learn_rows(rows, labels, row_weights, delayed.logits, delayed)

    def _learn_rows(self, rows: Rows, labels: Vector, weights: Vector, late: Vector, delayed: Delayed | None) -> Vector:
        announced = np.empty(len(rows))
        for start, chunk in rows:
            first = 0
            while first < len(chunk):
                delays = None if delayed is None else delayed.late[start + first : start + len(chunk)]
                X = chunk[first : first + self._mixed.rows_at_once(delays)]
                part = slice(start + first, start + first + len(X))
                late_rows = None if delayed is None else delayed.of(part)
                announced[part] = self._learn_part(X, labels[part], weights[part], late[part], late_rows)
                first += len(X)
        return announced

    def _learn_part(self, X: Matrix, y: Vector, weights: Vector, late: Vector, delayed: Delayed | None) -> Vector:
        """Learn rows up to a review; return the log-odds announced, those of `late` where it is not NaN."""
        rows: LateRows | None = None
        if delayed is None:
            linear, now = self.dense._learn_checked(X, y, weights, None)
        else:
            width = self._mixed.memory_width
            kept, own = delayed.memory[:, :width].copy(), np.ascontiguousarray(delayed.memory[:, width:])
            linear, now = self.dense._learn_checked(X, y, weights, Delayed(kept[:, 0].copy(), own, delayed.late))
            rows = LateRows(kept, delayed.late, now)
        return self._mixed.learn(X, y, weights, linear, late, rows, self.dense._late)
