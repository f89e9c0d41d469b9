"""Foster's mixture by sequential Monte Carlo, in any dimension: particles that are reweighted, resampled and moved."""

import math
from typing import Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from aioli.learners.foster.posterior import History, log_sum_exp, signed, slopes, tilt
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many
from aioli.numerics.threads import one_blas_thread
from aioli.snapshots.generators import restore_generator, snapshot_generator
from aioli.snapshots.tree import Snapshot

__all__ = ["Particles"]

ACCEPTED = 0.574  # the share of accepted moves at which Langevin steps go furthest (Roberts and Rosenthal 1998)
SWEEPS = 30  # moves at most after each resampling


class Particles:
    r"""N points θ of the ball with weights, whose mixture is the posterior's up to an error of order $1/\sqrt N$.

    A row multiplies the weights by its likelihood. Where that would leave fewer than N/2 effective particles, it is
    taken in parts: as large a part, of halves, as leaves N/2; then resampling, moves that leave the posterior so far
    (with that part of the row) as it is, and the rest of the row. A row costs O(Nd), and O(Nkd) a move, for k distinct
    rows so far; moves become rare as $1/n$.
    """

    def __init__(self, width: int, radius: float, count: int, seed: int) -> None:
        self.radius = radius
        self.history = History(width)
        self.rng = np.random.default_rng(seed)
        directions = self.rng.standard_normal((count, width))
        lengths = radius * self.rng.random(count) ** (1.0 / width)
        self.points: Matrix = directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
        self.log_weights: Vector = np.full(count, -math.log(count))
        self.step = 1.65 * width ** (-1.0 / 6.0)  # the best for a Gaussian of many dimensions; adapted at each move

    def announce(self, x: Vector) -> float:
        """Return the log-odds of the mixture. O(Nd)."""
        after0, after1 = np.empty_like(self.log_weights), np.empty_like(self.log_weights)
        tilt(self.points, self.log_weights, x, after0, after1)
        return log_sum_exp(after1) - log_sum_exp(after0)

    def play(self, X: Matrix, labels: Vector) -> Vector:
        """Announce and learn row after row; returns the log-odds."""
        z = np.empty(len(X))
        with one_blas_thread():
            for t, row in enumerate(signed(X, labels)):
                z[t] = self.announce(X[t])
                self._absorb(row)
                self.history.add(X[t : t + 1], labels[t : t + 1])
        return z

    def snapshot(self) -> Snapshot:
        """Return the particles, their weights, the rows, the length of a step, and the generator's state."""
        parts = {"history": self.history.snapshot(), "generator": snapshot_generator(self.rng)}
        arrays = {"points": self.points.copy(), "log_weights": self.log_weights.copy()}
        return Snapshot("Particles", {"radius": self.radius, "step": self.step}, arrays, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal mixture from a snapshot; it goes on bit for bit the same."""
        engine = cls.__new__(cls)  # the constructor would draw particles that are thrown away
        engine.radius = snapshot.of("Particles").number("radius")
        engine.step = snapshot.number("step")
        engine.history = History.restore(snapshot.part("history"))
        engine.rng = restore_generator(snapshot.part("generator"))
        engine.points = snapshot.array("points", (None, engine.history.width)).copy()
        engine.log_weights = snapshot.array("log_weights", engine.points.shape[:1]).copy()
        return engine

    def _absorb(self, row: Vector) -> None:
        taken = 0.0
        while taken < 1.0:
            losses = softplus_many(-(self.points @ row))
            part = 1.0 - taken
            while not _enough(after := self.log_weights - part * losses):
                part *= 0.5
            self.log_weights = after - log_sum_exp(after)
            if part == 1.0 - taken:
                break
            taken += part
            self._resample_and_move(*self.history.and_one(row, taken))

    def _resample_and_move(self, rows: Matrix, counts: Vector) -> None:
        w = np.exp(self.log_weights)
        N, d = self.points.shape
        centred = self.points - w @ self.points
        covariance = (centred * w[:, None]).T @ centred
        L = cholesky(covariance + np.diag(1e-10 * np.diag(covariance)), lower=True)  # rounding may leave it singular
        cumulated = np.cumsum(w)
        heads = (self.rng.random() + np.arange(N)) / N * cumulated[-1]
        self.points = self.points[np.searchsorted(cumulated, heads)]
        self.log_weights = np.full(N, -math.log(N))
        origin = self.points
        values, gradients = _slopes(origin, rows, counts)
        for _ in range(SWEEPS):
            values, gradients = self._move(L, rows, counts, values, gradients)
            travelled = solve_triangular(L, (self.points - origin).T, lower=True)
            if (travelled**2).sum() >= N * d:  # two independent draws are 2d apart, squared, on average
                break

    def _move(
        self, L: Matrix, rows: Matrix, counts: Vector, values: Vector, gradients: Matrix
    ) -> tuple[Vector, Matrix]:
        r"""Move to $\theta' = \theta + L(\tfrac12\epsilon^2L^\top\nabla + \epsilon\xi)$, or not (Metropolis). O(Nkd).

        Outside the ball the posterior is 0: such a move is refused.
        """
        half = 0.5 * self.step**2
        noise = self.rng.standard_normal(self.points.shape)
        jump = half * (gradients @ L) + self.step * noise
        proposed = np.ascontiguousarray(self.points + jump @ L.T)
        new_values, new_gradients = _slopes(proposed, rows, counts)
        back = (jump + half * (new_gradients @ L)) / self.step
        log_ratio = new_values - values + 0.5 * ((noise**2).sum(axis=1) - (back**2).sum(axis=1))
        accepted = log_ratio > -self.rng.standard_exponential(len(values))
        accepted &= np.linalg.norm(proposed, axis=1) <= self.radius
        self.step *= math.exp(accepted.mean() - ACCEPTED)
        self.points = np.where(accepted[:, None], proposed, self.points)
        return np.where(accepted, new_values, values), np.where(accepted[:, None], new_gradients, gradients)


def _enough(log_weights: Vector) -> bool:
    r"""Return whether at least half of the particles are effective: $(\sum w)^2/\sum w^2 \ge N/2$."""
    w = np.exp(log_weights - log_weights.max())
    return bool(2.0 * w.sum() ** 2 >= w.size * (w @ w))


def _slopes(points: Matrix, rows: Matrix, counts: Vector) -> tuple[Vector, Matrix]:
    values, gradients = np.empty(len(points)), np.empty_like(points)
    slopes(points, rows, counts, values, gradients)
    return values, gradients
