"""Converts scores into the parts of a record."""

from typing import TypedDict

from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.scores import Reliability
from aioli.evaluate.sums import Scores
from aioli.report.record import Histogram, Number, Summary, Threshold

__all__ = ["ProbabilityParts", "probability_parts", "summary_of"]


class ProbabilityParts(TypedDict):
    """The parts of a record that show the probabilities of two classes."""

    reliability: tuple[Reliability, ...]
    histogram: Histogram
    thresholds: tuple[Threshold, ...]
    tails: tuple[Reliability, ...]
    decisions: tuple[tuple[float, int, int, int], ...]


def summary_of(scores: Scores | ClassScores, certificate: Number = None, regret: Number = None) -> Summary:
    """Return the scores of all rows, with what was proven and found beside them."""
    low, high = (None, None) if isinstance(scores, ClassScores) else scores.auc_interval
    return Summary(
        rows=scores.rows,
        log_loss=scores.log_loss,
        base_rate=scores.base_rate,
        brier=scores.brier,
        accuracy=scores.accuracy,
        auc=scores.auc,
        auc_low=low,
        auc_high=high,
        ece=scores.ece,
        certificate=certificate,
        regret=regret,
    )


def probability_parts(scores: Scores) -> ProbabilityParts:
    """Return calibration, histogram, thresholds, tails and decisions."""
    negative, positive = (tuple(int(n) for n in side) for side in scores.cells.tolist())
    return {
        "reliability": tuple(scores.reliability()),
        "histogram": Histogram(negative, positive),
        "thresholds": tuple(Threshold(*point) for point in scores.thresholds()),
        "tails": tuple(scores.tails()),
        "decisions": tuple(scores.decisions()),
    }
