"""Ends a run: writes its files, computes its regret, and prints its summary."""

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict

from aioli.commands.class_predict import class_names
from aioli.commands.class_summary import class_details, class_figures
from aioli.commands.display import as_json, as_lines
from aioli.commands.findings import ball_of, certificate_of, changes_of, proven_sentence, warnings_of
from aioli.commands.joined_labels import check_some_met, join_counts, join_sentences
from aioli.commands.left_out import left_out
from aioli.commands.options import STANDARD_OUTPUT, RunOptions
from aioli.commands.run_page import write_report
from aioli.errors import AioliError
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.run import Run
from aioli.evaluate.sums import Scores
from aioli.evaluate.windows import Change
from aioli.learners.protocol import knows_classes, plays_two_classes
from aioli.store.models import save_model
from aioli.store.predictions import write_predictions
from aioli.store.spool import Spool
from aioli.streams.filestream import FileStream
from aioli.streams.many_labels import ManyLabels

__all__ = [
    "check_both_classes",
    "check_rows",
    "find_regret",
    "write_results",
]


def write_results(options: RunOptions, run: Run, spool: Spool | None, seconds: float, rows_per_second: float) -> None:
    """Write the files that were asked for, then print the summary."""
    if options.predictions is not None and spool is not None:
        learner = run.learner
        classes = class_names(learner) if knows_classes(learner) else run.stream.labels.names
        write_predictions(options.predictions, spool, classes, options.top)
    if options.save is not None:
        save_model(options.save, run.learner, run.taught)
    hindsight = options.regret and options.model is None and options.by is None
    regret_seconds = find_regret(run) if hindsight else None
    if options.report is not None:
        write_report(options, options.report, run, seconds, rows_per_second)
    summary = summarize(run, seconds, rows_per_second, regret_seconds)
    if options.as_json and isinstance(run.scores, ClassScores):
        summary |= class_details(run.scores)
    lines = ["", as_lines(_in_words(summary)), *join_sentences(run.stream)]
    out = sys.stderr if options.predictions == STANDARD_OUTPUT else sys.stdout
    print(as_json(summary) if options.as_json else "\n".join(lines), file=out)


def _in_words(summary: Mapping[str, object]) -> dict[str, object]:
    """Return the summary as lines of text show it: changes and warnings in words, or not at all."""
    changes, warnings = summary.get("changes"), summary["warnings"]
    words = {name: _listed(value) for name, value in summary.items() if name not in ("changes", "warnings")}
    if isinstance(changes, list) and changes:
        words["changes"] = "; ".join(change["said"] for change in changes)
    if isinstance(warnings, list) and warnings:
        words["warnings"] = "; ".join(warnings)
    return words


def _listed(value: object) -> object:
    """Return a list as words, and anything else as it is."""
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else value


def _by_key(run: Run) -> dict[str, object]:
    """Return what is said of the keys, where every key has a model."""
    if run.by_key is None:
        return {}
    from aioli.commands.by_key import key_figures

    return key_figures(run.by_key)


def find_regret(run: Run) -> float | None:
    """Add the regret to the history by a second pass, where the stream can be read twice and fits into memory.

    Returns the seconds that it took; None where there is none.
    """
    learner, begun = run.learner, time.perf_counter()
    if run.skipped is not None and run.skipped.count:
        return None  # which rows the learner refused is not known at a second pass
    if not run.stream.rereadable or run.stream.sparse:
        return None
    from aioli.evaluate.regret import AFFORDABLE, with_regret

    width, points = len(run.stream.features), run.history.points
    if plays_two_classes(learner):
        if run.rows * width > AFFORDABLE:
            return None
        run.history.points = with_regret(points, run.stream.read_again(), learner, width)
        return time.perf_counter() - begun
    from aioli.evaluate.class_regret import with_class_regret

    assert knows_classes(learner)
    labels = run.stream.labels
    two_first = isinstance(labels, ManyLabels) and labels.roles
    run.history.points = with_class_regret(points, run.stream.read_again(), learner, width, two_first=two_first)
    return None if points is run.history.points else time.perf_counter() - begun


def check_rows(source: str, run: Run) -> None:
    """Refuse a stream that had no row, or whose rows had no label."""
    if not run.rows:
        check_some_met(run.stream)
        if out := left_out(run):
            said = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in out.items())
            raise AioliError(f"{source}: there is no row to learn from ({said})")
        raise AioliError(f"{source}: has a header but no row; there is nothing to learn from")


def check_both_classes(source: str, run: Run) -> None:
    """Refuse a stream in which only one of the labels has come."""
    counts, names = run.stream.labels.counts, run.stream.labels.names
    if not counts[1] and run.stream.labels.rest:
        raise AioliError(f"{source}: no row has the positive label {names[1]!r}; {run.stream.labels.told()}")
    if sum(count > 0 for count in counts) < 2:
        only = names[1] if counts[1] else names[0]
        raise AioliError(
            f"{source}: every one of the {run.rows:,} rows has the label {only!r}; with one class there is "
            "nothing to tell apart"
        )


def _with_earlier_rows(run: Run) -> dict[str, object]:
    """Return the rows that a model had learned from before this run, and its log loss over those and these."""
    before = run.learner.rounds - run.rows
    if before <= 0 or run.delay is not None:
        return {}
    return {"rows_before": before, "log_loss_with_those": run.learner.loss / run.learner.rounds}


def summarize(
    run: Run, seconds: float, rows_per_second: float, regret_seconds: float | None = None
) -> dict[str, object]:
    """Return the figures of a run, in the order in which they are read."""
    scores, certificate = run.scores, certificate_of(run.learner)
    negative, positive = run.stream.labels.names
    many = isinstance(scores, ClassScores)
    figures = class_figures(scores) if isinstance(scores, ClassScores) else _two_class_figures(scores)
    return {
        "rows": run.rows,
        **({} if run.delay is None else {"game": str(run.delay)}),
        **join_counts(run.stream),
        **left_out(run),
        "log_loss": scores.log_loss,
        **_with_earlier_rows(run),
        "clipped": scores.clipped,
        "base_rate": scores.base_rate,
        "brier": scores.brier,
        "accuracy": scores.accuracy,
        "auc": scores.auc,
        **figures,
        "certificate": None if certificate is None else float(certificate),
        "certificate_against": None if certificate is None else ball_of(run.learner, certificate),
        "proven": proven_sentence(scores, certificate),
        "regret": run.history.points[-1].regret,
        "regret_seconds": regret_seconds,
        "features": len(run.stream.features),
        "shared": run.stream.shared,
        **(run.stream.told() if isinstance(run.stream, FileStream) else {}),
        **({} if many else {"positive": positive, "negative": negative}),
        "learner": repr(run.learner).partition("  #")[0],
        "seconds": seconds,
        "rows_per_second": rows_per_second,
        "peak_memory_mib": _peak_memory(),
        **({} if many else {"changes": [_plain_change(change) for change in changes_of(run)]}),
        "warnings": warnings_of(run),
        **_by_key(run),
    }


def _two_class_figures(scores: Scores) -> dict[str, object]:
    low, high = scores.auc_interval
    return {"auc_low": low, "auc_high": high, "ece": scores.ece}


def _plain_change(change: Change) -> dict[str, object]:
    return {**asdict(change), "said": str(change)}


def _peak_memory() -> float | None:
    """Return the most memory that this process has held, in MiB; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)
