"""The scores of K classes as functions of their sums: F1, kappa, areas, calibration and what chance allows of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aioli.evaluate.class_sums import CAME, HITS, LOST, MISSES, SAID, SUMMED
from aioli.evaluate.score_functions import CELLS, Reliability, area_error, area_under_curve, calibration_error
from aioli.evaluate.score_functions import reliability_table as table_of_bins
from aioli.numerics.compiling import Cube, Matrix, Vector

__all__ = [
    "CalibrationError",
    "ClassFigures",
    "Period",
    "calibration_of",
    "class_figures",
    "histogram_of",
    "kappa",
    "macro",
    "periods_of",
    "reliability_by_events",
]

NORMAL_95 = 1.6448536269514722  # 95 of 100 normal numbers are below so many standard deviations


@dataclass(frozen=True)
class CalibrationError:
    """An expected calibration error, and what honest probabilities would have by chance alone.

    Attributes
    ----------
    value
        The mean gap between what was announced and what came, over groups of like probability.
    by_chance
        What it would be on average if every probability were honest.
    limit
        What it would exceed 5 times in 100 if every probability were honest.
    """

    value: float
    by_chance: float
    limit: float


@dataclass(frozen=True)
class ClassFigures:
    """The figures of one class against the rest.

    Attributes
    ----------
    rows, announced
        How many rows of the class came, and how many were announced: the sum of its probabilities.
    deviation
        The standard deviation that `rows - announced` has if the probabilities are honest.
    precision, recall, f1
        Of the class as the likeliest one.
    auc, auc_error
        Area under the ROC curve of its probability, and how far at most that is from the exact area.
    calibration
        The calibration error of its probability.
    log_loss
        Mean log loss of the rows of the class.
    """

    rows: int
    announced: float
    deviation: float
    precision: float
    recall: float
    f1: float
    auc: float
    auc_error: float
    calibration: CalibrationError
    log_loss: float


@dataclass(frozen=True)
class Period:
    """An equally long part of the stream: what came of each class, and what was announced.

    Attributes
    ----------
    first, rows
        The number of its first row, from 0, and how many rows it has.
    share, announced
        The part of its rows that were of each class, and the mean probability of each class.
    log_loss
        Mean log loss of the rows of each class; NaN where none came.
    """

    first: int
    rows: int
    share: Vector
    announced: Vector
    log_loss: Vector


def kappa(confusion: Matrix) -> float:
    r"""Return Cohen's $\kappa = (a - e)/(1 - e)$: the accuracy a beyond the agreement e by chance."""
    rows = float(confusion.sum())
    if not rows:
        return math.nan
    by_chance = float(confusion.sum(axis=1) @ confusion.sum(axis=0)) / rows**2
    agreed = float(np.trace(confusion)) / rows
    return math.nan if by_chance >= 1.0 else (agreed - by_chance) / (1.0 - by_chance)


def macro(values: Sequence[float]) -> float:
    """Return the mean over classes, without those that have no value; NaN where none has."""
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def calibration_of(bins: Matrix, groups: int) -> CalibrationError:
    r"""Return the calibration error and what chance allows.

    An honest group of $n_g$ rows has a gap that is normal with deviation $\sigma_g = \sqrt{p_g(1-p_g)/n_g}$, and so
    $\sqrt{2/\pi}\,\sigma_g$ on average; the limit adds 1.64 deviations of the sum.
    """
    table = table_of_bins(bins, groups)
    total = max(sum(group.rows for group in table), 1)
    spread = [group.rows / total * math.sqrt(max(_variance(group), 0.0) / group.rows) for group in table]
    by_chance = math.sqrt(2.0 / math.pi) * math.fsum(spread)
    deviation = math.sqrt((1.0 - 2.0 / math.pi) * math.fsum(s * s for s in spread))
    return CalibrationError(calibration_error(table), by_chance, by_chance + NORMAL_95 * deviation)


def class_figures(k: int, confusion: Matrix, bins: Matrix, nats: float, groups: int) -> ClassFigures:
    """Return the figures of class k against the rest, from the confusion matrix and the class's own bins."""
    came, said = float(bins[HITS].sum()), float(bins[SUMMED].sum())
    right, named = float(confusion[k, k]), float(confusion[:, k].sum())
    table = table_of_bins(bins, groups)
    return ClassFigures(
        rows=round(came),
        announced=said,
        deviation=math.sqrt(math.fsum(group.rows * max(_variance(group), 0.0) for group in table)),
        precision=_ratio(right, named),
        recall=_ratio(right, came),
        f1=_ratio(2.0 * right, named + came),
        auc=area_under_curve(bins),
        auc_error=area_error(bins),
        calibration=calibration_of(bins, groups),
        log_loss=_ratio(nats, came),
    )


def reliability_by_events(bins: Matrix, groups: int) -> list[Reliability]:
    """Return groups in each of which about equally many events were announced; a bin is never divided."""
    said = bins[SUMMED]
    middle = np.cumsum(said) - 0.5 * said
    group = np.minimum(middle * (groups / max(float(said.sum()), 1e-300)), groups - 1).astype(np.int64)
    parts = (np.bincount(group, part, groups) for part in (bins[MISSES] + bins[HITS], bins[HITS], said))
    found = zip(*(part.tolist() for part in parts), strict=True)
    return [Reliability(round(rows), summed / rows, hits / rows) for rows, hits, summed in found if rows]


def histogram_of(bins: Matrix) -> list[tuple[float, float]]:
    """Return misses and hits in equally wide parts of [0, 1], each bin counted where its mean probability is."""
    rows = bins[MISSES] + bins[HITS]
    used = np.flatnonzero(rows)
    cell = np.minimum((bins[SUMMED, used] / rows[used] * CELLS).astype(np.int64), CELLS - 1)
    misses, hits = (np.bincount(cell, bins[side, used], CELLS).tolist() for side in (MISSES, HITS))
    return list(zip(misses, hits, strict=True))


def periods_of(periods: Cube, length: int) -> list[Period]:
    """Return the parts of the stream that have rows, in their order."""
    found = []
    for part in range(len(periods)):
        came, said, lost = periods[part, CAME], periods[part, SAID], periods[part, LOST]
        counted = float(came.sum())
        if counted:
            nats = np.divide(lost, came, out=np.full_like(lost, math.nan), where=came > 0.0)
            found.append(Period(part * length, int(counted), came / counted, said / counted, nats))
    return found


def _variance(group: Reliability) -> float:
    return group.announced * (1.0 - group.announced)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
