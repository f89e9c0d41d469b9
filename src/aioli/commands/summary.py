"""Ends a run: writes its files, computes its regret, and prints its summary."""

import sys
from collections.abc import Sequence

from aioli import __version__
from aioli.commands.class_predict import class_names
from aioli.commands.class_summary import class_details, class_figures, write_class_report
from aioli.commands.display import as_json, as_lines
from aioli.commands.joined_labels import check_some_met, join_counts, join_sentences
from aioli.commands.options import Options, RunOptions
from aioli.errors import AioliError
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.column_summary import summarize_columns
from aioli.evaluate.run import Run
from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.learners.protocol import AnyLearner, certifies, knows_classes, plays_two_classes
from aioli.learners.wide import Wide
from aioli.snapshots.whole_files import os_errors_naming
from aioli.states.certificate import Certificate
from aioli.store.models import save_model
from aioli.store.predictions import Spool, write_predictions
from aioli.streams.filestream import FileStream

__all__ = [
    "ball_of",
    "certificate_of",
    "check_both_classes",
    "check_rows",
    "find_regret",
    "write_report",
    "write_results",
]

WEIGHTS, WORDS = 30, 200  # of the largest, on the page


def write_results(options: RunOptions, run: Run, spool: Spool | None, seconds: float, rows_per_second: float) -> None:
    """Write the files that were asked for, then print the summary."""
    if options.predictions is not None and spool is not None:
        learner = run.learner
        classes = class_names(learner) if knows_classes(learner) else run.stream.labels.names
        write_predictions(options.predictions, spool, classes, options.top)
    if options.save is not None:
        save_model(options.save, run.learner, run.taught)
    find_regret(run)
    if options.report is not None:
        write_report(options, options.report, run, seconds, rows_per_second)
    summary = summarize(run, seconds, rows_per_second)
    if options.as_json and isinstance(run.scores, ClassScores):
        summary |= class_details(run.scores)
    print(as_json(summary) if options.as_json else "\n".join(["", as_lines(summary), *join_sentences(run.stream)]))


def find_regret(run: Run) -> None:
    """Add the regret to the history by a second pass, where the stream can be read twice and fits into memory."""
    learner = run.learner
    if run.stream.rereadable and not run.stream.sparse and plays_two_classes(learner):
        from aioli.evaluate.regret import AFFORDABLE, with_regret

        width = len(run.stream.features)
        if run.rows * width <= AFFORDABLE:
            run.history.points = with_regret(run.history.points, run.stream.read_again(), learner, width)


def check_rows(source: str, run: Run) -> None:
    """Refuse a stream that had no row, or whose rows had no label."""
    if not run.rows:
        check_some_met(run.stream)
        raise AioliError(f"{source}: has a header but no row; there is nothing to learn from")


def check_both_classes(source: str, run: Run) -> None:
    """Refuse a stream in which only one of the labels has come."""
    counts, names = run.stream.labels.counts, run.stream.labels.names
    if 0 in counts:
        only = names[1] if counts[1] else names[0]
        raise AioliError(
            f"{source}: every one of the {run.rows:,} rows has the label {only!r}; with one class there is "
            "nothing to tell apart"
        )


def certificate_of(learner: AnyLearner) -> Certificate | None:
    """Return the learner's certificate; None where it has none."""
    return learner.certificate() if certifies(learner) else None


def ball_of(learner: AnyLearner, certificate: Certificate) -> str:
    """Return in words the ball of models that the certificate holds against."""
    whose = f" of {certificate.against}" if certificate.against else ""
    if knows_classes(learner):
        return f"every softmax model{whose} with ‖W‖ ≤ {certificate.radius:g}"
    if _learns_functions(learner):
        return f"every function{whose or ' of the kernel'} with ‖f‖ ≤ {certificate.radius:g}"
    return f"every linear model{whose} with ‖θ‖ ≤ {certificate.radius:g}"


def _learns_functions(learner: AnyLearner) -> bool:
    """Return whether the learner is a kernel one; kernel modules are imported only where it might be."""
    if isinstance(learner, (AIOLI, Auto, Wide)):
        return False
    from aioli.learners.kernel.feature_map_learner import FeatureMapLearner
    from aioli.learners.kernel.kernel_aioli import KernelAIOLI

    return isinstance(learner, (FeatureMapLearner, KernelAIOLI))


def summarize(run: Run, seconds: float, rows_per_second: float) -> dict[str, object]:
    """Return the figures of a run, in the order in which they are read."""
    scores, certificate = run.scores, certificate_of(run.learner)
    negative, positive = run.stream.labels.names
    many = isinstance(scores, ClassScores)
    figures = class_figures(scores) if isinstance(scores, ClassScores) else {"ece": scores.ece}
    return {
        "rows": run.rows,
        **({} if run.delay is None else {"game": str(run.delay)}),
        **join_counts(run.stream),
        "log_loss": scores.log_loss,
        "clipped": scores.clipped,
        "base_rate": scores.base_rate,
        "brier": scores.brier,
        "accuracy": scores.accuracy,
        "auc": scores.auc,
        "auc_error": scores.auc_error,
        **figures,
        "certificate": None if certificate is None else float(certificate),
        "certificate_against": None if certificate is None else ball_of(run.learner, certificate),
        "regret": run.history.points[-1].regret,
        "features": len(run.stream.features),
        "shared": run.stream.shared,
        **(run.stream.told() if isinstance(run.stream, FileStream) else {}),
        **({} if many else {"positive": positive, "negative": negative}),
        "learner": repr(run.learner).partition("  #")[0],
        "seconds": seconds,
        "rows_per_second": rows_per_second,
        "peak_memory_mib": _peak_memory(),
    }


def notes_of(run: Run) -> list[str]:
    """Return sentences for the reader of the page, about the game, the certificate and what was left out."""
    scores, certificate, regret = run.scores, certificate_of(run.learner), run.history.points[-1].regret
    notes: list[str] = []
    if run.delay is not None:
        notes.append(
            f"The game: {run.delay}. Every row was announced without them, and the base rate knows a label when the "
            "learner does."
        )
    notes += join_sentences(run.stream)
    if certificate is not None:
        notes.append(f"The certificate holds against {ball_of(run.learner, certificate)}.")
    if regret is None:
        why = "the stream is too long, too wide, or cannot be read twice"
        if isinstance(scores, ClassScores):
            why = "it is for games of two classes"
        notes.append(f"The regret in hindsight was not computed: {why}.")
    if scores.clipped:
        notes.append(
            f"{scores.clipped:,} rows gave their label no probability at all; their loss is counted as that of the "
            "next float64, so that the log loss is a lower bound. Columns on one scale help (--scale)."
        )
    if run.stream.shared:
        notes.append(f"{run.stream.shared:,} values of rare categories share hashed buckets.")
    return notes


def write_report(
    options: Options, path: str, run: Run, seconds: float, rows_per_second: float, remarks: Sequence[str] = ()
) -> None:
    """Write the page of the run, with further remarks at its end."""
    from aioli.evaluate.effects import coefficients, effects, unit_of
    from aioli.evaluate.explaining import Explainer
    from aioli.report.page import write_page
    from aioli.report.record import Histogram, Record, Summary, Threshold, Weight

    scores, learner, notes = run.scores, run.learner, notes_of(run)
    certificate, regret = certificate_of(learner), run.history.points[-1].regret
    if isinstance(scores, ClassScores):
        write_class_report(options.title, path, run, scores, seconds, rows_per_second, (*notes, *remarks))
        return
    assert plays_two_classes(learner)
    found = effects(learner, run.taught)
    if found is not None:
        weights = [Weight(e.name, e.log_odds, e.uncertainty, e.probability) for e in found.steps[:WEIGHTS]]
    else:
        weights = [Weight(c.name, c.weight, c.uncertainty) for c in coefficients(learner)[:WEIGHTS]]
        if weights:
            notes.append(f"A weight is what {unit_of(learner)} adds to the log-odds.")
    background = run.background()
    explainer = None if background is None else Explainer.of_rows(learner, background, run.taught)
    negative, positive = run.stream.labels.names
    record = Record(
        title=options.title,
        learner=repr(learner),
        summary=Summary(
            rows=run.rows,
            log_loss=scores.log_loss,
            base_rate=scores.base_rate,
            brier=scores.brier,
            accuracy=scores.accuracy,
            auc=scores.auc,
            auc_error=scores.auc_error,
            ece=scores.ece,
            certificate=certificate,
            regret=regret,
        ),
        version=__version__,
        seconds=seconds,
        rows_per_second=rows_per_second,
        positive=positive,
        negative=negative,
        history=tuple(run.history.points),
        reliability=tuple(scores.reliability()),
        histogram=Histogram(*(tuple(int(n) for n in side) for side in scores.cells.tolist())),
        thresholds=tuple(Threshold(*point) for point in scores.thresholds()),
        effects=() if explainer is None else tuple(explainer.by_column()),
        words=() if explainer is None else tuple(explainer.by_word()[:WORDS]),
        weights=tuple(weights),
        average=None if found is None else found.average,
        columns=tuple(summarize_columns(run.stream, run.rows, run.extremes)),
        notes=(*notes, *remarks),
    )
    with os_errors_naming(path):
        write_page(path, record)


def _peak_memory() -> float | None:
    """Return the most memory that this process has held, in MiB; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)
