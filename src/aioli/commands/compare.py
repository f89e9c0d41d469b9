"""`aioli compare`: one pass over a stream with River, Vowpal Wabbit and scikit-learn beside aioli; one table, one plot.

Nobody is tuned: every learner has its defaults, sees the same rows in the same order, prepared as its own users would
prepare them (`commands.peers`), and says each row's probability before it learns the row. Times are taken side by side,
in one thread, row after row.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from aioli.commands.class_peers import CLASS_LIBRARIES, class_peers_of
from aioli.commands.compared_classes import classes_of
from aioli.commands.comparison_display import ComparisonDisplay, columns_of_text
from aioli.commands.display import as_json, finite
from aioli.commands.findings import certificate_of
from aioli.commands.joined_labels import check_some_met, join_sentences
from aioli.commands.learner_spec import learner_for, names_classes, show_to_adversary
from aioli.commands.options import ComparisonOptions, check_answers
from aioli.commands.output_paths import check_apart, check_page
from aioli.commands.peers import LIBRARIES, peers_of
from aioli.commands.run_page import write_report
from aioli.commands.summary import check_both_classes, check_rows, find_regret
from aioli.errors import AioliError, FileRefused
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.comparison import UNTIMED, ClassPeer, Clock, Comparison, Peer
from aioli.evaluate.smoothed_scores import SmoothedScores
from aioli.evaluate.sums import Scores
from aioli.snapshots.whole_files import check_target
from aioli.streams.filestream import FileStream

__all__ = ["compare_stream"]

FIGURES = (".png", ".svg", ".pdf")
INSTALL = "pip install 'aioli-online[bench]'"
OF_CLASSES = ("top3", "macro_f1", "kappa")
COLUMNS = {  # what each is called, and how it is written
    "log_loss": ("log loss", "{:.4f}"),
    "brier": ("Brier", "{:.4f}"),
    "auc": ("AUC", "{:.4f}"),
    "ece": ("ECE", "{:.4f}"),
    "accuracy": ("accuracy", "{:.4f}"),
    "top3": ("top 3", "{:.4f}"),
    "macro_f1": ("macro F1", "{:.4f}"),
    "kappa": ("kappa", "{:.4f}"),
    "microseconds_a_row": ("µs a row", "{:,.1f}"),
    "time_ratio": ("time", "{:.3g}×"),
    "certificate": ("certificate", "{:,.1f} nats"),
}


def compare_stream(options: ComparisonOptions) -> None:
    """Play the stream to its end with everybody, and show how they did."""
    _check(options)
    classes = classes_of(options)
    if classes is not None and options.told_classes is None and not names_classes(options.learner):
        options = replace(options, classes="any")
    stream = options.stream()
    with closing(stream):
        learner = learner_for(options.learner, stream, options.told_classes)
        show_to_adversary(stream, learner)
        if isinstance(stream, FileStream):
            stream.gives_raw = classes is None and options.lateness is None
        peers, missing = _invited(options.peers, stream.sparse, classes)
        check_answers(stream, options.lateness)
        comparison = Comparison(
            stream,
            learner,
            peers,
            options.report is not None,
            turn=lambda: display.show(),
            delay=options.lateness,
            classes=classes,
            tolerant=options.reading.tolerant,
        )
        display = ComparisonDisplay(comparison, None if options.as_json or sys.stdout.isatty() else sys.stdout)
        for sentence in missing.values():
            display.say(sentence)
        _play(comparison, display)
        check_some_met(stream)
        check_rows(options.source, comparison)
        for sentence in join_sentences(stream):
            display.say(sentence)
        _write_results(options, comparison, missing)


def _play(comparison: Comparison, display: ComparisonDisplay) -> None:
    with closing(comparison):
        try:
            for _ in comparison.tables():
                display.show()
            display.end()
        except BaseException as error:
            display.wipe()
            error.add_note(f"{comparison.rows:,} rows were played")
            raise


def _check(options: ComparisonOptions) -> None:
    if unknown := [name for name in options.peers if name not in CLASS_LIBRARIES]:
        raise AioliError(f"there are no peers called {unknown[0]!r}; give some of {','.join(CLASS_LIBRARIES)}")
    _ = options.lateness  # refused before anything is played
    read = [options.source] if options.labels is None else [options.source, options.labels]
    check_apart(read, [options.report, options.figure])
    check_page(options.report)
    for path in (options.report, options.figure):
        if path is not None:
            check_target(path)
    if options.figure is not None:
        if Path(options.figure).suffix.lower() not in FIGURES:
            raise FileRefused(f"{options.figure}: a figure ends in {', '.join(FIGURES)}", path=options.figure)
        importlib.import_module("aioli.report.figures")  # a missing matplotlib is refused now, not after the last row


def _invited(
    libraries: Sequence[str], sparse: bool, classes: Sequence[str] | None
) -> tuple[dict[str, Peer | ClassPeer], dict[str, str]]:
    """Return the peers whose library is here, and for each that is not, a sentence. K classes have persistence too."""
    peers: dict[str, Peer | ClassPeer] = {}
    missing = {}
    for library in dict.fromkeys(libraries if classes is None else (*libraries, "persistence")):
        name = CLASS_LIBRARIES[library]
        if classes is None and library not in LIBRARIES:
            missing[name] = f"{name} is left out: it plays where there are more than two classes"
            continue
        try:
            peers |= peers_of(library, sparse) if classes is None else class_peers_of(library, len(classes), sparse)
        except ImportError:
            missing[name] = f"{name} is left out: it is not installed ({INSTALL})"
    return peers, missing


def _write_results(options: ComparisonOptions, comparison: Comparison, missing: Mapping[str, str]) -> None:
    left = {**missing, **{each.name: each.left for each in comparison.entrants if each.left is not None}}
    if options.report is not None:
        if options.regret:
            find_regret(comparison)
        remarks = [*(f"{sentence}." for sentence in left.values()), *_doubts(comparison)]
        pace = 1e6 / comparison.clock.microseconds  # its own, without the reading and the peers
        write_report(options, options.report, comparison, comparison.rows / pace, pace, remarks)
    if options.figure is not None:
        from aioli.report.figures import draw_comparison

        draw_comparison(comparison.history.points, comparison.name, options.figure)
    figures = _figures(comparison)
    if options.as_json:
        head = {"source": options.source, "rows": comparison.rows, "base_rate": comparison.scores.base_rate}
        head |= {} if comparison.delay is None else {"game": str(comparison.delay)}
        print(as_json({**head, "learners": figures, "left_out": left}))
    else:
        print("\n" + "\n".join(_lines(comparison, figures)))
    check_both_classes(options.source, comparison)


def _everybody(comparison: Comparison) -> dict[str, tuple[Scores | ClassScores, Clock]]:
    """Return the scores and the clock of the learner and of every peer who has not left."""
    ours = {comparison.name: (comparison.scores, comparison.clock)}
    return ours | {each.name: (each.scores, each.clock) for each in comparison.playing}


def _figures(comparison: Comparison) -> dict[str, dict[str, object]]:
    """Return every learner's figures, the best log loss first; what cannot be said is None."""
    certificate, ours = certificate_of(comparison.learner), comparison.clock.microseconds

    def figures(name: str, scores: Scores | ClassScores, clock: Clock) -> dict[str, object]:
        found: dict[str, object] = {
            "log_loss": scores.log_loss,
            "brier": scores.brier,
            "auc": scores.auc,
            "ece": scores.ece,
            "accuracy": scores.accuracy,
            **_of_classes(scores),
            "microseconds_a_row": clock.microseconds,
            "time_ratio": clock.microseconds / ours if ours else None,
            "certificate": float(certificate) if name == comparison.name and certificate is not None else None,
        }
        return {score: finite(value) for score, value in found.items()}

    ranked = sorted(_everybody(comparison).items(), key=lambda item: item[1][0].log_loss)
    return {name: figures(name, *parts) for name, parts in ranked}


def _of_classes(scores: Scores | ClassScores) -> dict[str, object]:
    """Return the figures that only K classes have."""
    if not isinstance(scores, ClassScores):
        return {}
    return {"top3": scores.top3, "macro_f1": scores.macro_f1, "kappa": scores.kappa}


def _lines(comparison: Comparison, figures: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    many = isinstance(comparison.scores, ClassScores)
    shown = {score: form for score, (_, form) in COLUMNS.items() if many or score not in OF_CLASSES}
    rows = [
        (name, *("–" if found[score] is None else form.format(found[score]) for score, form in shown.items()))
        for name, found in figures.items()
    ]
    yield from columns_of_text(("", *(COLUMNS[score][0] for score in shown)), rows)
    yield ""
    yield f"{comparison.rows:,} rows; the base rate alone has a log loss of {comparison.scores.base_rate:.4f}"
    if comparison.delay is not None:
        yield f"{comparison.delay}: everybody predicted without them, the base rate too"
    yield f"time: of {comparison.name}'s, side by side, from row {UNTIMED + 1} on"
    yield from _doubts(comparison)


def _doubts(comparison: Comparison) -> Iterator[str]:
    """Yield whose log loss would be infinite, had certainties not been read as the numbers next to them or smoothed."""
    everybody = _everybody(comparison).items()
    smoothed = {name: scores.smoothing for name, (scores, _) in everybody if isinstance(scores, SmoothedScores)}
    if parts := [f"{name} {part:g}" for name, part in smoothed.items() if part]:
        yield f"Mixed with equal shares, as is best for each in hindsight: {', '.join(parts)}."
    for name, (scores, _) in everybody:
        if name not in smoothed and (clipped := scores.clipped):
            rows = "1 row" if clipped == 1 else f"{clipped:,} rows"
            yield f"{name} gave the label of {rows} no probability at all: its log loss is a lower bound."
