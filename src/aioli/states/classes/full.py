"""The state of the full softmax: one matrix over all contrasts and columns, explicit and complete."""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.ball import ball_multiplier
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.helmert import helmert
from aioli.numerics.softmax import SQRT2
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.many_classes import DROPPED
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.full_loops import play_rows, predict_rows

__all__ = ["FullState", "full_theorem"]


class FullState:
    r"""Hold $P = A^{-1}$ and w for $A = \lambda I + \sum X(\tfrac12G)X^\top$, $X = I\otimes x$, and running totals.

    Attributes
    ----------
    spec
        The parameters: B bounds the Frobenius norm of W.
    width, classes
        How many columns a row has, the intercept counted, and how many classes are known.
    P, w
        Of (K-1)d rows; entry jd + i belongs to column i in contrast j.
    tally
        Running totals, as of two classes; the loss is counted where rows were learned.
    """

    def __init__(self, spec: GameSpec, width: int, classes: int) -> None:
        self.spec = spec
        self.width = width
        self.tally: Vector = np.zeros(len(Tally))
        self._set(np.eye(max(classes - 1, 0) * width) / spec.ridge, np.zeros(max(classes - 1, 0) * width), classes)

    def _set(self, P: Matrix, w: Vector, classes: int) -> None:
        self.P, self.w, self.classes = np.ascontiguousarray(P), w, classes
        self.E = helmert(classes)

    @property
    def loss(self) -> float:
        """The sum of the losses where rows were learned."""
        return float(self.tally[Tally.LOSS])

    def play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        """Play the rows in order; return the logarithms of the probabilities announced, one column a class."""
        said = np.empty((len(X), self.classes))
        play_rows(self.P, self.w, self.tally, self.spec.packed, self.E, X, codes, stakes, said)
        return said

    def predict(self, X: Matrix) -> Matrix:
        """Return the logarithms of each row's probabilities, as if it came next."""
        said = np.empty((len(X), self.classes))
        predict_rows(self.P, self.w, self.spec.packed, self.E, X, said)
        return said

    def add_class(self) -> None:
        """Make room for one more class, exactly as if it had been there, unseen and unscored, from the first row."""
        if self.classes == 0:
            self._set(self.P, self.w, 1)
            return
        self._set(*self._widened(self.P, self.w, self.width), self.classes + 1)

    def grow(self, columns: int) -> None:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(D²)."""
        contrasts, d = max(self.classes - 1, 0), self.width + columns
        places = (np.arange(contrasts)[:, None] * d + np.arange(self.width)).ravel()
        P, w = np.eye(contrasts * d) / self.spec.ridge, np.zeros(contrasts * d)
        P[np.ix_(places, places)] = self.P
        w[places] = self.w
        self.width = d
        self._set(P, w, self.classes)

    def _widened(self, P: Matrix, w: Vector, by: int) -> tuple[Matrix, Vector]:
        larger = np.eye(len(w) + by) / self.spec.ridge
        larger[: len(w), : len(w)] = P
        return larger, np.append(w, np.zeros(by))

    # ---- what it proves

    def certificate(self, tight: bool = False) -> tuple[float, float]:
        r"""Return the certificate of the losses where rows were learned, and the theorem. O(1), or O(D³) if tight."""
        prior = self.spec.ridge * self.spec.radius**2
        regular = self.spec.forgetting == 1.0 and self.tally[Tally.IRREGULAR] == 0.0
        promised = full_theorem(self) if regular else math.inf
        if tight and self.w.size:
            prior = min(prior, self._tight_prior())
        return prior + float(self.tally[Tally.REGRET]), promised

    def _tight_prior(self) -> float:
        r"""Return $\max_{\|W\| \le B} \lambda\|W\|^2 - \|W-w\|_A^2$ by its dual, as of two classes. O(D³)."""
        ridge, radius = self.spec.ridge, self.spec.radius
        a, basis = np.linalg.eigh(self.precision())
        a = np.maximum(a, ridge)
        w = basis.T @ self.w
        mu = ball_multiplier(a - ridge, a * w, radius) or 1e-12 * ridge
        dual = mu * radius**2 + float(np.sum(a * w * w * (ridge - mu) / (a - ridge + mu)))
        return dual + 4.0 * self.w.size * np.finfo(np.float64).eps * float(a[-1] * (w @ w))

    def precision(self) -> Matrix:
        """Return A, recovered from its inverse. O(D³)."""
        inverse = np.linalg.solve(np.linalg.cholesky(self.P), np.eye(self.w.size))
        return np.asarray(inverse.T @ inverse)

    # ---- moving

    def snapshot(self) -> Snapshot:
        """Return P, w, the tally, the number of classes and the parameters."""
        arrays = {"P": self.P.copy(), "w": self.w.copy(), "tally": self.tally.copy()}
        values = {"classes": self.classes, "width": self.width}
        return Snapshot("FullState", values, arrays, {"spec": self.spec.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("FullState")
        spec = GameSpec.restore(given.part("spec"))
        state = cls(spec, given.whole("width", 1), 0)
        classes = given.whole("classes")
        size = max(classes - 1, 0) * state.width
        P, w = given.array("P", (size, size)), given.array("w", (size,))
        if not (np.isfinite(P).all() and np.isfinite(w).all()):
            raise SnapshotRefused(f"in a {given.kind}, P or w is not finite")
        state._set(P.copy(), w.copy(), classes)
        state.tally = given.array("tally", (len(Tally),)).copy()
        return state


def full_theorem(state: FullState) -> float:
    r"""Return $\lambda B^2 + \tfrac14(1+\tau)(\log K + \sqrt2BR + 2)\,D\log(1 + \tfrac{nR^2}{2D\lambda}\cdot\tfrac12)$.

    τ is the share of curvature that may be dropped; the trace of the curvature of a row is at most ‖x‖²/2.
    """
    spec, tally = state.spec, state.tally
    widest, D = float(tally[Tally.WIDEST]), state.w.size
    prior = spec.ridge * spec.radius**2
    if D == 0:
        return prior
    stretch = math.log(state.classes) + SQRT2 * spec.radius * widest + 2.0
    learned = float(tally[Tally.ROUNDS]) * widest**2 / (D * spec.ridge)
    return prior + 0.25 * (1.0 + DROPPED) * stretch * D * math.log1p(learned)
