r"""Foster's mixture by Gauss and Legendre's rule, in one or two dimensions: exact to about ten digits.

The posterior is log-concave, and after n rows it is narrow like $1/\sqrt n$. So the mesh covers only the window that
holds its mass, and is laid anew, from the rows themselves, when the rows have doubled or when the posterior after one
label or the other would no longer be resolved. In between, a round is one pass over the nodes. What a mesh leaves out
does not add up: the losses paid on one mesh telescope to a ratio of its sums.
"""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.foster.mesh import Mesh, lay
from aioli.learners.foster.posterior import History, tilt
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Snapshot

__all__ = ["Quadrature"]

TAIL = 1e-10  # of the mass may lie at the ends of the window before the mesh must follow
COARSEST = 4.5  # effective nodes across the posterior: a Gaussian is then integrated to e^-32
NEGLIGIBLE = 40.0  # e^-40 times a few hundred nodes changes no digit of a sum that is at least 1


class Quadrature:
    """The mixture over the ball of dimension 1 or 2, its rows, and the mesh that it is summed on."""

    def __init__(self, width: int, radius: float) -> None:
        self.radius = radius
        self.history = History(width)
        self._lay(np.eye(width))

    def announce(self, x: Vector) -> float:
        """Return the log-odds of the mixture. O(1) a node; O(k) where the row is unlike the k distinct ones so far."""
        mesh = self._mesh
        if within(x, mesh.axes, mesh.reach):
            after0, after1 = np.empty_like(mesh.log_weights), np.empty_like(mesh.log_weights)  # threads may predict
            tilt(mesh.nodes, mesh.log_weights, x, after0, after1)
            total0, sound0 = sum_up(after0, mesh.edge, mesh.columns)
            total1, sound1 = sum_up(after1, mesh.edge, mesh.columns)
            if sound0 and sound1:
                return total1 - total0
        return self._evidence_with(x) - self._evidence_with(-x)

    def play(self, X: Matrix, labels: Vector) -> Vector:
        """Announce and learn row after row; returns the log-odds."""
        z = np.empty(len(X))
        t = 0
        while t < len(X):
            mesh, stop = self._mesh, min(len(X), t + self._expires - self.history.rounds)
            part = slice(t, stop)
            played = play_rows(
                mesh.nodes,
                mesh.log_weights,
                mesh.edge,
                mesh.columns,
                mesh.axes,
                mesh.reach,
                X[part],
                labels[part],
                z[part],
                self._after0,
                self._after1,
            )
            self.history.add(X[t : t + played], labels[t : t + played])
            t += played
            if t < stop:
                z[t] = self._evidence_with(X[t]) - self._evidence_with(-X[t])
                self.history.add(X[t : t + 1], labels[t : t + 1])
                t += 1
                self._lay(mesh.axes)
            elif self.history.rounds == self._expires:
                self._lay(mesh.axes)
        return z

    def snapshot(self) -> Snapshot:
        """Return the rows, the mesh, and the round at which the mesh must be laid anew."""
        parts = {"history": self.history.snapshot(), "mesh": self._mesh.snapshot()}
        return Snapshot("Quadrature", {"radius": self.radius, "expires": self._expires}, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal mixture from a snapshot; it goes on bit for bit the same."""
        engine = cls.__new__(cls)  # the constructor would lay a mesh that is thrown away
        engine.radius = snapshot.of("Quadrature").number("radius")
        engine.history = History.restore(snapshot.part("history"))
        mesh = Mesh.restore(snapshot.part("mesh"))
        if mesh.nodes.shape[1] != engine.history.width:
            raise SnapshotRefused(f"in a Quadrature, the mesh does not fit rows of width {engine.history.width}")
        engine._use(mesh, snapshot.whole("expires", least=engine.history.rounds + 1))
        return engine

    def _lay(self, axes: Matrix) -> None:
        self._use(lay(*self.history.distinct(), self.radius, axes), 2 * self.history.rounds + 8)

    def _use(self, mesh: Mesh, expires: int) -> None:
        self._mesh, self._expires = mesh, expires
        self._after0: Vector = np.empty(mesh.log_weights.size)
        self._after1: Vector = np.empty(mesh.log_weights.size)

    def _evidence_with(self, row: Vector) -> float:
        return lay(*self.history.and_one(row, 1.0), self.radius, self._mesh.axes).log_evidence


# ---- a round on a mesh


@compiled("Tuple((f8,b1))(f8[::1],f8[::1],i8)")
def sum_up(values: Vector, edge: Vector, columns: int) -> tuple[float, bool]:
    r"""Return $\log\sum_j e^{v_j}$, and whether the mesh resolves these weights. O(1) a node.

    It does if little lies at the edges, and if the effective number of nodes, $(\sum w)^2/\sum w^2$, is large enough
    both across the lines' sums and, on average, along a line.
    """
    peak = values.max()
    total, at_edge, along, across = 0.0, 0.0, 0.0, 0.0
    for start in range(0, values.size, columns):
        line, squares = 0.0, 0.0
        for j in range(start, start + columns):
            depth = peak - values[j]
            if depth < NEGLIGIBLE:
                w = math.exp(-depth)
                line += w
                squares += w * w
                at_edge += w * edge[j]
        total += line
        across += line * line
        if line > 0.0:
            along += squares / line
    sound = at_edge <= TAIL * total and COARSEST * along <= total
    if values.size > columns:
        sound = sound and COARSEST * across <= total * total
    return peak + math.log(total), sound


@compiled("b1(f8[::1],f8[:,::1],f8[::1])")
def within(x: Vector, axes: Matrix, reach: Vector) -> bool:
    """Return whether the row is within reach of the mesh. O(d²)."""
    for a in range(reach.size):
        along = 0.0
        for b in range(x.size):
            along += axes[b, a] * x[b]
        if abs(along) > reach[a]:
            return False
    return True


@compiled("i8(f8[:,::1],f8[::1],f8[::1],i8,f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1])")
def play_rows(
    nodes: Matrix,
    log_weights: Vector,
    edge: Vector,
    columns: int,
    axes: Matrix,
    reach: Vector,
    X: Matrix,
    labels: Vector,
    z: Vector,
    after0: Vector,
    after1: Vector,
) -> int:
    """Play rows until one, either of whose labels the mesh would not resolve; returns how many. O(1) a node."""
    for t in range(X.shape[0]):
        if not within(X[t], axes, reach):
            return t
        tilt(nodes, log_weights, X[t], after0, after1)
        total0, sound0 = sum_up(after0, edge, columns)
        total1, sound1 = sum_up(after1, edge, columns)
        if not (sound0 and sound1):
            return t
        z[t] = total1 - total0
        if labels[t] > 0.5:
            log_weights[:] = after1 - total1
        else:
            log_weights[:] = after0 - total0
    return len(labels)
