r"""A game of many classes with one precision matrix for all of them: O(d² + Kd) a row, however many there are.

No quadratic of one curvature lies below the softmax's loss in every contrast, so AIOLI's own proof does not hold. What
the run proves is the convexity of the loss: with $g_t = \omega_t(p_t - e_{y_t})$, for every Θ with $\|\Theta\|_F \le B$

$$\sum_t \ell_t - \sum_t \ell_t(\Theta x_t) \le \sum_t g_t^\top(z_t - \Theta x_t)
  \le \sum_t g_t^\top \log p_t + B\,\Bigl\|\sum_t g_t x_t^\top\Bigr\|_F.$$

It is true of whatever was announced; nothing is promised beforehand.
"""

import math
import warnings
from typing import NamedTuple, Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.protocol import Proof
from aioli.states.classes.shared import SharedSpec
from aioli.states.classes.shared_squares import announce_centres, class_square_effect, play_class_square

__all__ = ["SharedGame", "SharedRounds", "SharedTally", "bound_of_gradients"]

BLOCK = 64  # rows that share one product with P
UNLEARNED = (
    "rows that would cost the matrix its digits are announced and not learned: scale the columns, or give a larger "
    'ridge or structure="full"'
)


class SharedTallies(NamedTuple):
    """Give each running total its place in the tally."""

    ROUNDS: int = 0
    LOSS: int = 1
    LINEAR: int = 2  # Σ gᵀ log p
    SIZES: int = 3  # of all that was added to that sum and to the gradient, for what rounding may take
    UNLEARNED: int = 4  # rows that would have cost P its digits


SharedTally = SharedTallies()


class SharedRounds:
    """The rounds of a block: called with the inner products of some of its rows, it plays them, and tells their effect.

    Attributes
    ----------
    said
        The logarithms of the probabilities before each label, one column a class.
    """

    def __init__(self, spec: GameSpec, codes: Codes, stakes: Vector, classes: int) -> None:
        self.rules = SharedSpec(spec.ridge, spec.radius).rules
        self.codes, self.stakes = codes, stakes
        self.said: Matrix = np.empty((len(codes), classes))
        self.norms: Vector = np.empty(len(codes))
        self.unlearned = 0

    def __call__(self, rows: slice, H: Matrix, centres: Matrix, norms: Vector, spreads: Vector, effect: Matrix) -> bool:
        """Play the rows, and write what they do to P and W; returns True, as no row is refused."""
        count = len(norms)
        s, A = np.empty(count), np.empty((count, len(centres)))
        given = self.codes[rows], self.stakes[rows], self.said[rows]
        M = np.ascontiguousarray(centres.T)
        self.norms[rows] = norms
        self.unlearned += play_class_square(H, M, self.rules, norms, spreads, *given, s, A)
        class_square_effect(H, s, A, effect)
        return True

    @property
    def gradients(self) -> Matrix:
        """Each row's ω(p - e_y), one column a class."""
        g = np.exp(self.said)
        g[np.arange(len(g)), self.codes] -= 1.0
        return g * self.stakes[:, None]

    def count(self, tally: Vector, g: Matrix) -> None:
        """Add the rows to the running totals; warn at the first that was not learned."""
        if self.unlearned and not tally[SharedTally.UNLEARNED]:
            warnings.warn(UNLEARNED, RuntimeWarning, stacklevel=2)
        tally[SharedTally.UNLEARNED] += self.unlearned
        own = self.said[np.arange(len(g)), self.codes]
        linear = np.sum(g * self.said, axis=1)
        tally[SharedTally.ROUNDS] += len(g)
        tally[SharedTally.LOSS] -= float(self.stakes @ own)
        tally[SharedTally.LINEAR] += float(linear.sum())
        tally[SharedTally.SIZES] += float(np.abs(g * self.said).sum() + 2.0 * self.stakes @ self.norms)


def bound_of_gradients(tally: Vector, gradient: float, radius: float) -> Proof:
    """Return the certificate of a sum of gradients of this norm, rounding counted in, and no theorem."""
    rounding = np.finfo(np.float64).eps * (tally[SharedTally.ROUNDS] + 8.0) * (1.0 + radius) * tally[SharedTally.SIZES]
    return float(tally[SharedTally.LINEAR] + radius * gradient + rounding), math.inf


class SharedGame:
    """Holds P = A⁻¹ for all classes, W, one line of coefficients a class, G, the sum of gradients, and totals."""

    def __init__(self, spec: GameSpec, width: int, classes: int) -> None:
        self.spec, self.width = spec, width
        self.P: Matrix = np.eye(width) / spec.ridge
        self.W: Matrix = np.zeros((classes, width))
        self.G: Matrix = np.zeros((classes, width))
        self.tally: Vector = np.zeros(len(SharedTally))

    @property
    def classes(self) -> int:
        """How many classes are known."""
        return len(self.W)

    @property
    def loss(self) -> float:
        """The sum of the losses where rows were learned."""
        return float(self.tally[SharedTally.LOSS])

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        return "one matrix for all classes"

    def play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        """Play the rows in order, in blocks; return the logarithms of the probabilities before each label."""
        said = np.empty((len(X), self.classes))
        for first in range(0, len(X), BLOCK):
            rows = slice(first, first + BLOCK)
            said[rows] = self._play_block(X[rows], codes[rows], stakes[rows])
        return said

    def _play_block(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        rounds = SharedRounds(self.spec, codes, stakes, self.classes)
        K = X @ self.P
        effect = np.empty((len(X) + self.classes, len(X)))
        sizes = np.linalg.norm(X, axis=1), (X * X) @ np.diagonal(self.P)
        rounds(slice(0, len(X)), K @ X.T, self.W @ X.T, *sizes, effect)
        done = effect @ K
        S = done[: len(X)]
        self.P -= S.T @ S  # NumPy computes a matrix by its own transpose as exactly symmetric
        self.W += done[len(X) :]
        g = rounds.gradients
        self.G += g.T @ X
        rounds.count(self.tally, g)
        return rounds.said

    def predict(self, X: Matrix) -> Matrix:
        """Return the logarithms of each row's probabilities, as if it came next."""
        said = np.empty((len(X), self.classes))
        announce_centres(np.ascontiguousarray(X @ self.W.T), np.sum((X @ self.P) * X, axis=1), said)
        return said

    def add_class(self, x: Vector | None = None) -> None:  # noqa: ARG002  (the signature of other games)
        """Make room for one more class: P does not know of classes, and its coefficients are 0."""
        self.W, self.G = (np.vstack([lines, np.zeros((1, self.width))]) for lines in (self.W, self.G))

    def grow(self, columns: int) -> None:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        larger = SharedGame(self.spec, self.width + columns, self.classes)
        larger.P[: self.width, : self.width] = self.P
        larger.W[:, : self.width], larger.G[:, : self.width] = self.W, self.G
        self.width, self.P, self.W, self.G = larger.width, larger.P, larger.W, larger.G

    def certificate(self, tight: bool = False) -> Proof:
        """Return what the gradients prove; `tight` has nothing to add."""
        del tight
        return bound_of_gradients(self.tally, float(np.linalg.norm(self.G)), self.spec.radius)

    def merged(self, other: Self, places: Codes) -> Self:
        r"""Return both games as one: $A = A_1 + A_2 - \lambda I$, $AW^\top = A_1W_1^\top + A_2W_2^\top$. O(d³)."""
        both = type(self)(self.spec, self.width, max(self.classes, int(places.max(initial=-1)) + 1))
        A, theirs = np.linalg.inv(self.P), np.linalg.inv(other.P)
        b = np.zeros((self.width, both.classes))
        b[:, : self.classes] = A @ self.W.T
        b[:, places] += theirs @ other.W.T
        both.P[...] = np.linalg.inv(A + theirs - self.spec.ridge * np.eye(self.width))
        both.P[...] = 0.5 * (both.P + both.P.T)
        both.W[...] = (both.P @ b).T
        both.G[: self.classes] = self.G
        both.G[places] += other.G
        both.tally[...] = self.tally + other.tally
        return both

    def snapshot(self) -> Snapshot:
        """Return P, W, G and the totals."""
        arrays = {"P": self.P.copy(), "W": self.W.copy(), "G": self.G.copy(), "tally": self.tally.copy()}
        return Snapshot("SharedGame", {}, arrays, {"spec": self.spec.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("SharedGame")
        W = given.array("W", (None, None))
        state = cls(GameSpec.restore(given.part("spec")), W.shape[1], W.shape[0])
        G = given.array("G", W.shape)
        if not np.isfinite(W).all() or not np.isfinite(G).all():
            raise SnapshotRefused("in a SharedGame, a number is not finite")
        state.P[...], state.W[...], state.G[...] = given.covariance("P", W.shape[1]), W, G
        state.tally[...] = given.totals("tally", (len(SharedTally),), signed=[SharedTally.LINEAR])
        return state
