"""The state of the full softmax: one matrix over all contrasts and columns, explicit and complete."""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.helmert import helmert
from aioli.numerics.softmax import SQRT2
from aioli.outcomes.class_curvature import DROPPED
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import tight_prior
from aioli.states.classes import factored_loops, full_loops
from aioli.states.classes.protocol import Proof
from aioli.states.merging import merge_games

__all__ = ["FullState"]


class FullState:
    r"""Hold $P = A^{-1}$ and w for $A = \lambda I + \sum X(\tfrac12G)X^\top$, $X = I\otimes x$, and running totals.

    Attributes
    ----------
    spec
        The parameters: B bounds the Frobenius norm of W.
    width, classes
        How many columns a row has, the intercept counted, and how many classes are known.
    P, w
        Of (K-1)d rows, P its lower triangle only; entry jd + i belongs to column i in contrast j. Where P would lose
        its digits, the state turns to its factored form once and for all: P then holds S with $A^{-1} = SS^\top$.
    tally
        Running totals, as of two classes; the loss is counted where rows were learned.
    """

    def __init__(self, spec: GameSpec, width: int, classes: int) -> None:
        self.spec = spec
        self.width = width
        self.factored = False
        self.tally: Vector = np.zeros(len(Tally))
        size = max(classes - 1, 0) * width
        self._set(np.eye(size) / spec.ridge, np.zeros(size), classes)

    def _set(self, P: Matrix, w: Vector, classes: int) -> None:
        self.P, self.w, self.classes = np.ascontiguousarray(P), w, classes
        self.E = helmert(classes)

    @property
    def loss(self) -> float:
        """The sum of the losses where rows were learned."""
        return float(self.tally[Tally.LOSS])

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        return "full softmax"

    # ---- playing

    def play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        """Play the rows in order; return the logarithms of the probabilities announced, one column a class."""
        said = np.empty((len(X), self.classes))
        t = 0
        while t < len(X):
            loop = factored_loops.play_rows if self.factored else full_loops.play_rows
            rows = self.E, X[t:], codes[t:], stakes[t:], said[t:]
            t += loop(self.P, self.w, self.tally, self.spec.packed, *rows)
            if t < len(X):
                self.factor()
        return said

    @property
    def _whole(self) -> Matrix:
        """P, both triangles of it; or S."""
        return self.P if self.factored else np.tril(self.P) + np.tril(self.P, -1).T

    def predict(self, X: Matrix) -> Matrix:
        """Return the logarithms of each row's probabilities, as if it came next."""
        said = np.empty((len(X), self.classes))
        full_loops.predict_rows(self.P, self.w, self.spec.packed, self.factored, self.E, X, said)
        return said

    def factor(self) -> None:
        r"""Turn P into S with $P = SS^\top$. O(D³), at most once in a life."""
        if not self.factored:
            self._set(np.asarray(np.linalg.cholesky(self.P), np.float64), self.w, self.classes)
            self.factored = True

    # ---- growing

    def add_class(self, x: Vector | None = None) -> None:  # noqa: ARG002  (the signature of other games)
        """Append a contrast: exactly as if the class had been there, not yet met nor scored, from the first row."""
        classes, by = self.classes + 1, self.width if self.classes else 0
        places = np.arange(self.w.size)
        self._set(*self._embedded(places, self.w.size + by), classes)

    def grow(self, columns: int) -> None:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(D²)."""
        contrasts, d = max(self.classes - 1, 0), self.width + columns
        places = (np.arange(contrasts)[:, None] * d + np.arange(self.width)).ravel()
        self._set(*self._embedded(places, contrasts * d), self.classes)
        self.width = d

    def _embedded(self, places: Codes, size: int) -> tuple[Matrix, Vector]:
        """Return P and w with these places among so many, the others being as the prior has them."""
        P, w = np.eye(size) / (math.sqrt(self.spec.ridge) if self.factored else self.spec.ridge), np.zeros(size)
        P[np.ix_(places, places)] = self._whole
        w[places] = self.w
        return P, w

    # ---- what it proves

    def certificate(self, tight: bool = False) -> Proof:
        r"""Return the certificate of the losses where rows were learned, and the theorem. O(1), or O(D³) if tight."""
        prior = self.spec.ridge * self.spec.radius**2
        regular = self.spec.forgetting == 1.0 and self.tally[Tally.IRREGULAR] == 0.0
        if tight and self.w.size:
            prior = tight_prior(self.precision(), self.w, self.spec.ridge, self.spec.radius)
        return prior + float(self.tally[Tally.REGRET]), self._theorem() if regular else math.inf

    def _theorem(self) -> float:
        r"""Return $\lambda B^2 + \tfrac14(1+\tau)(\log K + \sqrt2BR + 2)\,D\log(1 + \tfrac{nR^2}{D\lambda})$.

        τ is the share of curvature that may be dropped. Of a row, the trace of the curvature is at most ‖x‖².
        """
        spec, widest, D = self.spec, float(self.tally[Tally.WIDEST]), self.w.size
        prior = spec.ridge * spec.radius**2
        if D == 0:
            return prior
        stretch = math.log(self.classes) + SQRT2 * spec.radius * widest + 2.0
        learned = float(self.tally[Tally.ROUNDS]) * widest**2 / (D * spec.ridge)
        return prior + 0.25 * (1.0 + DROPPED) * stretch * D * math.log1p(learned)

    def precision(self) -> Matrix:
        """Return A, recovered from its inverse. O(D³)."""
        S = self.P if self.factored else np.linalg.cholesky(self.P)
        inverse = np.linalg.solve(S, np.eye(self.w.size))
        return np.asarray(inverse.T @ inverse)

    # ---- merging

    def merged(self, other: Self, places: Codes) -> Self:
        r"""Return the state of both games: surrogates add, $A = A_1 + A_2 - \lambda I$, $b = b_1 + b_2$. O(D³).

        The other's classes are renamed first: contrasts of renamed classes are an orthogonal transform of contrasts,
        which leaves the prior and the ball as they are. The certificate merges as of two classes.
        """
        classes = max(self.classes, int(places.max(initial=-1)) + 1)
        games = (
            (*self._extended(classes, np.arange(self.classes)), self.tally),
            (
                *other._extended(classes, places),
                other.tally,
            ),
        )
        both = type(self)(self.spec, self.width, 0)
        S, w, both.tally = merge_games(*games, self.spec.ridge)
        both.factored = self.factored or other.factored
        both._set(S if both.factored else S @ S.T, w, classes)
        return both

    def _extended(self, classes: int, places: Codes) -> tuple[Matrix, Vector]:
        """Return A and w among more classes, this state's class k being class `places[k]`."""
        contrasts = max(classes - 1, 0)
        order = np.concatenate([places, np.setdiff1d(np.arange(classes), places)])
        E = helmert(classes)
        turn = E[order].T @ E  # own class k is order[k]: from contrasts in this state's order to the common one
        A = np.eye(contrasts * self.width) * self.spec.ridge
        A[: self.w.size, : self.w.size] = self.precision()
        w = np.append(self.w, np.zeros(len(A) - self.w.size))
        Q = np.kron(turn, np.eye(self.width))
        return Q @ A @ Q.T, Q @ w

    # ---- moving

    def snapshot(self) -> Snapshot:
        """Return P (or S), w, the tally, the number of classes and the parameters."""
        arrays = {"P": self._whole.copy(), "w": self.w.copy(), "tally": self.tally.copy()}
        values = {"classes": self.classes, "width": self.width, "factored": self.factored}
        return Snapshot("FullState", values, arrays, {"spec": self.spec.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("FullState")
        state = cls(GameSpec.restore(given.part("spec")), given.whole("width", 1), 0)
        classes = given.whole("classes")
        size = max(classes - 1, 0) * state.width
        P, w = given.array("P", (size, size)), given.array("w", (size,))
        if not (np.isfinite(P).all() and np.isfinite(w).all()):
            raise SnapshotRefused(f"in a {given.kind}, P or w is not finite")
        state._set(P.copy(), w.copy(), classes)
        state.tally = given.array("tally", (len(Tally),)).copy()
        state.factored = given.flag("factored")
        return state
