r"""A dictionary of rows, and the coordinates of any row in the space that their kernel functions span.

With $K = LL^\top$ the kernel matrix of the dictionary and $U = L^{-1}$, the coordinates of a row are
$\varphi(x) = U k_D(x)$, and $\varphi(x)^\top\varphi(y)$ is the kernel of the two projections. The residual
$k(x,x) - \|\varphi(x)\|^2$ is what the dictionary cannot say of x. A new point appends one coordinate and changes no
other:

$$U \leftarrow \begin{pmatrix} U & 0 \\ -\varphi^\top U/\sqrt r & 1/\sqrt r\end{pmatrix}, \qquad
  \varphi_{m+1}(x) = \frac{k(x, d) - \varphi(d)^\top\varphi(x)}{\sqrt r}.$$

Point j leaves by plane rotations G of neighbouring coordinates that turn its direction, the column $Ue_j$, into the
last axis: what is left of $G^\top U$ without its last row and without column j is the factor of the others. O(m²)
either way.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.kernel.functions import decay
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.state import State

__all__ = ["Dictionary", "restricted"]


KERNELS: dict[str, Callable[[Matrix, Matrix], Matrix]] = {
    "rbf": partial(decay, gamma=0.5, power=2),
    "laplacian": partial(decay, gamma=1.0, power=1),
}


class Dictionary:
    """Points and the inverse Cholesky factor U of their kernel matrix; rows come in units of the bandwidth."""

    def __init__(self, width: int, kernel: str) -> None:
        self.kernel = kernel
        self.points: Matrix = np.empty((0, width))
        self.U: Matrix = np.empty((0, 0))

    def __len__(self) -> int:
        return len(self.points)

    def snapshot(self) -> Snapshot:
        """Return the points and the factor. O(m² + md)."""
        arrays = {"points": self.points.copy(), "U": self.U.copy()}
        return Snapshot("Dictionary", {"kernel": self.kernel}, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal dictionary from a snapshot."""
        points, kernel = snapshot.of("Dictionary").array("points", (None, None)), snapshot.text("kernel")
        if kernel not in KERNELS:
            raise SnapshotRefused(f"in a Dictionary, 'kernel' is {kernel!r}, not {' or '.join(map(repr, KERNELS))}")
        dictionary = cls(points.shape[1], kernel)
        dictionary.points, dictionary.U = points.copy(), snapshot.array("U", (len(points), len(points))).copy()
        return dictionary

    def coordinates(self, X: Matrix) -> Matrix:
        r"""Return $\varphi(x) = U k_D(x)$ of each row. O(md + m²)."""
        if not len(self):
            return np.empty((len(X), 0))
        return np.asarray(KERNELS[self.kernel](X, self.points) @ self.U.T)

    def next_coordinate(self, X: Matrix, F: Matrix, x: Vector, f: Vector, residual: float) -> Vector:
        """Return the coordinate that rows of coordinates F gain once x, of coordinates f, is a point. O(m + d) each."""
        k = KERNELS[self.kernel](X, x[None, :])[:, 0]
        return np.asarray((k - F @ f) / math.sqrt(residual))

    def add(self, x: Vector, f: Vector, residual: float) -> None:
        """Take in a point of these coordinates and this residual. O(m²)."""
        m = len(self)
        U = np.zeros((m + 1, m + 1))
        U[:m, :m] = self.U
        U[m, :m] = -(f @ self.U) / math.sqrt(residual)
        U[m, m] = 1.0 / math.sqrt(residual)
        self.U = U
        self.points = np.concatenate([self.points, x[None, :]])

    def redundancies(self) -> Vector:
        r"""Return $1/(K^{-1})_{jj}$: the squared distance of point j from the span of the others. O(m²)."""
        return np.asarray(1.0 / np.einsum("ij,ij->j", self.U, self.U))

    def drop(self, j: int) -> tuple[Vector, Vector]:
        """Let point j go; return cosines and sines of the rotations of coordinates (j, j+1), (j+1, j+2), … O(m²)."""
        cosines, sines = rotations(np.ascontiguousarray(self.U[:, j]), j)
        rotate_rows(self.U, j, cosines, sines)
        self.U = np.ascontiguousarray(np.delete(self.U, j, axis=1)[:-1])
        self.points = np.delete(self.points, j, axis=0)
        return cosines, sines


@compiled("Tuple((f8[::1],f8[::1]))(f8[::1],i8)")
def rotations(g: Vector, first: int) -> tuple[Vector, Vector]:
    """Return cosines and sines that carry all of g from `first` on into its last entry, pair after pair. O(m)."""
    cosines, sines = np.ones(g.size - 1 - first), np.zeros(g.size - 1 - first)
    carried = g[first]
    for i in range(cosines.size):
        length = math.hypot(carried, g[first + i + 1])
        if length > 0.0:
            cosines[i], sines[i] = g[first + i + 1] / length, carried / length
        carried = length
    return cosines, sines


@compiled("void(f8[:,::1],i8,f8[::1],f8[::1])")
def rotate_rows(M: Matrix, first: int, cosines: Vector, sines: Vector) -> None:
    """Turn rows `first` and the next, then that and the one after, … O(m) a rotation."""
    for i in range(cosines.size):
        c, s = cosines[i], sines[i]
        for q in range(M.shape[1]):
            upper, lower = M[first + i, q], M[first + i + 1, q]
            M[first + i, q] = c * upper - s * lower
            M[first + i + 1, q] = s * upper + c * lower


def restricted(state: State, first: int, cosines: Vector, sines: Vector) -> State:
    r"""Return the state among those θ that are 0 along the last axis, once its coordinates have been rotated. O(d²).

    It is the state had every row been projected so from the beginning, $A' = V^\top A V$, $b' = V^\top b$, with V the
    other axes: with q the last one,

    $$P' = P_{VV} - \frac{P_{Vq}P_{qV}}{P_{qq}}, \quad w' = w_V - P_{Vq}\frac{w_q}{P_{qq}}, \quad
      \min F' = \min F + \frac{w_q^2}{P_{qq}},$$

    and the certificate, now against fewer θ, falls by that last term. The paper's theorem does not speak of it.
    """
    P, w, tally = state.P.copy(), state.w[:, None].copy(), state.tally.copy()
    first += state.spec.intercept
    rotate_rows(w, first, cosines, sines)
    rotate_rows(P, first, cosines, sines)
    if state.factored:  # P holds S: reflect its last row onto the last axis, and leave row and column out
        mirror = P[-1].copy()
        length = float(np.linalg.norm(mirror))
        mirror[-1] += math.copysign(length, mirror[-1])
        spread = length * length
        S = P - np.outer(P @ mirror, mirror) * (2.0 / (mirror @ mirror))
        toward = P[:-1] @ P[-1]
        P_after = S[:-1, :-1]
    else:
        P = np.ascontiguousarray(P.T)
        rotate_rows(P, first, cosines, sines)
        spread = float(P[-1, -1])
        toward = 0.5 * (P[:-1, -1] + P[-1, :-1])
        P_after = P[:-1, :-1] - np.outer(toward, toward / spread)
        P_after = 0.5 * (P_after + P_after.T)
    left = float(w[-1, 0])
    tally[Tally.REGRET] -= (1.0 - 1e-9) * left * left / spread  # rounding must not prove too much
    tally[Tally.IRREGULAR] += 1.0
    w_after = w[:-1, 0] - toward * (left / spread)
    return type(state)(state.spec, state.width - 1).overwrite(P_after, w_after, tally, factored=state.factored)
