r"""Naive Bayes for many classes: each column of a class is normal, of a mean and a spread that its rows tell.

With n rows of class k so far, of mean m and sum of squares S in a column, and $\bar m$, $\bar s^2$ those of all rows,
the next cell of that class follows Student's law (a normal mean and variance, both unknown, integrated out):

$$x \sim t_{n+\nu}\Bigl(\frac{nm + \kappa\bar m}{n+\kappa},\;
   \frac{S + \nu s^2}{n+\nu}\bigl(1 + \tfrac1{n+\kappa}\bigr)\Bigr), \qquad
  s^2 = \frac{\sum_k S_k + \nu\bar s^2}{\sum_k n_k + \nu}.$$

It knows most of what it will ever know after a few rows of each class, where models that only divide classes still
learn their coefficients: an expert for the first hundreds of rows, and too sure of itself where columns repeat each
other. It is blind to the unit and the origin of every column. O(Kd) a row.
"""

import math
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, bound, compiled
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Snapshot

__all__ = ["NaiveBayesState"]

NU, KAPPA = 4.0, 0.2  # rows that the spread, and the mean, of all rows count for in those of a class
THIN = 1e-6  # of a column's variance: no class's is thought less
CONSTANT = 1e-24  # of a column's squared mean: a variance below is rounding
SURE = -40.0  # no class is announced a smaller logarithm


class NaiveBayesState:
    """Holds how many rows each class has had, and the mean and sum of squares of every column, by class and in all."""

    def __init__(self, width: int, classes: int) -> None:
        self.counts: Vector = np.zeros(classes)
        self.means: Matrix = np.zeros((classes, width))
        self.squares: Matrix = np.zeros((classes, width))
        self.overall: Matrix = np.zeros((2, width))  # mean and sum of squares of all rows
        self.rows: Vector = np.zeros(1)

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return int(self.means.shape[1])

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.counts.size

    def play(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        """Play the rows in order; `out` receives the logarithms of the probabilities before each label."""
        self.prepared(X, codes, weights, out)()

    def prepared(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the rows that these arrays hold."""
        own = self.counts, self.means, self.squares, self.overall, self.rows
        return bound(play_rows, *own, X, codes, weights, out)

    def consult(self, X: Matrix, out: Matrix) -> None:
        """Write the logarithms of the probabilities of rows, each as if it came next; changes nothing."""
        consult_rows(self.counts, self.means, self.squares, self.overall, self.rows, X, out)

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that consults, again and again, about the rows that X holds."""
        return bound(consult_rows, self.counts, self.means, self.squares, self.overall, self.rows, X, out)

    def grown(self, width: int, places: NDArray[np.int64]) -> Self:
        """Return the state of wider rows in which the columns so far are at `places`, and the others were always 0."""
        larger = type(self)(width, self.classes)
        larger.counts[...], larger.rows[...] = self.counts, self.rows
        larger.means[:, places], larger.squares[:, places] = self.means, self.squares
        larger.overall[:, places] = self.overall
        return larger

    def add_class(self) -> None:
        """Make room for one further class, which no row has had."""
        none = np.zeros((1, self.width))
        self.counts = np.append(self.counts, 0.0)
        self.means, self.squares = np.vstack([self.means, none]), np.vstack([self.squares, none])

    def snapshot(self) -> Snapshot:
        """Return all of its arrays."""
        return Snapshot("NaiveBayesState", arrays={name: array.copy() for name, array in vars(self).items()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("NaiveBayesState")
        means = given.array("means", (None, None))
        made = cls(means.shape[1], means.shape[0])
        for name, array in vars(made).items():
            array[...] = given.array(name, array.shape)
        if not all(np.isfinite(array).all() for array in vars(made).values()) or (made.counts < 0.0).any():
            raise SnapshotRefused("in a NaiveBayesState, a number is not finite, or a count is negative")
        return made


@compiled("void(f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8,f8[::1],f8[::1],f8[::1])", reassociate=True)
def score(
    counts: Vector, means: Matrix, squares: Matrix, overall: Matrix, rows: float, x: Vector, gains: Vector, out: Vector
) -> None:
    """Write the logarithms of the probabilities of a row that comes next; `gains` is workspace. O(Kd)."""
    K, d = means.shape
    labelled, varying = 0.0, 0
    for k in range(K):
        labelled += counts[k]
    out[:] = 0.0
    for j in range(d):
        moved = x[j] - overall[0, j]
        mean = overall[0, j] + moved / (rows + 1.0)
        spread = (overall[1, j] + moved * (x[j] - mean)) / (rows + 1.0)
        if not (spread > CONSTANT * mean * mean and spread < math.inf):
            continue
        varying += 1
        within = NU * spread
        for k in range(K):
            within += squares[k, j]
        within /= labelled + NU
        for k in range(K):
            n = counts[k]
            centre = (n * means[k, j] + KAPPA * mean) / (n + KAPPA)
            scale = (squares[k, j] + NU * within) / (n + NU) * (1.0 + 1.0 / (n + KAPPA))
            scale = max(scale, THIN * spread)
            away = (x[j] - centre) * (x[j] - centre) / (scale * (n + NU))
            out[k] -= 0.5 * math.log(scale / spread) + 0.5 * (n + NU + 1.0) * math.log1p(away)
    top = -math.inf
    for k in range(K):
        n = counts[k] + NU
        gains[k] = math.lgamma(0.5 * (n + 1.0)) - math.lgamma(0.5 * n) - 0.5 * math.log(n)
        out[k] += math.log(counts[k] + 0.5) + varying * gains[k]
        top = max(top, out[k])
    total = 0.0
    for k in range(K):
        total += math.exp(out[k] - top)
    for k in range(K):
        out[k] = max(out[k] - top - math.log(total), SURE)


@compiled("void(f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1])")
def play_rows(
    counts: Vector,
    means: Matrix,
    squares: Matrix,
    overall: Matrix,
    rows: Vector,
    X: Matrix,
    codes: Codes,
    weights: Vector,
    out: Matrix,
) -> None:
    """Announce the logarithm of each class's probability, then count the row, one after the other. O(Kd) a row."""
    gains = np.empty(counts.size)
    for t in range(len(X)):
        x, y, weight = X[t], codes[t], weights[t]
        score(counts, means, squares, overall, rows[0], x, gains, out[t])
        rows[0] += 1.0
        for j in range(x.size):
            moved = x[j] - overall[0, j]
            overall[0, j] += moved / rows[0]
            overall[1, j] += moved * (x[j] - overall[0, j])
        if weight > 0.0:
            counts[y] += weight
            for j in range(x.size):
                moved = x[j] - means[y, j]
                means[y, j] += moved * (weight / counts[y])
                squares[y, j] += weight * moved * (x[j] - means[y, j])


@compiled("void(f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[::1],f8[:,::1],f8[:,::1])")
def consult_rows(
    counts: Vector, means: Matrix, squares: Matrix, overall: Matrix, rows: Vector, X: Matrix, out: Matrix
) -> None:
    """Write the logarithm of each class's probability for rows, each as if it came next. O(Kd)."""
    gains = np.empty(counts.size)
    for t in range(len(X)):
        score(counts, means, squares, overall, rows[0], X[t], gains, out[t])
