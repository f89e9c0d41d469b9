"""The linear experts of `Auto` together with companions that bend, heard as one."""

import copy
import itertools
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import AnnouncementRefused, SnapshotRefused
from aioli.learners.announcements import Delayed, Late
from aioli.learners.auto.companions import Companion, ForestCompanion, KernelCompanion
from aioli.learners.auto.dense_ensemble import HEAVIEST, DenseEnsemble
from aioli.learners.auto.experts import Expert
from aioli.learners.auto.guests import GuestCompanion
from aioli.learners.base import RowsLearner
from aioli.learners.protocol import Capability
from aioli.learners.remembering import RemembersParts
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit, sigmoid, sigmoid_many, softplus, softplus_many
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.combination import Combination
from aioli.states.mixture.views import LONGEST
from aioli.streams.rows import LABELS, Rows, as_logits, as_weights, is_logit

__all__ = ["BendingEnsemble"]

LINEAR = 0.4  # prior share of the linear experts, which know most where rows are few
REVIEW = 1024  # rows after which a companion may retire
AUDITION, TRIAL = 2, 4  # reviews that a companion has at the least, and until all must have saved something
WORTH = 0.002  # of the linear experts' loss that all companions together must save, or else
PROMISE = 0.1  # above it, at the end of the audition, a companion's best member may still be; less and less later
AGAIN = 64  # times as many rows, and those who retired begin a new audition
RISE, LEAST_RISE = 1.5, 0.01  # of the linear experts' loss, beside what it was since: then they do so at once
ROUNDS, LOSS, LATE, GAIN, SAVED, LINEAR_LOSS, BEGUN, RETIRED, CALM = range(9)  # of what is counted
KINDS = {kind.__name__: kind for kind in (ForestCompanion, KernelCompanion, GuestCompanion)}


class BendingEnsemble(RemembersParts, RowsLearner[Rows]):
    r"""A mixture of `DenseEnsemble` and of companions' members, by the mixture and stackers that it has itself.

    Each companion holds a prior share of $0.6/C$, divided among its members: what is announced loses at most
    $\ln\frac1{0.4} + \ln\frac1{0.4} + 1.11\ln\frac{n+9}{9}$ nats more than the linear experts alone, on any data. A
    companion retires that has no influence at two reviews running, or is still behind the linear experts while the
    whole is hardly better than they are, and all do if they have saved nothing in four reviews: what has retired costs
    nothing. Where all have retired they begin anew when the linear experts' loss rises, or when 64 times as many rows
    have come.

    Parameters
    ----------
    dense
        The linear experts.
    companions
        The others, none of which has learned from a row.
    """

    # without SAVES: the Auto that it is part of restores it
    capabilities = (RowsLearner.capabilities | {Capability.GROWS, Capability.MIXES}) - {Capability.SAVES}

    def __init__(self, dense: DenseEnsemble, companions: Sequence[Companion]) -> None:
        RowsLearner.__init__(self)
        self.dense = dense
        self.companions: list[Companion | None] = list(companions)  # None has retired
        self._fresh = copy.deepcopy(list(companions))
        self._names_of = [companion.names for companion in companions]
        shares = [(1.0 - LINEAR) / len(companions) / len(names) for names in self._names_of for _ in names]
        self._combination = Combination(np.array([LINEAR, *shares]))
        self._totals: Vector = np.zeros(9)
        self._losses: Vector = np.zeros(self._combination.members)  # of every member, since the last review
        self._silent = np.zeros(len(companions))  # at the last review

    # ---- one row

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes."""
        if isinstance(x, np.ndarray) and self._is_row(x):
            z = self.dense.predict_logit(x)  # refuses what is no row
            return self._combination.logits(self._asked(x[None], np.array([z]))).item()
        return super().predict_logit(x)

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; returns the probability announced before the label.

        `weight`, `logit` and `announced` as in `AIOLI.learn`.
        """
        plain = weight == 1.0 and announced is None and (logit is None or is_logit(logit))
        if not plain or not isinstance(x, np.ndarray) or not self._is_row(x):
            return self._learn_one(x, y, weight, logit, announced)
        z = finite_logit(self.dense.learn(x, y))  # refuses what is no row, or no label
        label, one = np.array([LABELS[y]]), np.ones(1)
        said = self._combination.answer(self._played(x[None], np.array([z]), label, one), label, one).item()
        if logit is not None:
            said = logit
            self._totals[LATE] += 1.0
        self._totals[ROUNDS] += 1.0
        self._totals[LOSS] += softplus(-said if label[0] else said)
        self._review_when_due()
        return sigmoid(said)

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return the certificate of the linear experts, plus all that the whole lost more than they did."""
        own = self.dense.certificate(tight)
        theorem = own.theorem - math.log(LINEAR) - math.log(0.4) + 1.11 * math.log((self.rounds + 9.0) / 9.0)
        if self._totals[LATE]:
            theorem = math.inf
        return Certificate(own + (self.loss - self.dense.loss), own.radius, self.rounds, theorem, against=own.against)

    @property
    def certifying_expert(self) -> Expert:
        """The linear expert whose certificate is the ensemble's."""
        return self.dense.certifying_expert

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
        return self.dense.n_features_

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert and each companion's member holds now: 0 if it has retired."""
        linear, *others = self._combination.shares.tolist()
        names = [name for names in self._names_of for name in names]
        return {name: linear * share for name, share in self.dense.weights_.items()} | dict(
            zip(names, others, strict=True)
        )

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        self.dense.grow(columns, names)
        self._names = names_after
        for companion in self.companions:
            if companion is not None:
                companion.grow(columns)
        return self

    def snapshot(self) -> Snapshot:
        """Return the linear experts, the companions that still play, and the mixture of them all."""
        parts = {"dense": self.dense.snapshot(), "combination": self._combination.snapshot(), **self._ledger_part}
        for i, companion in enumerate(self.companions):
            if companion is not None:
                parts[f"companion{i}"] = companion.snapshot()
        arrays = {"totals": self._totals.copy(), "losses": self._losses.copy(), "silent": self._silent.copy()}
        return Snapshot("BendingEnsemble", {"names": self._names}, arrays, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Refuse: which companions there are is known by whoever made the ensemble; see `recall`."""
        del snapshot
        raise SnapshotRefused("a BendingEnsemble is restored by the Auto that it is part of")

    def recall(self, snapshot: Snapshot) -> Self:
        """Take over what an ensemble of the same companions remembered; return this ensemble."""
        given = snapshot.of("BendingEnsemble")
        self.dense = DenseEnsemble.restore(given.part("dense"))
        self._combination = Combination.restore(given.part("combination"), self._combination.members)
        self._totals[...] = given.array("totals", self._totals.shape)
        self._losses[...] = given.array("losses", self._losses.shape)
        self._silent[...] = given.array("silent", self._silent.shape)
        for i, companion in enumerate(self.companions):
            name = f"companion{i}"
            if companion is not None and name in given.parts:
                self.companions[i] = KINDS[type(companion).__name__].restore(given.part(name))
            else:
                self.companions[i] = None
        self._take_names(given)
        return self

    # ---- within

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=False, widest=LONGEST, width=self.n_features_, names=self._names, single=single)

    def _is_row(self, x: NDArray[Any]) -> bool:
        """Return whether x is one row as compiled code takes it: of float64, contiguous, and not read-only."""
        plain = type(x) is np.ndarray and x.dtype == np.float64 and x.ndim == 1 and x.flags.carray
        return plain and x.size == self.n_features_

    def _asked(self, X: Matrix, linear: Vector) -> Matrix:
        """Return the log-odds of every member, as if each row came next, given those of the linear experts."""
        parts = [linear[:, None]]
        for names, companion in zip(self._names_of, self.companions, strict=True):
            parts.append(np.zeros((len(X), len(names))) if companion is None else companion.consult(X))
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def _played(self, X: Matrix, linear: Vector, y: Vector, weights: Vector) -> Matrix:
        """Let the companions learn the rows; return the log-odds of every member before the labels."""
        parts = [linear[:, None]]
        for names, companion in zip(self._names_of, self.companions, strict=True):
            parts.append(np.zeros((len(X), len(names))) if companion is None else companion.play(X, y, weights))
        Z = np.ascontiguousarray(np.concatenate(parts, axis=1))
        self._losses += weights @ softplus_many(np.where(y[:, None] == 1.0, -Z, Z))
        return Z

    def _consult(self, rows: Rows, linear: Vector) -> Matrix:
        return np.concatenate([self._asked(chunk, linear[start : start + len(chunk)]) for start, chunk in rows])

    def _logits(self, rows: Rows) -> Vector:
        return self._combination.logits(self._consult(rows, self.dense._logits(rows)))

    def _announce(self, rows: Rows) -> tuple[Vector, Matrix]:
        linear, kept = self.dense._announce(rows)
        logits, kept_too = self._combination.announce(self._consult(rows, linear))
        return logits, np.concatenate([kept_too, kept], axis=1)

    def _forget_announcing(self) -> None:
        self._combination.forget_announcing()
        self.dense._forget_announcing()

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        late = as_logits(logits, len(rows))
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        return sigmoid_many(self._learn_rows(rows, labels, row_weights, late, None))

    def _answer(self, rows: Rows, labels: Vector, weights: object, delayed: Delayed) -> None:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        if delayed.memory.shape[1] <= self._combination.memory_width:
            raise AnnouncementRefused("the announcements are of another kind of learner (nothing was learned)")
        self.dense._gather(delayed.memory[:, self._combination.memory_width :])  # refuses what is not its own
        self._learn_rows(rows, labels, row_weights, delayed.logits, delayed)

    def _learn_rows(self, rows: Rows, labels: Vector, weights: Vector, late: Vector, delayed: Delayed | None) -> Vector:
        announced = np.empty(len(rows))
        for start, chunk in rows:
            first = 0
            while first < len(chunk):
                here = slice(first, first + REVIEW - self.rounds % REVIEW)
                X = chunk[here]
                part = slice(start + first, start + first + len(X))
                late_rows = None if delayed is None else delayed.of(part)
                announced[part] = self._learn_part(X, labels[part], weights[part], late[part], late_rows)
                first += len(X)
        return announced

    def _learn_part(self, X: Matrix, y: Vector, weights: Vector, late: Vector, delayed: Delayed | None) -> Vector:
        """Learn rows up to a review; return the log-odds announced, those of `late` where it is not NaN."""
        rows = Rows(X, intercept=False, widest=LONGEST)
        kept = None
        if delayed is None:
            linear = np.empty(len(X))
            self.dense._learn_rows(rows, y, weights, np.full(len(X), math.nan), linear, None)
        else:
            kept = np.ascontiguousarray(delayed.memory[:, : self._combination.memory_width])
            own = np.ascontiguousarray(delayed.memory[:, self._combination.memory_width :])
            linear = kept[:, 0].copy()
            self.dense._answer(rows, y, weights, Delayed(linear, own, delayed.late))
        Z = self._played(X, linear, y, weights)
        said = self._combination.answer(Z, y, weights, kept, None if delayed is None else delayed.late)
        in_time = np.isnan(late)
        said = np.where(in_time, said, late)
        losses = softplus_many(np.where(y == 1.0, -said, said))
        self._totals[: LATE + 1] += np.array([len(y), weights @ losses, np.count_nonzero(~in_time)])
        self._review_when_due()
        return said

    def _review_when_due(self) -> None:
        """Retire companions that nobody hears, or all where they save nothing; let them begin anew much later."""
        totals = self._totals
        if totals.item(ROUNDS) % REVIEW:
            return
        if not any(companion is not None for companion in self.companions):
            now, reviews = self._losses[0] / REVIEW, (totals[ROUNDS] - totals[RETIRED]) / REVIEW
            risen = now > RISE * totals[CALM] + LEAST_RISE
            totals[CALM] += (now - totals[CALM]) / (reviews + 1.0)
            self._losses[:] = 0.0
            if risen or totals[ROUNDS] >= AGAIN * totals[RETIRED]:
                self._begin_anew()
            return
        gain = self.dense.loss - self.loss
        reviews = (totals[ROUNDS] - totals[BEGUN]) / REVIEW
        linear = self._losses[0]
        nothing_saved = gain - totals[GAIN] < WORTH * linear
        totals[SAVED] += gain - totals[GAIN]
        totals[LINEAR_LOSS] += linear
        in_vain = reviews >= TRIAL and totals[SAVED] < WORTH * totals[LINEAR_LOSS]
        unheard = self._combination.negligible()
        for i, companion in enumerate(self.companions):
            if companion is not None and companion.dismissed:
                self._retire(i)
        for i, members in enumerate(self._members):
            silent = bool(unheard[members].all())
            hopeless = self._losses[members].min() > (1.0 + PROMISE * AUDITION / reviews) * linear
            useless = (nothing_saved and (hopeless or in_vain)) or (silent and self._silent[i])
            if reviews >= AUDITION and useless and self.companions[i] is not None:
                self._retire(i)
            self._silent[i] = silent
        totals[CALM] = linear / REVIEW
        totals[GAIN], self._losses[:] = gain, 0.0

    def _begin_anew(self) -> None:
        for i, members in enumerate(self._members):
            self.companions[i] = copy.deepcopy(self._fresh[i])
            for member in members:
                self._combination.revive(member, (1.0 - LINEAR) / len(self._members) / len(members))
        self._silent[:] = 0.0
        self._totals[BEGUN], self._totals[GAIN] = self._totals[ROUNDS], self.dense.loss - self.loss
        self._totals[SAVED] = self._totals[LINEAR_LOSS] = 0.0
        self._losses[:] = 0.0

    @property
    def _members(self) -> list[list[int]]:
        """The places of each companion's members in the mixture, behind the linear experts'."""
        places = np.cumsum([1, *(len(names) for names in self._names_of)]).tolist()
        return [list(range(first, last)) for first, last in itertools.pairwise(places)]

    def _retire(self, companion: int) -> None:
        self.companions[companion] = None
        self._totals[RETIRED] = max(self._totals[ROUNDS], 1.0)
        for member in self._members[companion]:
            self._combination.retire(member)
