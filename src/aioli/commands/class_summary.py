"""Computes the figures of a run of K classes that its summary shows, and writes its page."""

from collections.abc import Sequence
from dataclasses import asdict

from aioli import __version__
from aioli.commands.display import finite
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.column_summary import summarize_columns
from aioli.evaluate.run import Run
from aioli.snapshots.whole_files import os_errors_naming

__all__ = ["class_details", "class_figures", "write_class_report"]


def class_figures(scores: ClassScores) -> dict[str, object]:
    """Return the figures that only a run of K classes has, for its summary."""
    return {
        "ece": scores.ece,
        "ece_by_chance": scores.confidence.limit,
        "class_ece": scores.class_ece,
        "class_ece_by_chance": scores.class_ece_limit,
        "top3": scores.top3,
        "macro_f1": scores.macro_f1,
        "kappa": scores.kappa,
        "classes": len(scores.classes),
    }


def class_details(scores: ClassScores) -> dict[str, object]:
    """Return the figures of every class and the confusion matrix, for the JSON object: by label, and in their order."""
    figures = {
        str(label): {name: _plain(value) for name, value in asdict(one).items()}
        for label, one in zip(scores.classes, scores.by_class(), strict=True)
    }
    return {"by_class": figures, "confusion": scores.confusion.tolist()}


def write_class_report(
    title: str, path: str, run: Run, scores: ClassScores, seconds: float, rows_per_second: float, notes: Sequence[str]
) -> None:
    """Write the page of a run of K classes."""
    from aioli.report.class_page import write_class_page
    from aioli.report.class_record import record_of_classes
    from aioli.report.of_scores import summary_of
    from aioli.report.record import Record

    points = run.history.points
    record = Record(
        title=title,
        learner=repr(run.learner),
        summary=summary_of(scores, points[-1].certificate, points[-1].regret),
        version=__version__,
        seconds=seconds,
        rows_per_second=rows_per_second,
        history=tuple(points),
        columns=tuple(summarize_columns(run.stream, run.rows, run.extremes)),
        notes=tuple(notes),
    )
    with os_errors_naming(path):
        write_class_page(path, record_of_classes(record, scores))


def _plain(value: object) -> object:
    """Return a figure, or the figures within it, as JSON can hold them."""
    return {name: finite(part) for name, part in value.items()} if isinstance(value, dict) else finite(value)
