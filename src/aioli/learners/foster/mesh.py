r"""Meshes for a log-concave posterior on the ball of dimension 1 or 2: Gauss and Legendre's rule where the mass is.

- d = 1: the substitution $\theta = \sinh(s)/R$ puts the poles of every $\sigma(\theta x)$ with $|x| \le \pi R$ at a
  distance of π/2 from the real axis, so the number of nodes grows only with $\log BR$.
- d = 2: nodes $(B\sin t, v)$, where v runs over its own window of the chord at each t, in a frame whose second axis is
  the posterior's longer one: so the edge of the disc costs no digits, even where it cuts off a narrow strip. The
  number of nodes grows with $(BR)^2$ until the posterior is narrow.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from aioli.errors import SnapshotRefused
from aioli.learners.foster.posterior import log_likelihood, log_sum_exp
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot

__all__ = ["Mesh", "lay"]

DROP = 32.0  # a log-concave density has at most e^-32 of its mass where it is this far below its peak
PAD = 1 / 8  # of the window, added at either end as room for the posterior to move before the mesh must follow

LINE_NODES, LINE_DENSITY = 96, 16.0  # at least so many; so many more for each unit of half-width in s
DISC_NODES, DISC_DENSITY, MOST_DISC_NODES = 64, 5.0, 256  # along each axis; for each unit of half-width times R

ANY_LENGTH = np.finfo(np.float64).max  # the reach of a mesh that has as many nodes as there may be

PROBES = np.linspace(0.0, 1.0, 13)

Marks = NDArray[np.bool_]


class Mesh(NamedTuple):
    """Nodes, line after line of `columns` each, and what is known of the posterior there."""

    nodes: Matrix
    log_weights: Vector  # of the posterior, summing to one
    edge: Vector  # 1 at the nodes next to an end of the window that is not the ball's
    columns: int
    axes: Matrix  # the frame that the mesh is laid in, a column an axis
    reach: Vector  # the largest |x_i| in that frame whose kink these nodes resolve
    log_evidence: float  # log ∫ exp(-Σℓ_s(θ)) dθ

    def snapshot(self) -> Snapshot:
        """Return the mesh's arrays and numbers."""
        arrays = {"nodes": self.nodes, "log_weights": self.log_weights, "edge": self.edge, "axes": self.axes}
        copies = {name: array.copy() for name, array in arrays.items()} | {"reach": self.reach.copy()}
        return Snapshot("Mesh", {"columns": self.columns, "log_evidence": self.log_evidence}, copies)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal mesh from a snapshot."""
        nodes = snapshot.of("Mesh").array("nodes", (None, None)).copy()
        count, width = nodes.shape
        columns = snapshot.whole("columns", least=1)
        if count == 0 or count % columns:
            raise SnapshotRefused(f"in a Mesh, {count} nodes are not lines of {columns}")
        return cls(
            nodes,
            snapshot.array("log_weights", (count,)).copy(),
            snapshot.array("edge", (count,)).copy(),
            columns,
            snapshot.array("axes", (width, width)).copy(),
            snapshot.array("reach", (width,)).copy(),
            snapshot.number("log_evidence"),
        )


def lay(rows: Matrix, counts: Vector, radius: float, axes: Matrix) -> Mesh:
    """Return a mesh for the posterior that these signed rows give. O(k) a node, for k distinct rows.

    The frame is the last mesh's, or where that turns out to be slanted or the wrong way round, the posterior's own.
    """

    def posterior(bare: Mesh) -> Mesh:
        values = bare.log_weights + log_density(bare.nodes, rows, counts)
        evidence = log_sum_exp(values)
        return bare._replace(log_weights=values - evidence, log_evidence=evidence)

    if rows.shape[1] == 1:
        return posterior(lay_line(rows, counts, radius))
    mesh = posterior(lay_disc(rows, counts, radius, axes))
    centred = mesh.nodes - np.exp(mesh.log_weights) @ mesh.nodes
    covariance = (centred * np.exp(mesh.log_weights)[:, None]).T @ centred
    (short, slant), (_, long) = axes.T @ covariance @ axes
    if short > 2.0 * long or slant**2 > 0.5 * short * long:
        principal = np.ascontiguousarray(np.linalg.eigh(covariance)[1])
        mesh = posterior(lay_disc(rows, counts, radius, principal))
    return mesh


def log_density(points: Matrix, rows: Matrix, counts: Vector) -> Matrix:
    """Return the log likelihood of points in an array of any shape, their coordinates last."""
    flat = np.ascontiguousarray(points.reshape(-1, rows.shape[1]))
    values = np.empty(len(flat))
    log_likelihood(flat, rows, counts, values)
    return values.reshape(points.shape[:-1])


def lay_line(rows: Matrix, counts: Vector, radius: float) -> Mesh:
    r"""Return nodes $\theta = \sinh(s)/R$ on the window, with the rule's weights $\cosh(s)/R$."""
    R = float(np.abs(rows).max(initial=1.0 / radius))
    end = np.array([math.asinh(radius * R)])
    low, high, _ = window(lambda s: log_density(np.sinh(s)[..., None] / R, rows, counts), -end, end)
    low, high, cut_low, cut_high = padded(low, high, end)
    count = LINE_NODES + math.ceil(LINE_DENSITY * float(high[0] - low[0]) / 2.0)
    s, log_rule = rule(low, high, count)
    return Mesh(
        nodes=np.sinh(s).reshape(-1, 1) / R,
        log_weights=(log_rule + np.log(np.cosh(s)) - math.log(R)).ravel(),
        edge=edges(count, cut_low, cut_high).ravel(),
        columns=count,
        axes=np.eye(1),
        reach=np.array([3.0 * R]),  # π would do
        log_evidence=math.nan,
    )


def lay_disc(rows: Matrix, counts: Vector, radius: float, axes: Matrix) -> Mesh:
    r"""Return nodes $(B\sin t, v)$ in the frame of the axes, v on its window of the chord at t, weighing $B\cos t$."""
    rows = rows @ axes
    widest = np.abs(rows).max(axis=0, initial=0.0)

    def chord(t: Vector) -> tuple[Vector, Vector, Vector]:
        u = np.broadcast_to(radius * np.sin(t)[:, None], (t.size, PROBES.size))
        end = radius * np.cos(t)
        return window(lambda v: log_density(np.stack([u, v], axis=-1), rows, counts), -end, end)

    quarter = np.array([math.pi / 2.0])
    low, high, _ = window(lambda t: chord(t.ravel())[2].reshape(t.shape), -quarter, quarter)
    low, high, cut_low, cut_high = padded(low, high, quarter)
    lines = disc_count(radius * float(high[0] - low[0]) * widest[0])
    t, log_lines = rule(low, high, lines)
    v_low, v_high, _ = chord(t[0])
    v_low, v_high, v_cut_low, v_cut_high = padded(v_low, v_high, radius * np.cos(t[0]))
    longest = float((v_high - v_low).max())
    columns = disc_count(longest * widest[1])
    v, log_columns = rule(v_low, v_high, columns)
    u = np.broadcast_to(radius * np.sin(t[0])[:, None], v.shape)
    across = edges(lines, cut_low, cut_high)[0][:, None]
    halves = 0.5 * np.array([radius * float(high[0] - low[0]), longest])
    counts = np.array([lines, columns])
    return Mesh(
        nodes=np.stack([u, v], axis=-1).reshape(-1, 2) @ axes.T,
        log_weights=((log_lines[0] + np.log(radius * np.cos(t[0])))[:, None] + log_columns).ravel(),
        edge=np.maximum(across, edges(columns, v_cut_low, v_cut_high)).ravel(),
        columns=columns,
        axes=axes,
        reach=np.where(counts < MOST_DISC_NODES, counts / (DISC_DENSITY * halves), ANY_LENGTH),
        log_evidence=math.nan,
    )


def disc_count(width: float) -> int:
    """Return how many nodes an axis needs, for a window of this width times R."""
    return min(MOST_DISC_NODES, max(DISC_NODES, math.ceil(DISC_DENSITY * width / 2.0)))


def window(density: Callable[[Matrix], Matrix], low: Vector, high: Vector) -> tuple[Vector, Vector, Vector]:
    """Return where a log-concave density is within `DROP` of its peak, for each interval; and the peak, nearly.

    Probes thirteen points, keeps those within `DROP` of the best and the one beyond them at either side, and begins
    again until little more can be cut off. The best probe is below the peak, so the window never loses what it should
    hold; all that is asked of the density is one peak in each interval.
    """
    lines = np.arange(low.size)
    for _ in range(200):
        grid = low[:, None] + (high - low)[:, None] * PROBES
        values = density(grid)
        peak = values.max(axis=1)
        kept = values >= peak[:, None] - DROP
        first = np.maximum(kept.argmax(axis=1) - 1, 0)
        last = np.minimum(PROBES.size - kept[:, ::-1].argmax(axis=1), PROBES.size - 1)
        width = high - low
        low, high = grid[lines, first], grid[lines, last]
        if (high - low >= 0.7 * width).all():
            break
    return low, high, peak


def padded(low: Vector, high: Vector, end: Vector) -> tuple[Vector, Vector, Marks, Marks]:
    """Return the windows with `PAD` at either side, but within ±end; and which of their ends are cuts, not ±end."""
    pad = PAD * (high - low)
    low, high = np.maximum(low - pad, -end), np.minimum(high + pad, end)
    return low, high, low > -end, high < end


def rule(low: Vector, high: Vector, count: int) -> tuple[Matrix, Matrix]:
    """Return Gauss and Legendre's nodes on each interval, a row each, and the logarithms of their weights."""
    nodes, log_weights = legendre(count)
    half = 0.5 * (high - low)[:, None]
    return 0.5 * (low + high)[:, None] + half * nodes, np.log(half) + log_weights


@cache
def legendre(count: int) -> tuple[Vector, Vector]:
    """Return the nodes and log weights of the rule on [-1, 1]."""
    nodes, weights = roots_legendre(count)
    return nodes, np.log(weights)


def edges(count: int, cut_low: Marks, cut_high: Marks) -> Matrix:
    """Return 1 at the three outermost of `count` nodes at an end that is a cut, 0 elsewhere."""
    marks = np.zeros((cut_low.size, count))
    marks[:, :3] = cut_low[:, None]
    marks[:, -3:] = cut_high[:, None]
    return marks
