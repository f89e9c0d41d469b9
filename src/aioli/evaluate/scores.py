r"""Running scores of announced probabilities: fed block by block, in memory that does not grow, mergeable, resumable.

Each class is one score of the sums that `evaluate.score_functions` adds up; `evaluate.sums.Scores` has all of them.

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
from abc import abstractmethod
from typing import Self

from aioli.errors import ParameterRefused
from aioli.evaluate import score_functions as functions
from aioli.evaluate.score_functions import GROUPS, SMOOTHING, Reliability
from aioli.evaluate.sums import Score, Sums
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["AUC", "Accuracy", "BaseRate", "Brier", "Calibration", "LogLoss", "Reliability", "Score"]


class _OneScore(Sums):
    """A score of one value."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The score of all rows so far."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value:.6g})"


class _OfTotals(_OneScore):
    """A score that is a function of a few totals."""

    def __init__(self) -> None:
        super().__init__(totals=(functions.TOTALS,))
        self._totals = self._sums["totals"]

    def _add(self, p: Vector, y: Vector) -> None:
        functions.add_totals(p, y, self._totals)


class _OfBins(_OneScore):
    """A score that is a function of rows counted in bins of like probability."""

    def __init__(self) -> None:
        super().__init__(bins=(3, functions.BINS))
        self._bins: Matrix = self._sums["bins"]

    def _add(self, p: Vector, y: Vector) -> None:
        functions.add_bins(p, y, self._bins)


class LogLoss(_OfTotals):
    r"""Mean log loss, $-\ln p$ where the label is 1 and $-\ln(1-p)$ where it is 0, in nats a row. O(1) memory.

    Nothing is clipped but a probability of exactly 0 or 1 given to the wrong label, whose loss would be infinite: 0 is
    read as the next float64, $2^{-1074}$ (744.4 nats), and 1 as the one before, $1 - 2^{-53}$ (36.7 nats). `clipped`
    says how many rows that were, and where it is not 0, `value` is a lower bound of the loss.

    >>> score = LogLoss()
    >>> score.update([0.5, 0.25], [1, 0])
    >>> print(score, score.clipped)  # (ln 2 + ln 4/3)/2
    LogLoss(0.490415) 0
    """

    @property
    def value(self) -> float:
        """Nats a row."""
        return functions.mean(self._totals, functions.NATS)

    @property
    def clipped(self) -> int:
        """How many rows gave their label no probability at all."""
        return int(self._totals[functions.CLIPPED])


class BaseRate(_OfTotals):
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

    def __init__(self, smoothing: float = SMOOTHING) -> None:
        super().__init__()
        if not 0 < smoothing < math.inf:
            raise ParameterRefused(
                f"smoothing is {smoothing!r}; it must be a finite number above 0",
                parameter="smoothing",
                value=smoothing,
            )
        self.smoothing = smoothing

    def _parameters(self) -> dict[str, Plain]:
        return {"smoothing": self.smoothing}

    @classmethod
    def _made_for(cls, snapshot: Snapshot) -> Self:
        return cls(snapshot.number("smoothing"))

    def merge(self, other: Self) -> Self:
        """Take in the labels of another: the result is that of both streams played one after the other."""
        if type(other) is type(self) and other.smoothing != self.smoothing:
            raise ParameterRefused(
                f"smoothings {other.smoothing} and {self.smoothing} cannot merge; give both the same",
                parameter="smoothing",
                value=other.smoothing,
            )
        return super().merge(other)

    @property
    def value(self) -> float:
        """Nats a row."""
        return functions.base_rate_loss(self._totals, self.smoothing)


class Brier(_OfTotals):
    r"""Mean squared error of the probabilities, $\frac1n\sum (p_t - y_t)^2$: from 0 to 1, ¼ for a coin. O(1) memory.

    >>> score = Brier()
    >>> score.update([0.5, 0.9], [1, 1])
    >>> print(score)
    Brier(0.13)
    """

    @property
    def value(self) -> float:
        """The mean square."""
        return functions.mean(self._totals, functions.SQUARES)


class Accuracy(_OfTotals):
    """The part of rows whose label had the larger probability. O(1) memory.

    Where both are ½ it counts half a row, as a coin would get.

    >>> score = Accuracy()
    >>> score.update([0.5, 0.9, 0.8], [1, 1, 0])
    >>> print(score)
    Accuracy(0.5)
    """

    @property
    def value(self) -> float:
        """The part that was right."""
        return functions.mean(self._totals, functions.RIGHT)


class AUC(_OfBins):
    r"""The area under the ROC curve: how often a positive row had a larger probability than a negative one. O(1).

    $$\mathrm{AUC} = \frac{1}{n_0n_1}\sum_i b_i\Bigl(\sum_{j<i} a_j + \tfrac12 a_i\Bigr), \qquad
      |\text{error}| \le \frac{1}{2n_0n_1}\sum_i a_ib_i,$$

    $a_i$ and $b_i$ the negative and positive rows in bin i. Bins keep the order of probabilities, so a pair from two
    bins is counted exactly; the $a_ib_i$ pairs within one contribute something from 0 to $a_ib_i$, and are counted as
    half of that, as ties are. The bins are 256 to each octave of p and of 1 - p (27,137 of them, 636 KiB): as fine for
    rare events as for common ones. The bound is about 0.0003 where probabilities spread; the error is far below it.

    >>> score = AUC()
    >>> score.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> print(score, score.error)
    AUC(0.75) 0.0
    """

    @property
    def value(self) -> float:
        """The area."""
        return functions.area_under_curve(self._bins)

    @property
    def error(self) -> float:
        """How far at most `value` is from the area of the very probabilities that came."""
        return functions.area_error(self._bins)


class Calibration(_OfBins):
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

    def __init__(self, groups: int = GROUPS) -> None:
        super().__init__()
        if groups < 1:
            raise ParameterRefused(f"groups is {groups!r}; it must be at least 1", parameter="groups", value=groups)
        self.groups = groups

    def _parameters(self) -> dict[str, Plain]:
        return {"groups": self.groups}

    @classmethod
    def _made_for(cls, snapshot: Snapshot) -> Self:
        return cls(snapshot.whole("groups", least=1))

    @property
    def value(self) -> float:
        """The expected calibration error."""
        return functions.calibration_error(self.table())

    def table(self) -> list[Reliability]:
        """Return the groups, from small probabilities to large: the points of a reliability diagram."""
        return functions.reliability_table(self._bins, self.groups)
