"""The rows that Foster's mixture has learned from, and the compiled loops over points θ of the ball."""

import math
from typing import Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid, softplus
from aioli.snapshots.tree import Snapshot

__all__ = ["History", "log_likelihood", "log_sum_exp", "slopes", "tilt"]

PATIENCE = 1 << 16  # rows that may wait, beside as many as are known already, before equal ones are put together


class History:
    r"""The rows so far, signed by their labels, $\tilde x_s = (2y_s - 1)x_s$: each distinct one, and how often it came.

    The likelihood depends on nothing else: $\sum_s \ell_s(\theta) = \sum_i c_i\log(1 + e^{-\theta^\top\tilde x_i})$.
    Distinct rows are kept in sorted order, so that their order tells nothing about when they came. Equal rows are put
    together when somebody asks; the result replaces what was known in one assignment, so that threads may ask at once.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.rounds = 0
        self._known: tuple[Matrix, Vector, list[Matrix]] = np.empty((0, width)), np.empty(0), []  # the list waits
        self._sorted = 0  # rounds whose rows do not wait

    def add(self, X: Matrix, labels: Vector) -> None:
        """Enter rows with their labels, 0.0 or 1.0. O(d log n) a row, amortised."""
        rows, _, waiting = self._known
        if len(X):
            waiting.append(signed(X, labels))
        self.rounds += len(X)
        if self.rounds - self._sorted > PATIENCE + len(rows):
            self.distinct()

    def distinct(self) -> tuple[Matrix, Vector]:
        """Return the distinct signed rows, and how often each came."""
        rows, counts, waiting = self._known
        if waiting:
            rows = np.concatenate([rows, *waiting])
            counts = np.concatenate([counts, np.ones(len(rows) - len(counts))])
            order = np.lexsort(rows.T)
            rows, counts = rows[order], counts[order]
            first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
            rows, counts = rows[first], np.add.reduceat(counts, first)
            self._known, self._sorted = (rows, counts, []), self.rounds
        return rows, counts

    def and_one(self, row: Vector, weight: float) -> tuple[Matrix, Vector]:
        """Return `distinct` with one further signed row of this weight, which is not entered."""
        rows, counts = self.distinct()
        return np.concatenate([rows, row[None, :]]), np.append(counts, weight)

    def snapshot(self) -> Snapshot:
        """Return the distinct rows and their counts; equal histories give equal snapshots."""
        rows, counts = self.distinct()
        return Snapshot("History", {"rounds": self.rounds}, {"rows": rows.copy(), "counts": counts.copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal history from a snapshot."""
        rows = snapshot.of("History").array("rows", (None, None)).copy()
        history = cls(rows.shape[1])
        history._known = rows, snapshot.array("counts", (len(rows),)).copy(), []
        history.rounds = history._sorted = snapshot.whole("rounds")
        return history


def signed(X: Matrix, labels: Vector) -> Matrix:
    r"""Return $(2y - 1)x$ of each row."""
    return np.asarray((2.0 * labels - 1.0)[:, None] * X)


@compiled("void(f8[:,::1],f8[:,::1],f8[::1],f8[::1])", reassociate=True)
def log_likelihood(points: Matrix, rows: Matrix, counts: Vector, values: Vector) -> None:
    r"""Leave $-\sum_i c_i\log(1 + e^{-\theta^\top\tilde x_i})$ of each point θ in `values`. O(kd) a point."""
    for j in range(points.shape[0]):
        total = 0.0
        for i in range(rows.shape[0]):
            z = 0.0
            for a in range(rows.shape[1]):
                z += points[j, a] * rows[i, a]
            total -= counts[i] * softplus(-z)
        values[j] = total


@compiled("void(f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[:,::1])", reassociate=True)
def slopes(points: Matrix, rows: Matrix, counts: Vector, values: Vector, gradients: Matrix) -> None:
    r"""Do `log_likelihood` and leave $\sum_i c_i\,\sigma(-\theta^\top\tilde x_i)\,\tilde x_i$ in `gradients`. O(kd)."""
    for j in range(points.shape[0]):
        total = 0.0
        gradients[j, :] = 0.0
        for i in range(rows.shape[0]):
            z = 0.0
            for a in range(rows.shape[1]):
                z += points[j, a] * rows[i, a]
            total -= counts[i] * softplus(-z)
            slope = counts[i] * sigmoid(-z)
            for a in range(rows.shape[1]):
                gradients[j, a] += slope * rows[i, a]
        values[j] = total


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True)
def tilt(points: Matrix, log_weights: Vector, x: Vector, after0: Vector, after1: Vector) -> None:
    r"""Leave log weights after either label, $\log w_j + \log\sigma(\mp\theta_j^\top x)$, not normalised. O(d)."""
    for j in range(points.shape[0]):
        z = 0.0
        for a in range(x.size):
            z += points[j, a] * x[a]
        loss = softplus(-z)
        after1[j] = log_weights[j] - loss
        after0[j] = log_weights[j] - (loss + z)  # softplus(z) = softplus(-z) + z, to an ulp of z


@compiled("f8(f8[::1])")
def log_sum_exp(values: Vector) -> float:
    r"""Return $\log\sum_j e^{v_j}$, safe at any size. O(1) a value."""
    peak = values.max()
    total = 0.0
    for value in values:
        total += math.exp(value - peak)
    return float(peak + math.log(total))
