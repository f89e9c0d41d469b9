"""The record of a run of K classes that its report shows: that of any run, and what belongs to the classes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from aioli.evaluate.class_functions import CalibrationError, ClassFigures, Period
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.score_functions import Reliability
from aioli.report.record import Number, Record

__all__ = ["ClassRecord", "record_of_classes"]


@dataclass(frozen=True)
class ClassRecord:
    """A whole run of K classes. What is empty has no place on the page.

    Attributes
    ----------
    run
        What a run of two classes has too: its title, history, columns and notes; accuracy, Brier, base rate.
    classes
        What the classes are called, in the order in which people would list them.
    top3, macro_f1, kappa
        Of the whole run.
    confusion
        Rows of each class that came (outer), by the likeliest class (inner).
    figures, reliability
        Of each class.
    confidence, confidence_reliability
        The calibration of the likeliest class's probability, and the points of its diagram.
    sure
        How often the likeliest class did not come and came, in equally wide parts of its probability from 0 to 1.
    class_ece, class_ece_limit
        The mean over classes of the calibration error, and of what chance allows.
    periods
        Parts of the stream, with shares and losses of every class.
    """

    run: Record
    classes: Sequence[str] = ()
    top3: Number = None
    macro_f1: Number = None
    kappa: Number = None
    confusion: Sequence[Sequence[float]] = ()
    figures: Sequence[ClassFigures] = ()
    reliability: Sequence[Sequence[Reliability]] = ()
    confidence: CalibrationError | None = None
    confidence_reliability: Sequence[Reliability] = ()
    sure: Sequence[tuple[float, float]] = ()
    class_ece: Number = None
    class_ece_limit: Number = None
    periods: Sequence[Period] = field(default_factory=tuple)


def record_of_classes(run: Record, scores: ClassScores) -> ClassRecord:
    """Return the record of a run from its scores; classes are in the order of their numbers, or of the alphabet."""
    names = [str(label) for label in scores.classes]
    order = sorted(range(len(names)), key=lambda k: _natural(names[k]))
    figures, confusion = scores.by_class(), scores.confusion
    return ClassRecord(
        run=run,
        classes=[names[k] for k in order],
        top3=scores.top3,
        macro_f1=scores.macro_f1,
        kappa=scores.kappa,
        confusion=confusion[order][:, order].tolist(),
        figures=[figures[k] for k in order],
        reliability=[scores.reliability(k) for k in order],
        confidence=scores.confidence,
        confidence_reliability=scores.reliability(),
        sure=scores.sureness(),
        class_ece=scores.class_ece,
        class_ece_limit=scores.class_ece_limit,
        periods=[
            Period(p.first, p.rows, p.share[order], p.announced[order], p.log_loss[order]) for p in scores.periods()
        ],
    )


def _natural(name: str) -> tuple[tuple[bool, float, str], ...]:
    """Return a key to sort by: texts by the alphabet, and the whole numbers within them by their size."""
    try:
        return ((False, float(name), ""),)
    except ValueError:
        parts = re.split(r"([0-9]{1,15})", name)
        return tuple((not part.isdecimal(), float(part) if part.isdecimal() else 0.0, part) for part in parts if part)
