"""Gathers what the page of a run shows."""

import time
from collections.abc import Sequence

from aioli import __version__
from aioli.commands.class_summary import write_class_report
from aioli.commands.findings import ball_of, certificate_of, changes_of, proven_sentence, warnings_of
from aioli.commands.joined_labels import join_sentences
from aioli.commands.left_out import left_out_sentences
from aioli.commands.options import Options
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.column_summary import summarize_columns
from aioli.evaluate.effects import coefficients, effects, unit_of
from aioli.evaluate.explaining import Explainer
from aioli.evaluate.run import Run
from aioli.learners.protocol import plays_two_classes
from aioli.snapshots.whole_files import os_errors_naming

__all__ = ["write_report"]

WEIGHTS, WORDS = 30, 200  # of the largest, on the page


def notes_of(run: Run) -> list[str]:
    """Return sentences for the reader of the page, about the game, the certificate and what was left out."""
    scores, certificate, regret = run.scores, certificate_of(run.learner), run.history.points[-1].regret
    notes: list[str] = []
    if run.delay is not None:
        notes.append(
            f"The game: {run.delay}. Every row was announced without them, and the base rate knows a label when the "
            "learner does."
        )
    notes += [*join_sentences(run.stream), *left_out_sentences(run)]
    if certificate is not None:
        notes.append(f"The certificate holds against {ball_of(run.learner, certificate)}.")
    if regret is None:
        why = "the stream is too long, too wide, or cannot be read twice"
        if isinstance(scores, ClassScores):
            why = "there is none for this learner, or too many rows, columns or classes"
        if run.by_key is not None:
            why = "every key has a model of its own"
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
    from aioli.commands.by_key import key_tables
    from aioli.report.of_scores import probability_parts, summary_of
    from aioli.report.page import write_page
    from aioli.report.record import Record, Weight

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
        summary=summary_of(scores, certificate, regret),
        version=__version__,
        seconds=seconds,
        rows_per_second=rows_per_second,
        positive=positive,
        negative=negative,
        history=tuple(run.history.points),
        effects=() if explainer is None else tuple(explainer.by_column()),
        words=() if explainer is None else tuple(explainer.by_word()[:WORDS]),
        weights=tuple(weights),
        average=None if found is None else found.average,
        columns=tuple(summarize_columns(run.stream, run.rows, run.extremes)),
        notes=(*notes, *remarks),
        label=run.stream.label or "",
        command=options.command,
        date=time.strftime("%Y-%m-%d"),
        warnings=tuple(warnings_of(run)),
        proven=proven_sentence(scores, certificate) or "",
        windows=tuple(run.scoring.windows.list()),
        changes=tuple(changes_of(run)),
        **probability_parts(scores),
        keys=None if run.by_key is None else key_tables(run.by_key),
    )
    with os_errors_naming(path):
        write_page(path, record)
