"""Sums over announced probabilities and their labels, and the scores that are functions of these sums.

Every score of the package reads sums that the loops of this file add up, row after row, so a score is the same however
the rows are cut into blocks. Sums of different rows merge by adding, and the order of rows does not matter beyond the
rounding of a sum. Counts are exact up to 2⁵³ rows. A score of no rows is NaN, and so is one that needs both labels and
has seen one.
"""

import math
from dataclasses import dataclass

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = [
    "BINS",
    "CELLS",
    "CLIPPED",
    "GROUPS",
    "LARGEST",
    "NATS",
    "RIGHT",
    "ROWS",
    "SMALLEST",
    "SMOOTHING",
    "SQUARES",
    "TOTALS",
    "Reliability",
    "add_all",
    "add_bins",
    "add_totals",
    "area_deviation",
    "area_error",
    "area_under_curve",
    "base_rate_loss",
    "bin_of",
    "calibration_error",
    "decision_table",
    "mean",
    "reliability_table",
    "tail_table",
    "threshold_curve",
]

ROWS, ONES, NATS, SQUARES, RIGHT, CLIPPED = range(6)  # entries of `totals`
TOTALS = 6
ZERO_COUNT, ONE_COUNT, ANNOUNCED = range(3)  # rows of `bins`
OCTAVES = 53  # 1 - p is a multiple of 2^-53 wherever p > ½, so that this many octaves hold them all
STEPS = 256  # bins an octave
BINS = 2 * OCTAVES * STEPS + 1
CELLS = 20  # equally wide parts of [0, 1] in the histogram
CURVE = 200  # points of a curve over thresholds
GROUPS = 15  # of like probability, in a reliability diagram
SMOOTHING = 0.5  # of the base rate: Krichevsky and Trofimov
TAIL_EDGES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35)
DECISIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # thresholds of a table
SMALLEST = 5e-324  # the next float64 above 0
LARGEST = 1.0 - 2.0**-53  # the next float64 below 1


@compiled("i8(f8)")
def bin_of(p: float) -> int:
    r"""Return the bin of a probability: 0 to BINS - 1, never falling in p. O(1).

    Below ½ a bin is a 256th of an octave $[2^{-k-1}, 2^{-k})$, $1 \le k \le 53$, and the lowest reaches down to 0; ½
    has a bin of its own; above it all is mirrored, 1 - p being exact there. Every step is exact, so order is kept.
    """
    q = min(p, 1.0 - p)
    mantissa, exponent = math.frexp(max(q, 2.0 ** -(OCTAVES + 1)))
    step = int((mantissa * 2.0 - 1.0) * STEPS) + (exponent + OCTAVES) * STEPS
    return step if p <= 0.5 else BINS - 1 - step


@compiled("void(f8,f8,f8[::1])", inline=True)
def add_row_to_totals(p: float, y: float, totals: Vector) -> None:
    """Add one row's count, label, log loss, squared error, and whether it was right or clipped. O(1)."""
    one = y == 1.0
    totals[ROWS] += 1.0
    totals[ONES] += y
    totals[NATS] -= math.log(max(p, SMALLEST)) if one else math.log1p(-min(p, LARGEST))
    totals[SQUARES] += (p - y) * (p - y)
    totals[RIGHT] += 0.5 if p == 0.5 else 1.0 if (p > 0.5) == one else 0.0
    totals[CLIPPED] += 1.0 if p == 1.0 - y else 0.0


@compiled("void(f8,f8,f8[:,::1])", inline=True)
def add_row_to_bins(p: float, y: float, bins: Matrix) -> None:
    """Count one row, by its label, in the bin of its probability, and add the probability there. O(1)."""
    b = bin_of(p)
    bins[ONE_COUNT if y == 1.0 else ZERO_COUNT, b] += 1.0
    bins[ANNOUNCED, b] += p


@compiled("void(f8[::1],f8[::1],f8[::1])")
def add_totals(p: Vector, y: Vector, totals: Vector) -> None:
    """Add rows to the totals, in their order. O(1) a row."""
    for t in range(p.size):
        add_row_to_totals(p[t], y[t], totals)


@compiled("void(f8[::1],f8[::1],f8[:,::1])")
def add_bins(p: Vector, y: Vector, bins: Matrix) -> None:
    """Add rows to the bins, in their order. O(1) a row."""
    for t in range(p.size):
        add_row_to_bins(p[t], y[t], bins)


@compiled("void(f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1])")
def add_all(p: Vector, y: Vector, totals: Vector, bins: Matrix, cells: Matrix) -> None:
    """Add rows to the totals, the bins and the histogram's cells in one pass. O(1) a row."""
    for t in range(p.size):
        add_row_to_totals(p[t], y[t], totals)
        add_row_to_bins(p[t], y[t], bins)
        cells[1 if y[t] == 1.0 else 0, min(int(p[t] * CELLS), CELLS - 1)] += 1.0


def mean(totals: Vector, which: int) -> float:
    """Return the mean over rows of one of the totals; NaN of no rows."""
    return _ratio(totals[which], totals[ROWS])


def base_rate_loss(totals: Vector, smoothing: float) -> float:
    r"""Return the base rate's mean log loss, $(\ln\mathrm B(s, s) - \ln\mathrm B(n_1 + s, n_0 + s))/(n_0 + n_1)$."""
    ones, rows = float(totals[ONES]), float(totals[ROWS])
    nats = _log_beta(smoothing, smoothing) - _log_beta(ones + smoothing, (rows - ones) + smoothing)
    return _ratio(nats, rows)


def area_under_curve(bins: Matrix) -> float:
    """Return the area under the ROC curve, two rows of one bin counted as a tie."""
    zeros, ones = bins[ZERO_COUNT], bins[ONE_COUNT]
    below = np.cumsum(zeros) - 0.5 * zeros
    return _ratio(ones @ below, zeros.sum() * ones.sum())


def area_error(bins: Matrix) -> float:
    """Return how far at most `area_under_curve` is from the area of the very probabilities that came."""
    zeros, ones = bins[ZERO_COUNT], bins[ONE_COUNT]
    return _ratio(0.5 * (zeros @ ones), zeros.sum() * ones.sum())


def area_deviation(bins: Matrix) -> float:
    r"""Return the standard deviation of the area over samples of the same law (DeLong, DeLong and Clarke-Pearson 1988).

    $\sqrt{\mathrm{var}(V_1)/n_1 + \mathrm{var}(V_0)/n_0}$: $V_1$ is, of each positive row, the share of the negative
    ones below it, and $V_0$ of each negative row that of the positive ones above it.
    """
    zeros, ones = bins[ZERO_COUNT], bins[ONE_COUNT]
    n0, n1 = float(zeros.sum()), float(ones.sum())
    if not n0 or not n1:
        return math.nan
    below = (np.cumsum(zeros) - 0.5 * zeros) / n0
    above = 1.0 - (np.cumsum(ones) - 0.5 * ones) / n1
    area = float(ones @ below) / n1
    spreads = (float(ones @ (below - area) ** 2) / n1**2, float(zeros @ (above - area) ** 2) / n0**2)
    return math.sqrt(sum(spreads))


@dataclass(frozen=True)
class Reliability:
    """Rows of like probability: how many, what was said of them on average, and what came."""

    rows: int
    announced: float
    observed: float


def reliability_table(bins: Matrix, groups: int) -> list[Reliability]:
    """Return groups of about equally many rows, from small probabilities to large; a bin is never divided."""
    rows = bins[ZERO_COUNT] + bins[ONE_COUNT]
    middle = np.cumsum(rows) - 0.5 * rows
    group = np.minimum(middle * (groups / max(rows.sum(), 1.0)), groups - 1).astype(np.int64)
    n, positive, said = (np.bincount(group, sums, groups) for sums in (rows, bins[ONE_COUNT], bins[ANNOUNCED]))
    return [Reliability(int(n[g]), float(said[g] / n[g]), float(positive[g] / n[g])) for g in range(groups) if n[g]]


def tail_table(bins: Matrix) -> list[Reliability]:
    """Return groups of rows between fixed probabilities, which are as fine near 0 and 1 as they are in the middle."""
    rows = bins[ZERO_COUNT] + bins[ONE_COUNT]
    edges = np.array([bin_of(edge) for edge in (*TAIL_EDGES, 0.5, *(1.0 - edge for edge in TAIL_EDGES[::-1]))])
    group = np.searchsorted(edges, np.arange(BINS), side="right")
    n, positive, said = (np.bincount(group, sums) for sums in (rows, bins[ONE_COUNT], bins[ANNOUNCED]))
    return [Reliability(int(n[g]), float(said[g] / n[g]), float(positive[g] / n[g])) for g in range(len(n)) if n[g]]


def decision_table(bins: Matrix) -> list[tuple[float, int, int, int]]:
    """Return thresholds, how many rows are called positive there, how many of these are, and how many are missed."""
    zeros, ones = bins[ZERO_COUNT], bins[ONE_COUNT]
    found = []
    for threshold in DECISIONS:
        first = bin_of(threshold)
        right = int(ones[first:].sum())
        found.append((threshold, right + int(zeros[first:].sum()), right, int(ones.sum()) - right))
    return found


def calibration_error(table: list[Reliability]) -> float:
    """Return the mean gap, over all rows, between what was announced and what came in the row's group."""
    gaps = math.fsum(group.rows * abs(group.announced - group.observed) for group in table)
    return _ratio(gaps, sum(group.rows for group in table))


def threshold_curve(bins: Matrix) -> list[tuple[float, float, float, float]]:
    """Return threshold, true and false positive rate, and precision: from the strictest to the most lenient."""
    zeros, ones = bins[ZERO_COUNT], bins[ONE_COUNT]
    used = np.flatnonzero(zeros + ones)[::-1]
    if not zeros.sum() or not ones.sum():
        return []
    found, false = np.cumsum(ones[used]), np.cumsum(zeros[used])
    means = bins[ANNOUNCED, used] / (zeros + ones)[used]
    both = np.maximum(found / found[-1], false / false[-1])  # evenly along the curve, whichever way it goes
    picked = np.unique(np.searchsorted(both, np.linspace(0.0, 1.0, CURVE)).clip(0, len(used) - 1))
    columns = (means, found / found[-1], false / false[-1], found / (found + false))
    return list(zip(*(column[picked].tolist() for column in columns), strict=True))


def _log_beta(a: float, b: float) -> float:
    r"""Return $\ln\mathrm B(a, b)$, to a few ulp of the largest of its terms, which n rows make about n ln n."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _ratio(total: float, rows: float) -> float:
    return float(total) / float(rows) if rows else math.nan
