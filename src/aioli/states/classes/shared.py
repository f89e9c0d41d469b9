"""A softmax learner with one precision matrix for all classes: the best value for its cost, an expert, never alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, bound
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.shared_loops import BLOCK, consult_rows, play_block, play_rows
from aioli.states.classes.shared_waiting import (
    COUNTS,
    HELD,
    LOWER,
    ROWS,
    WAITING,
    consult_waiting,
    end_waiting,
    play_waiting,
)
from aioli.states.dense.state import State

__all__ = ["FEWEST", "SharedSpec", "SharedState"]

BLOCK_WIDTH = 64  # features from which blocks of rows beat one row after the other
FEWEST = 8  # rows that are worth a block


@dataclass(frozen=True)
class SharedSpec:
    """Hold the parameters of a shared game: ridge λ, radius B of the curvature, and what is kept each row, ρ.

    `unseen` counts the last classes that stand for those which nobody has seen: 1 or 0.
    """

    ridge: float = 0.1
    radius: float = 3.0
    forgetting: float = 1.0
    unseen: int = 0

    @property
    def rules(self) -> Vector:
        """The parameters, as the compiled loops read them."""
        return np.array([self.ridge, self.radius, self.forgetting, float(self.unseen)])


class SharedState:
    r"""Holds P = A⁻¹, d × d, for all classes, and W, one line of coefficients a class: O(d² + Kd) numbers, and a row.

    Rows of 64 features and more forget after every 64 rows what narrower ones forget row by row. Where they come one by
    one, what they take from P waits in S, and P may hold its lower triangle only (`shared_waiting`).

    No bound is proven for it, since one curvature cannot lie below the loss in every contrast of classes; but nothing
    is as good at this price. A further class begins with coefficients of 0, which is exact: P does not know of classes.
    """

    def __init__(self, spec: SharedSpec, width: int, classes: int) -> None:
        self.spec = spec
        self._rules = spec.rules
        self.counts: Codes = np.zeros(COUNTS, np.int64)
        self.P: Matrix = np.eye(width) / spec.ridge
        self.S: Matrix = np.zeros((WAITING if width >= BLOCK_WIDTH else 0, width))
        self.W: Matrix = np.zeros((classes, width))

    @property
    def width(self) -> int:
        """How many features a row has."""
        return len(self.P)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.W)

    @property
    def rows(self) -> int:
        """How many wide rows were played so far: forgetting waits for the end of a block of them."""
        return int(self.counts[ROWS])

    @property
    def waiting(self) -> Matrix:
        """What single wide rows have yet to take from P: one line a row."""
        return self.S[: self.counts[HELD]]

    def play(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        """Play the rows in order; `out` receives the logarithms of the probabilities before each label.

        Wide rows are played in blocks: one product with P for all of them, the same game but for rounding. The caller
        keeps BLAS to one thread.
        """
        if self.width < BLOCK_WIDTH:
            play_rows(self.P, self.W, self._rules, X, codes, weights, out)
            return
        first = 0
        while first < len(X):
            part = slice(first, first + BLOCK - self.rows % BLOCK)
            self._play_part(X[part], codes[part], weights[part], out[part])
            first += len(X[part])

    def prepared(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the one row that these arrays hold."""
        if self.width < BLOCK_WIDTH:
            return bound(play_rows, self.P, self.W, self._rules, X, codes, weights, out)
        return bound(play_waiting, self.P, self.W, self.S, self.counts, self._rules, X, codes, weights, out)

    def _play_part(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        """Play a block of wide rows, or the few that are there of it; forget where it ends."""
        if len(X) < FEWEST:
            self.prepared(X, codes, weights, out)()
            return
        end_waiting(self.P, self.S, self.counts)
        K = X @ self.P
        A, S = np.empty((len(X), self.classes)), np.empty_like(X)
        play_block(K, K @ X.T, X @ self.W.T, A, self._rules, X, codes, weights, out, S)
        self.P -= S.T @ S  # NumPy computes a matrix by its own transpose as exactly symmetric
        self.W -= A.T @ K
        self.counts[ROWS] += len(X)
        if self.spec.forgetting < 1.0 and not self.rows % BLOCK:
            rho = self.spec.forgetting**BLOCK
            self.P *= rho
            self.P[np.diag_indices(self.width)] += (1.0 - rho) / self.spec.ridge

    def consult(self, X: Matrix, out: Matrix) -> None:
        """Write the logarithms of the probabilities of rows, each as if it came next; changes nothing."""
        if self.width < BLOCK_WIDTH:
            consult_rows(self.P, self.W, X, out)
        else:
            consult_waiting(self.P, self.W, self.S, X, out, self.counts.item(HELD))

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that consults, again and again, about the rows that X holds."""
        if self.width < BLOCK_WIDTH:
            return bound(consult_rows, self.P, self.W, X, out)
        consult, counts = bound(consult_waiting, self.P, self.W, self.S, X, out), self.counts
        return lambda: consult(counts.item(HELD))

    def grown(self, width: int, places: NDArray[np.int64]) -> Self:
        """Return the state of wider rows in which the features so far are at `places`, and the others were always 0."""
        larger = type(self)(self.spec, width, self.classes)
        larger.counts[ROWS] = self.rows
        larger.P[np.ix_(places, places)] = self._whole
        larger._wait(self.waiting, places)
        larger.W[:, places] = self.W
        return larger

    @property
    def _whole(self) -> Matrix:
        """P, both triangles of it."""
        return np.tril(self.P) + np.tril(self.P, -1).T if self.counts[LOWER] else self.P

    def _wait(self, waiting: Matrix, places: NDArray[np.int64]) -> None:
        """Let rows whose features are at these places wait."""
        self.S[: len(waiting), places] = waiting
        self.counts[HELD] = len(waiting)

    def take_two(self, state: State) -> None:
        r"""Take the coefficients θ of a game of two classes: those of the classes are ∓θ/2, and P is half of that of θ.

        A contrast is $w = \theta/\sqrt2$, so the same quadratic has twice the precision in w.
        """
        self.P[...] = 0.5 * state.covariance()
        self.W[...] = np.outer([-0.5, 0.5], state.w)

    def add_class(self) -> None:
        r"""Make room for one further class, which has been seen in no row.

        The first feature is always 1. Of wide rows, whose number n is counted, its coefficient begins at
        $-\log(1 + n/K)$ where there are K classes: what has not come so long is rare. Of narrow ones it begins at 0.
        """
        line = np.zeros((1, self.width))
        if self.classes > 1:
            line[0, 0] = -math.log1p(self.rows / self.classes)
        self.W = np.vstack([self.W, line])

    def open_up(self) -> None:
        """Let the last class stand for those that nobody has seen."""
        self.spec = replace(self.spec, unseen=1)
        self._rules = self.spec.rules

    def snapshot(self) -> Snapshot:
        """Return P, W, how many rows were played, and what some have yet to take from P."""
        arrays = {"P": self._whole.copy(), "W": self.W.copy()}
        waiting = {"waiting": self.waiting.copy()} if len(self.waiting) else {}
        return Snapshot("SharedState", {"rows": self.rows}, arrays | waiting)

    @classmethod
    def restore(cls, snapshot: Snapshot, spec: SharedSpec) -> Self:
        """Make an equal state of a game of these parameters."""
        given = snapshot.of("SharedState")
        P = given.array("P", (None, None))
        W = given.array("W", (None, len(P)))
        if P.shape[0] != P.shape[1] or not np.isfinite(P).all() or not np.isfinite(W).all():
            raise SnapshotRefused("in a SharedState, P is not square, or a number is not finite")
        state = cls(spec, len(P), len(W))
        state.P[...], state.W[...], state.counts[ROWS] = P, W, given.whole("rows")
        if "waiting" in given.arrays:
            waiting = given.array("waiting", (None, len(P)))
            if len(waiting) >= len(state.S) or not np.isfinite(waiting).all():
                raise SnapshotRefused(f"in a SharedState, {len(waiting)} rows wait, or one is not finite")
            state._wait(waiting, np.arange(len(P)))
        return state
