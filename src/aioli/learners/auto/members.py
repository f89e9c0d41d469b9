"""The members of Auto's mixture: the linear experts as one, and behind them what each companion says."""

import copy
import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from aioli.learners.auto.companions import Companion
from aioli.learners.auto.prepared_row import PreparedRow, fill_abstentions
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.threads import do_all, one_blas_thread
from aioli.snapshots.tree import Snapshot

__all__ = ["Members"]

MANY = 64  # rows from which a thread for each companion costs nothing beside what companions do


class Members:
    """Hold the companions that play, and the places of what they say in the mixture; place 0 is the linear experts'.

    Parameters
    ----------
    companions
        None of which has learned from a row.
    """

    _row: PreparedRow | None  # through which single rows are learned
    _spare: list[PreparedRow | None]  # with which no thread predicts; in a copy, None stands for each

    def __init__(self, companions: Sequence[Companion]) -> None:
        self.companions: list[Companion | None] = list(companions)  # None has retired
        self.fresh = copy.deepcopy(list(companions))
        self.names = [companion.names for companion in companions]
        ends = list(itertools.accumulate(map(len, self.names), initial=1))
        self.count = ends[-1]  # of the members, the linear experts among them
        self._parts = [slice(first, last) for first, last in itertools.pairwise(ends)]
        self._forget_prepared()

    @property
    def places(self) -> list[list[int]]:
        """The places of each companion's members."""
        return [list(range(part.start, part.stop)) for part in self._parts]

    @property
    def none_plays(self) -> bool:
        """Whether all companions have retired: then what the linear experts say is what is announced."""
        return self.companions.count(None) == len(self.companions)

    def prior(self, linear: float) -> Vector:
        """Return the share of each member before the first row, given that of the linear experts."""
        parts = [(1.0 - linear) / len(self.names) / len(names) for names in self.names for _ in names]
        return np.array([linear, *parts])

    def consult(self, X: Matrix, linear: Vector) -> Matrix:
        """Return the log-odds of every member, as if each row came next, given those of the linear experts."""
        if len(X) == 1:
            return self.consult_row(X[0], linear.item())
        return self._heard(linear, lambda companion: companion.consult(X))

    def consult_row(self, x: Vector, linear: float) -> Matrix:
        """Return the log-odds of every member, as if the row came next, given those of the linear experts.

        Each thread takes a prepared row of its own, and hands it back.
        """
        spare = self._spare  # a list that is replaced takes back what nobody will use
        try:
            row = spare.pop()
        except IndexError:
            row = None
        if row is None or row.width != x.size:  # before the first label, rows of any width may be asked about
            row = PreparedRow(x.size, self.companions, self._parts, learned=False)
        row.hear(x, linear, math.nan)
        Z = row.Z.copy()
        spare.append(row)
        return Z

    def play(self, X: Matrix, linear: Vector, y: Vector, weights: Vector) -> Matrix:
        """Let the companions learn the rows; return the log-odds of every member before the labels.

        Those of a single row are overwritten by the next.
        """
        if len(X) == 1 and weights[0] == 1.0:
            return self.play_row(X[0], linear.item(), y.item()).Z
        return self._heard(linear, lambda companion: companion.play(X, y, weights))

    def play_row(self, x: Vector, linear: float, y: float) -> PreparedRow:
        """Let the companions learn a row of weight 1; return what every member said of it before the label."""
        if self._row is None or self._row.width != x.size:
            self._row = PreparedRow(x.size, self.companions, self._parts, learned=True)
        self._row.hear(x, linear, y)
        return self._row

    def _forget_prepared(self) -> None:
        """Let prepared rows go, since a companion joins, leaves or grows."""
        self._row, self._spare = None, []

    def _heard(self, linear: Vector, say: Callable[[Companion], Matrix]) -> Matrix:
        """Return the log-odds of every member, given those of the linear experts.

        Companions know nothing of each other: each has a thread where rows are many and cores are free, which changes
        no bit of what is said or learned.
        """
        Z = np.zeros((len(linear), self.count))
        Z[:, 0] = linear

        def hear(part: slice, companion: Companion) -> None:
            Z[:, part] = say(companion)

        many = len(linear) >= MANY
        tasks: list[Callable[[], None]] = []
        for part, companion in zip(self._parts, self.companions, strict=True):
            if companion is None:
                continue
            if many and not companion.in_callers_thread:
                tasks.append(partial(hear, part, companion))
            else:
                hear(part, companion)
        if tasks:
            with one_blas_thread():  # asked for by the caller: of several threads, BLAS listens to the first
                do_all(tasks)
        fill_abstentions(Z)
        return Z

    def grow(self, columns: int) -> None:
        """Make room for new columns, 0 in all rows so far."""
        self._forget_prepared()
        for companion in self.companions:
            if companion is not None:
                companion.grow(columns)

    def retire(self, companion: int) -> None:
        """Let the companion of this number play no more."""
        self.companions[companion] = None
        self._forget_prepared()

    def begin_anew(self, companions: Sequence[int]) -> None:
        """Let companions that do not play do so, as if they had seen no row."""
        for i in companions:
            self.companions[i] = copy.deepcopy(self.fresh[i])
        self._forget_prepared()

    def snapshots(self) -> dict[str, Snapshot]:
        """Return what each companion that plays remembers."""
        playing = ((i, companion) for i, companion in enumerate(self.companions) if companion is not None)
        return {f"companion{i}": companion.snapshot() for i, companion in playing}

    def recall(self, snapshot: Snapshot) -> None:
        """Let companions go on from what they remembered; those of which there is nothing do not play."""
        self._forget_prepared()
        for i, companion in enumerate(self.fresh):
            part = snapshot.parts.get(f"companion{i}")
            self.companions[i] = None if part is None else companion.recalled(part)
