"""The linear experts of `Auto` together with companions that bend, heard as one."""

import copy
import itertools
import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import AnnouncementRefused, SnapshotRefused
from aioli.learners.announcements import Delayed, Late
from aioli.learners.auto.auditions import Auditions
from aioli.learners.auto.companions import Companion
from aioli.learners.auto.dense_ensemble import HEAVIEST, DenseEnsemble
from aioli.learners.auto.experts import Expert
from aioli.learners.base import RowsLearner
from aioli.learners.protocol import Capability
from aioli.learners.remembering import RemembersParts
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit, sigmoid, sigmoid_many, softplus_many
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.combination import Combination
from aioli.states.mixture.views import LONGEST
from aioli.streams.rows import LABELS, Rows, as_logits, as_weights, is_logit

__all__ = ["BendingEnsemble"]

LINEAR = 0.4  # prior share of the linear experts, which know most where rows are few


class BendingEnsemble(RemembersParts, RowsLearner[Rows]):
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
    capabilities = (RowsLearner.capabilities | {Capability.GROWS, Capability.MIXES}) - {Capability.SAVES}

    def __init__(self, dense: DenseEnsemble, companions: Sequence[Companion]) -> None:
        RowsLearner.__init__(self)
        self.dense = dense
        self.companions: list[Companion | None] = list(companions)  # None has retired
        self._fresh = copy.deepcopy(list(companions))
        self._names_of = [companion.names for companion in companions]
        shares = [(1.0 - LINEAR) / len(companions) / len(names) for names in self._names_of for _ in names]
        self._combination = Combination(np.array([LINEAR, *shares]))
        self._auditions = Auditions(self._members)

    # ---- one row

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes."""
        if isinstance(x, np.ndarray) and self._is_row(x):
            z = self.dense.predict_logit(x)  # refuses what is no row
            if self._linear_alone:
                return z
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
        p = self.dense.learn(x, y)  # refuses what is no row, or no label
        z, label, one = np.array([finite_logit(p)]), np.array([LABELS[y]]), np.ones(1)
        linear = softplus_many(np.where(label == 1.0, -z, z))
        if self._linear_alone:
            said = z
            self._auditions.losses[0] += linear[0]
        else:
            said = self._combination.answer(self._played(x[None], z, label, one), label, one)
        if logit is not None:
            said = np.array([logit])
        loss = softplus_many(np.where(label == 1.0, -said, said))
        if not self._linear_alone:
            self._auditions.count_gains(linear - loss, linear, one)
        self._auditions.count(loss, one, late=logit is not None)
        self._review_when_due()
        return sigmoid(said.item())

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return the certificate of the linear experts, plus all that the whole lost more than they did."""
        own = self.dense.certificate(tight)
        theorem = own.theorem - math.log(LINEAR) - math.log(0.4) + 1.11 * math.log((self.rounds + 9.0) / 9.0)
        if self._auditions.any_late:
            theorem = math.inf
        return Certificate(own + (self.loss - self.dense.loss), own.radius, self.rounds, theorem, against=own.against)

    @property
    def certifying_expert(self) -> Expert:
        """The linear expert whose certificate is the ensemble's."""
        return self.dense.certifying_expert

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._auditions.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return self._auditions.loss

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
        return Snapshot("BendingEnsemble", {"names": self._names}, self._auditions.arrays(), parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Refuse: which companions there are is known by whoever made the ensemble; see `recall`."""
        del snapshot
        raise SnapshotRefused("a BendingEnsemble is restored by the Auto that it is part of")

    def recall(self, snapshot: Snapshot) -> Self:
        """Take over what an ensemble of the same companions remembered; return this ensemble."""
        given = snapshot.of("BendingEnsemble")
        members = given.part("combination").part("mixture").array("prior", (None,)).size
        earlier = [companion for companion in self._fresh if not companion.joined_later]
        if members == 1 + sum(len(companion.names) for companion in earlier) < self._combination.members:
            BendingEnsemble.__init__(self, self.dense, earlier)  # a file from before the others were there
        self.dense = DenseEnsemble.restore(given.part("dense"))
        self._combination = Combination.restore(given.part("combination"), self._combination.members)
        self._auditions.recall(given)
        for i, companion in enumerate(self.companions):
            name = f"companion{i}"
            if companion is not None and name in given.parts:
                self.companions[i] = companion.recalled(given.part(name))
            else:
                self.companions[i] = None
        self._take_names(given)
        return self

    # ---- within

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=False, widest=LONGEST, width=self.n_features_, names=self._names, single=single)

    def _is_row(self, x: NDArray[np.generic]) -> bool:
        """Return whether x is one row as compiled code takes it: of float64, contiguous, and not read-only."""
        plain = type(x) is np.ndarray and x.dtype == np.float64 and x.ndim == 1 and x.flags.carray
        return plain and x.size == self.n_features_

    def _asked(self, X: Matrix, linear: Vector) -> Matrix:
        """Return the log-odds of every member, as if each row came next, given those of the linear experts."""
        parts = [linear[:, None]]
        for names, companion in zip(self._names_of, self.companions, strict=True):
            parts.append(np.zeros((len(X), len(names))) if companion is None else companion.consult(X))
        return _together(parts)

    def _played(self, X: Matrix, linear: Vector, y: Vector, weights: Vector) -> Matrix:
        """Let the companions learn the rows; return the log-odds of every member before the labels."""
        parts = [linear[:, None]]
        for names, companion in zip(self._names_of, self.companions, strict=True):
            parts.append(np.zeros((len(X), len(names))) if companion is None else companion.play(X, y, weights))
        Z = _together(parts)
        self._auditions.losses += weights @ softplus_many(np.where(y[:, None] == 1.0, -Z, Z))
        return Z

    def _consult(self, rows: Rows, linear: Vector) -> Matrix:
        return np.concatenate([self._asked(chunk, linear[start : start + len(chunk)]) for start, chunk in rows])

    @property
    def _linear_alone(self) -> bool:
        """Whether all companions have retired: then what the linear experts say is what is announced."""
        return all(companion is None for companion in self.companions)

    def _logits(self, rows: Rows) -> Vector:
        linear = self.dense._logits(rows)
        return linear if self._linear_alone else self._combination.logits(self._consult(rows, linear))

    def _announce(self, rows: Rows) -> tuple[Vector, Matrix]:
        linear, kept = self.dense._announce(rows)
        if self._linear_alone:  # should companions play when the label comes, the row counts as one not announced
            nothing = np.full((len(rows), self._combination.memory_width), math.nan)
            nothing[:, 0] = linear
            return linear, np.concatenate([nothing, kept], axis=1)
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
                here = slice(first, first + self._auditions.rows_to_review(self._linear_alone))
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
        alone = self._linear_alone
        linear_losses = softplus_many(np.where(y == 1.0, -linear, linear))
        if alone:
            said = linear
            self._auditions.losses[0] += weights @ linear_losses
        else:
            Z = self._played(X, linear, y, weights)
            said = self._combination.answer(Z, y, weights, kept, None if delayed is None else delayed.late)
        in_time = np.isnan(late)
        said = np.where(in_time, said, late)
        losses = softplus_many(np.where(y == 1.0, -said, said))
        if not alone:
            rows_late = None if delayed is None else delayed.late
            self._auditions.count_gains(linear_losses - losses, linear_losses, weights, rows_late)
        self._auditions.count(losses, weights, int(np.count_nonzero(~in_time)))
        self._review_when_due()
        return said

    def _review_when_due(self) -> None:
        """Retire companions that are not worth their time; let them begin anew much later, or when losses rise."""
        if not self._auditions.due(self._linear_alone):
            return
        if self._linear_alone:
            if self._auditions.begins_anew():
                self._begin_anew()
            return
        playing = [companion is not None for companion in self.companions]
        dismissed = [companion is not None and companion.dismissed for companion in self.companions]
        for leaving in self._auditions.retiring(playing, dismissed, self._combination.negligible()):
            self.companions[leaving] = None
            for member in self._members[leaving]:
                self._combination.retire(member)

    def _begin_anew(self) -> None:
        for i, members in enumerate(self._members):
            self.companions[i] = copy.deepcopy(self._fresh[i])
            for member in members:
                self._combination.revive(member, (1.0 - LINEAR) / len(self._members) / len(members))
        self._auditions.begin()

    @property
    def _members(self) -> list[list[int]]:
        """The places of each companion's members in the mixture, behind the linear experts'."""
        places = np.cumsum([1, *(len(names) for names in self._names_of)]).tolist()
        return [list(range(first, last)) for first, last in itertools.pairwise(places)]


def _together(parts: list[Matrix]) -> Matrix:
    """Return the log-odds of all members side by side: who says nothing of its own says what the first does."""
    Z = np.concatenate(parts, axis=1)
    return np.ascontiguousarray(np.where(np.isnan(Z), Z[:, :1], Z))
