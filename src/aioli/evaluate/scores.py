r"""Running scores of announced probabilities: fed block by block, in memory that does not grow, mergeable, resumable.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> auc, calibration = AUC(), Calibration()
>>> for _ in range(10):  # blocks of announced probabilities, honest ones, and the labels that came
...     p = rng.random(1000)
...     y = rng.random(1000) < p
...     for score in (auc, calibration):
...         score.update(p, y)
>>> print(f"{auc.value:.4f} ± {auc.error:.4f}, {calibration.value:.4f}")
0.8318 ± 0.0003, 0.0103
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.evaluate.sums import Score, Sums, ratio
from aioli.numerics.compiling import Vector

__all__ = ["AUC", "Accuracy", "BaseRate", "Brier", "Calibration", "LogLoss", "Reliability", "Score"]

SMALLEST = 2.0**-1074  # the next float64 above 0
LARGEST = 1.0 - 2.0**-53  # the next float64 below 1
OCTAVES = 53  # 1 - p is a multiple of 2^-53 wherever p > ½, so that this many octaves hold them all
STEPS = 256  # bins an octave
BINS = 2 * OCTAVES * STEPS + 1


class LogLoss(Sums):
    r"""Mean log loss, $-\ln p$ where the label is 1 and $-\ln(1-p)$ where it is 0, in nats a row. O(1) memory.

    Nothing is clipped but a probability of exactly 0 or 1 given to the wrong label, whose loss would be infinite: 0 is
    read as the next float64, $2^{-1074}$ (744.4 nats), and 1 as the one before, $1 - 2^{-53}$ (36.7 nats). `clipped`
    says how many rows that were, and where it is not 0, `value` is a lower bound of the loss.

    >>> score = LogLoss()
    >>> score.update([0.5, 0.25], [1, 0])
    >>> print(score, score.clipped)  # (ln 2 + ln 4/3)/2
    LogLoss(0.490415) 0
    """

    def __init__(self) -> None:
        super().__init__(rows=(), nats=(), clipped=())

    def _add(self, p: Vector, y: Vector) -> None:
        self._sums["rows"] += p.size
        self._sums["clipped"] += np.count_nonzero(p == 1.0 - y)
        positive = y == 1.0
        self._sums["nats"] -= np.log(np.maximum(p[positive], SMALLEST)).sum()
        self._sums["nats"] -= np.log1p(-np.minimum(p[~positive], LARGEST)).sum()

    @property
    def value(self) -> float:
        """Nats a row."""
        return ratio(self._sums["nats"], self._sums["rows"])

    @property
    def clipped(self) -> int:
        """How many rows gave their label no probability at all."""
        return int(self._sums["clipped"])


class BaseRate(Sums):
    r"""Mean log loss of the running base rate, $p_t = (n_1 + s)/(n_0 + n_1 + 2s)$ announced before each label. O(1).

    What a learner that looks at no column would have paid: $n_0$ and $n_1$ are the labels so far, and the smoothing s
    is ½ (Krichevsky and Trofimov) or 1 (Laplace). Its losses telescope to
    $\ln\mathrm B(s, s) - \ln\mathrm B(n_1 + s, n_0 + s)$, whatever the order of labels. The probabilities that come to
    `update` do not enter.

    >>> score = BaseRate()
    >>> score.update([0.9, 0.9, 0.1], [1, 1, 0])  # it says 1/2, 3/4 and 5/6
    >>> print(score)  # (ln 2 + ln 4/3 + ln 6)/3
    BaseRate(0.924196)
    """

    def __init__(self, smoothing: float = 0.5) -> None:
        super().__init__(zeros=(), ones=())
        if not 0 < smoothing < math.inf:
            raise ValueError(f"smoothing is {smoothing!r}; it must be a finite number above 0")
        self.smoothing = smoothing

    def _add(self, p: Vector, y: Vector) -> None:
        self._sums["ones"] += y.sum()
        self._sums["zeros"] += p.size - y.sum()

    def merge(self, other: Self) -> Self:
        """Take in the labels of another: the result is that of both streams played one after the other."""
        if type(other) is type(self) and other.smoothing != self.smoothing:
            raise ValueError(f"smoothings {other.smoothing} and {self.smoothing} cannot merge; give both the same")
        return super().merge(other)

    @property
    def value(self) -> float:
        """Nats a row."""
        s, zeros, ones = self.smoothing, self._sums["zeros"], self._sums["ones"]
        return ratio(_log_beta(s, s) - _log_beta(float(ones) + s, float(zeros) + s), zeros + ones)


class Brier(Sums):
    r"""Mean squared error of the probabilities, $\frac1n\sum (p_t - y_t)^2$: from 0 to 1, ¼ for a coin. O(1) memory.

    >>> score = Brier()
    >>> score.update([0.5, 0.9], [1, 1])
    >>> print(score)
    Brier(0.13)
    """

    def __init__(self) -> None:
        super().__init__(rows=(), squares=())

    def _add(self, p: Vector, y: Vector) -> None:
        self._sums["rows"] += p.size
        self._sums["squares"] += ((p - y) ** 2).sum()

    @property
    def value(self) -> float:
        """The mean square."""
        return ratio(self._sums["squares"], self._sums["rows"])


class Accuracy(Sums):
    """The part of rows whose label had the larger probability. O(1) memory.

    Where both are ½ it counts half a row, as a coin would get.

    >>> score = Accuracy()
    >>> score.update([0.5, 0.9, 0.8], [1, 1, 0])
    >>> print(score)
    Accuracy(0.5)
    """

    def __init__(self) -> None:
        super().__init__(rows=(), right=())

    def _add(self, p: Vector, y: Vector) -> None:
        self._sums["rows"] += p.size
        right = np.where(y == 1.0, p > 0.5, p < 0.5)
        self._sums["right"] += np.count_nonzero(right) + 0.5 * np.count_nonzero(p == 0.5)

    @property
    def value(self) -> float:
        """The part that was right."""
        return ratio(self._sums["right"], self._sums["rows"])


class AUC(Sums):
    r"""The area under the ROC curve: how often a positive row had a larger probability than a negative one. O(1).

    $$\mathrm{AUC} = \frac{1}{n_0n_1}\sum_i b_i\Bigl(\sum_{j<i} a_j + \tfrac12 a_i\Bigr), \qquad
      |\text{error}| \le \frac{1}{2n_0n_1}\sum_i a_ib_i,$$

    $a_i$ and $b_i$ the negative and positive rows in bin i. Bins keep the order of probabilities, so a pair from two
    bins is counted exactly; the $a_ib_i$ pairs within one contribute something from 0 to $a_ib_i$, and are counted as
    half of that, as ties are. The bins are 256 to each octave of p and of 1 - p (27,137 of them, 424 KiB): as fine for
    rare events as for common ones. The bound is about 0.0003 where probabilities spread; the error is far below it.

    >>> score = AUC()
    >>> score.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> print(score, score.error)
    AUC(0.75) 0.0
    """

    def __init__(self) -> None:
        super().__init__(zeros=(BINS,), ones=(BINS,))

    def _add(self, p: Vector, y: Vector) -> None:
        bins = bin_of(p)
        np.add.at(self._sums["ones"], bins, y)
        np.add.at(self._sums["zeros"], bins, 1.0 - y)

    @property
    def value(self) -> float:
        """The area."""
        zeros, ones = self._sums["zeros"], self._sums["ones"]
        below = np.cumsum(zeros) - 0.5 * zeros
        return ratio(ones @ below, zeros.sum() * ones.sum())

    @property
    def error(self) -> float:
        """How far at most `value` is from the area of the very probabilities that came."""
        zeros, ones = self._sums["zeros"], self._sums["ones"]
        return ratio(0.5 * (zeros @ ones), zeros.sum() * ones.sum())


@dataclass(frozen=True)
class Reliability:
    """Rows of like probability: how many, what was said of them on average, and what came."""

    rows: int
    announced: float
    observed: float


class Calibration(Sums):
    r"""Expected calibration error, $\sum_g \frac{n_g}{n}\,|\bar p_g - \bar y_g|$ over groups of like probability. O(1).

    The groups have equally many rows, as far as the bins allow: rows are counted in the bins of `AUC` (636 KiB), whose
    sums $n$, $\sum p$ and $\sum y$ are exact, and a bin is never divided between groups. Probabilities that are honest
    have about $\sqrt{2\,\text{groups}\,\bar p(1-\bar p)/(\pi n)}$, by chance alone.

    >>> score = Calibration()
    >>> score.update([0.25] * 4 + [0.75] * 4, [0, 0, 0, 1, 1, 1, 0, 0])
    >>> print(score)
    Calibration(0.125)
    >>> for group in score.table():
    ...     print(group)
    Reliability(rows=4, announced=0.25, observed=0.25)
    Reliability(rows=4, announced=0.75, observed=0.5)
    """

    def __init__(self, groups: int = 15) -> None:
        super().__init__(rows=(BINS,), ones=(BINS,), announced=(BINS,))
        if groups < 1:
            raise ValueError(f"groups is {groups!r}; it must be at least 1")
        self.groups = groups

    def _add(self, p: Vector, y: Vector) -> None:
        bins = bin_of(p)
        np.add.at(self._sums["rows"], bins, 1.0)
        np.add.at(self._sums["ones"], bins, y)
        np.add.at(self._sums["announced"], bins, p)

    @property
    def value(self) -> float:
        """The expected calibration error."""
        table = self.table()
        gaps = math.fsum(group.rows * abs(group.announced - group.observed) for group in table)
        return ratio(gaps, sum(group.rows for group in table))

    def table(self) -> list[Reliability]:
        """The groups, from small probabilities to large: the points of a reliability diagram."""
        rows, ones, announced = (self._sums[name] for name in ("rows", "ones", "announced"))
        middle = np.cumsum(rows) - 0.5 * rows
        group = np.minimum(middle * (self.groups / max(rows.sum(), 1.0)), self.groups - 1).astype(np.int64)
        n, positive, said = (np.bincount(group, weights, self.groups) for weights in (rows, ones, announced))
        return [
            Reliability(int(n[g]), float(said[g] / n[g]), float(positive[g] / n[g])) for g in range(self.groups) if n[g]
        ]


def _log_beta(a: float, b: float) -> float:
    r"""$\ln\mathrm B(a, b)$, to a few ulp of the largest of its terms, which n rows make about n ln n."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def bin_of(p: Vector) -> NDArray[np.int64]:
    r"""The bin of each probability: 0 to BINS - 1, never falling in p. O(1) a row.

    Below ½ a bin is a 256th of an octave $[2^{-k-1}, 2^{-k})$, $1 \le k \le 53$, and the lowest reaches down to 0; ½
    has a bin of its own; above it all is mirrored, 1 - p being exact there. Every step is exact, so order is kept.
    """
    q = np.minimum(p, 1.0 - p)
    mantissa, exponent = np.frexp(np.maximum(q, 2.0 ** -(OCTAVES + 1)))
    step = ((mantissa * 2.0 - 1.0) * STEPS).astype(np.int64) + (exponent.astype(np.int64) + OCTAVES) * STEPS
    return np.where(p <= 0.5, step, BINS - 1 - step)
