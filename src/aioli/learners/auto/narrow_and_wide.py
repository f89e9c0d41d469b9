"""Plays rows of numbers and categories, or of columns that have become many: an ensemble and wide experts together."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Self, TypeAlias

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.announcements import Delayed
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.auto.experts import Expert
from aioli.learners.auto.wide_players import WidePlayers
from aioli.learners.base import RowsLearner
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_loops import MEMORY, PROMPT, WHOLE
from aioli.states.mixture.mixture import Mixture, mixture_cost
from aioli.states.mixture.mixture_loops import announce_rows, combine_rows
from aioli.states.mixture.views import LONGEST
from aioli.streams.gap_marks import gaps_among
from aioli.streams.rows import as_logits, as_weights
from aioli.streams.sparse_rows import SparseRows

__all__ = ["NarrowAndWide"]

NARROW = 128  # columns that have a place in states of d² numbers
# Of these, where rows begin with more: the first, which come most often; to the others wide experts do justice.
FEW = 64
HEAVIEST = 1e6  # a weight that costs no expert its digits
PRIOR = 64.0  # the ensemble's share of the mixture to begin with, where each of the others has 1
ALONE = 0.8  # the mixture's, beside its stackers: the ensemble's own have learned already what they could add to it
CERTAIN = 35.0  # log-odds beyond which nobody is heard
Narrow: TypeAlias = DenseEnsemble | BendingEnsemble


class NarrowAndWide(RowsLearner[SparseRows]):
    r"""Plays an ensemble on the first columns beside wide experts on all columns, and others on pairs of their values.

    The ensemble reads at most 128 columns, since its time goes with their square. Wide experts (`states.sparse`) read
    every column; others read the pairs of values that the ensemble's columns have in a row (`states.sparse.pairs`). A
    mixture of the three with stackers on top announces: it loses at most $\ln\frac{1.04}{0.8} + 1.11\ln\frac{n+9}{9}$
    nats more than the ensemble, on any data, and $\ln 64$ more than the others. O(K d² + T²) a row of T values.

    Parameters
    ----------
    narrow
        The ensemble; it may have learned already.
    paired
        Whether pairs play.
    """

    capabilities = RowsLearner.capabilities | {Capability.GROWS, Capability.MIXES, Capability.SPARSE_ROWS}

    def __init__(self, narrow: Narrow, paired: bool) -> None:
        super().__init__()
        self.narrow = narrow
        self._wides = WidePlayers(paired)
        self._mixture = Mixture(np.array([PRIOR, *np.ones(len(self._wides))]), ALONE)
        self._late: LateMixture | None = None  # from the first announcement on
        self._width: int | None = None
        self._loss = 0.0
        self._answered_late = 0
        self._own_memory = -1  # numbers that the ensemble keeps of an announcement; -1 before the first

    @classmethod
    def around(cls, narrow: Narrow) -> Self:
        """Return a player that goes on from what an ensemble has learned, and has room for any number of columns."""
        player = cls(narrow, paired=False)
        player._width, player._loss = narrow.n_features_, narrow.loss
        names, player._ledger = narrow.feature_names_, narrow._ledger
        narrow.feature_names_ = None
        player._set_names(names)
        player._wides.make_room(player._width or 0)
        return player

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret against every fixed linear model of a ball, of the columns that the ensemble reads.

        It is the ensemble's, and all that the whole lost more than the ensemble.
        """
        own = self.narrow.certificate(tight)
        theorem = own.theorem + mixture_cost(self.rounds, PRIOR / (PRIOR + len(self._wides)), self._mixture.alone)
        if self._answered_late or (self._late is not None and self._late.awake):
            theorem = math.inf
        nats = own + (self._loss - self.narrow.loss)
        return Certificate(nats, own.radius, self.rounds, theorem, against=own.against)

    @property
    def certifying_expert(self) -> Expert:
        """The expert of the ensemble whose certificate is the whole's."""
        return self.narrow.certifying_expert

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self.narrow.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return self._loss

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return self._width

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now: its share of its player, and the player's of the whole."""
        heard = self._late if self._late is not None and self._late.awake else self._mixture
        narrow, *wides = heard.shares.tolist()
        shares = {name: narrow * share for name, share in self.narrow.weights_.items()}
        for share, held in zip(wides, self._wides.shares, strict=True):
            shares |= {name: share * own for name, own in held.items()}
        return shares

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        if self._width is not None:
            known, self._width = self._width, self._width + columns
            if self.narrow.n_features_ == known < NARROW:
                self.narrow.grow(min(self._width, NARROW) - known)
            self._wides.make_room(self._width)
        self._set_names(names_after)
        return self

    def snapshot(self) -> Snapshot:
        """Return the width and the loss, and what the players, their mixture and the pairs remember."""
        values: dict[str, Plain] = {
            "names": self._names,
            "width": self._width,
            "loss": self._loss,
            "answered_late": self._answered_late,
            "own_memory": self._own_memory,
        }
        parts = {
            "narrow": self.narrow.snapshot(),
            **self._wides.parts,
            "mixture": self._mixture.snapshot(),
            **self._ledger_part,
        }
        if self._late is not None:
            parts["late"] = self._late.snapshot()
        return Snapshot("NarrowAndWide", values, parts=parts)

    def recall(self, snapshot: Snapshot) -> Self:
        """Remember all that a snapshot holds but the ensemble's own, which is there; return the player itself."""
        given = snapshot.of("NarrowAndWide")
        self._mixture = Mixture.restore(given.part("mixture"))
        self._width = given.optional_whole("width")
        if self._mixture.shares.size != 1 + len(self._wides):
            raise SnapshotRefused("in a NarrowAndWide, the players have other shares than there are players")
        self._wides.recall(given, self._width)
        if "late" in given.parts:
            self._late = LateMixture.restore(given.part("late"))
        self._loss, self._answered_late = given.number("loss"), given.whole("answered_late")
        self._own_memory = given.whole("own_memory", least=-1)
        self._take_names(given)
        return self

    # ---- within

    def _set_names(self, names: Sequence[str] | None) -> None:
        super()._set_names(names)
        width = self.narrow.n_features_ or NARROW
        self.narrow.mark_gaps([pair for pair in gaps_among(names) if max(pair) < width])

    def _rows(self, X: object, single: bool = False) -> SparseRows:
        rows = SparseRows(X, intercept=False, widest=LONGEST, width=self._width, names=self._names, single=single)
        # what the ensemble refuses is refused before anybody learns; rows half as long as that it never refuses
        if not (rows.norms <= 0.5 * LONGEST).all():
            self.narrow._rows(self._first_columns(rows))
        return rows

    def _first_columns(self, rows: SparseRows) -> Matrix:
        width = self.narrow.n_features_ or (rows.width if rows.width <= NARROW else FEW)
        return rows.first_columns(width)

    def _begin(self, rows: SparseRows) -> None:
        if self._width is None:
            self._width = rows.width
            self._wides.make_room(self._width)

    def _logits(self, rows: SparseRows) -> Vector:
        Z = np.zeros((len(rows), 1 + len(self._wides)))
        if self._width is not None:
            first = self._first_columns(rows)
            one = len(rows) == 1  # a single row takes a short way
            Z[:, 0] = self.narrow.predict_logit(first[0]) if one else self.narrow.predict_logit_many(first)
            Z[:, 1:] = self._wides.predict(rows, first)
        Z = np.clip(Z, -CERTAIN, CERTAIN)
        if self._late is not None:
            return self._late.announce(self._mixture, Z)[0]
        out = np.empty(len(rows))
        announce_rows(self._mixture.buffer.copy(), Z, out)
        return out

    def _learn(self, rows: SparseRows, labels: Vector, weights: object, logits: object) -> Vector:
        row_weights, late = as_weights(weights, rows, LONGEST, HEAVIEST), as_logits(logits, len(rows))
        first = self._first_columns(rows)
        self._begin(rows)
        if len(rows) == 1:  # which takes a short way
            p = np.array([self.narrow.learn(first[0], labels[0], row_weights.item())])
        else:
            p = self.narrow.learn_many(first, labels, row_weights)
        with np.errstate(divide="ignore"):  # a probability of 0 or 1 is bounded below
            own = np.log(p) - np.log1p(-p)
        Z = np.clip(np.column_stack([own, self._wides.learn(rows, first, labels, row_weights)]), -CERTAIN, CERTAIN)
        z = np.empty(len(rows))
        if self._late is None:
            combine_rows(self._mixture.buffer, np.ascontiguousarray(Z), labels, row_weights, z)
        else:
            kept = np.full((len(rows), Z.shape[1] + MEMORY), math.nan)
            awake = self._late.awake
            self._late.answer(self._mixture, np.ascontiguousarray(Z), labels, row_weights, kept, np.zeros(len(rows)))
            z = kept[:, Z.shape[1] + (WHOLE if awake else PROMPT)]
        self._answered_late += int(np.count_nonzero(~np.isnan(late)))
        z = np.where(np.isnan(late), z, late)
        self._count(z, labels, row_weights)
        return sigmoid_many(z)

    def _count(self, z: Vector, labels: Vector, weights: Vector) -> None:
        self._loss += float(weights @ softplus_many(np.where(labels == 1.0, -z, z)))

    def _announce(self, rows: SparseRows) -> tuple[Vector, Matrix]:
        self._begin(rows)
        first = self._first_columns(rows)
        own, own_kept = self.narrow._announce_within(first)
        self._own_memory = own_kept.shape[1]
        Z = np.empty((len(rows), 1 + len(self._wides)))
        Z[:, 0] = own
        Z[:, 1:], kepts = self._wides.announce(rows, first)
        Z = np.clip(Z, -CERTAIN, CERTAIN)
        if self._late is None:
            self._late = LateMixture(self._mixture.prior, self._mixture.shares)
        logits, kept = self._late.announce(self._mixture, Z)
        return logits, np.hstack([own_kept, *kepts, kept, Z])

    def _answer(self, rows: SparseRows, labels: Vector, weights: object, delayed: Delayed) -> None:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        first, memory, late = self._first_columns(rows), delayed.memory, delayed.late
        sizes = self._wides.memory_sizes
        players = 1 + len(self._wides)
        own = memory.shape[1] - sum(sizes) - players - MEMORY - players
        before = own != self._own_memory  # announced by the ensemble, before there were wide players
        self._begin(rows)
        Z = np.clip(memory[:, memory.shape[1] - players :], -CERTAIN, CERTAIN)
        own_logits = delayed.logits if before else np.ascontiguousarray(Z[:, 0])
        own_memory = np.ascontiguousarray(memory if before else memory[:, :own])
        self.narrow._learn_within(first, labels, row_weights, Delayed(own_logits, own_memory, late))
        ends = np.cumsum([max(own, 0), *sizes])
        if before or self._late is None:
            said = self._wides.learn(rows, first, labels, row_weights)
            heard = np.clip(np.column_stack([own_logits, said]), -CERTAIN, CERTAIN)
            combine_rows(self._mixture.buffer, np.ascontiguousarray(heard), labels, row_weights, np.empty(len(rows)))
        else:
            kepts = [memory[:, begin:end] for begin, end in pairwise(ends.tolist())]
            self._wides.learn(rows, first, labels, row_weights, (kepts, late))
            top = np.ascontiguousarray(memory[:, ends[-1] : ends[-1] + players + MEMORY])
            self._late.answer(self._mixture, np.ascontiguousarray(Z), labels, row_weights, top, late)
        self._answered_late += len(rows)
        self._count(delayed.logits, labels, row_weights)

    def _forget_announcing(self) -> None:
        self._late, self._own_memory = None, -1
        self._wides.forget_announcing()
        self.narrow._forget_announcing()
        if not self.rounds:
            self._width = None
            self._wides.begin_again()
