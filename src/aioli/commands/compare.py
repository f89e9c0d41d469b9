"""`aioli compare`: one pass over a stream with River, Vowpal Wabbit and scikit-learn beside aioli; one table, one plot.

Nobody is tuned: every learner has its defaults, sees the same rows in the same order, and says each row's probability
before it learns the row. Times are taken side by side, in one thread, row after row.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from aioli.commands.comparison_display import ComparisonDisplay, columns_of_text
from aioli.commands.display import as_json, finite
from aioli.commands.learner_spec import learner_for, show_to_adversary
from aioli.commands.options import ComparisonOptions, check_answers
from aioli.commands.output_paths import check_apart
from aioli.commands.peers import LIBRARIES, peers_of
from aioli.commands.summary import certificate_of, check_both_classes, check_rows, find_regret, write_report
from aioli.errors import AioliError, FileRefused
from aioli.evaluate.comparison import UNTIMED, Clock, Comparison, Peer
from aioli.evaluate.sums import Scores
from aioli.learners.protocol import plays_two_classes
from aioli.snapshots.whole_files import check_target

__all__ = ["compare_stream"]

FIGURES = (".png", ".svg", ".pdf")
INSTALL = "pip install 'aioli-online[bench]'"
HEADING = ("", "log loss", "Brier", "AUC", "ECE", "accuracy", "µs a row", "time", "certificate")
FORMS = {
    "log_loss": "{:.4f}",
    "brier": "{:.4f}",
    "auc": "{:.4f}",
    "ece": "{:.4f}",
    "accuracy": "{:.4f}",
    "microseconds_a_row": "{:,.1f}",
    "time_ratio": "{:.3g}×",
    "certificate": "{:,.1f} nats",
}


def compare_stream(options: ComparisonOptions) -> None:
    """Play the stream to its end with everybody, and show how they did."""
    _check(options)
    stream = options.stream()
    with closing(stream):
        learner = learner_for(options.learner, stream, options.told_classes)
        show_to_adversary(stream, learner)
        if not plays_two_classes(learner):
            raise AioliError("peers play the game of two classes; leave out classes")
        peers, missing = _invited(options.peers, stream.sparse)
        check_answers(stream, options.lateness)
        comparison = Comparison(
            stream,
            learner,
            peers,
            options.report is not None,
            turn=lambda: display.show(),
            delay=options.lateness,
        )
        display = ComparisonDisplay(comparison, None if options.as_json or sys.stdout.isatty() else sys.stdout)
        for sentence in missing.values():
            display.say(sentence)
        _play(comparison, display)
        check_rows(options.source, comparison)
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
    if unknown := [name for name in options.peers if name not in LIBRARIES]:
        raise AioliError(f"there are no peers called {unknown[0]!r}; give some of {','.join(LIBRARIES)}")
    _ = options.lateness  # refused before anything is played
    check_apart([options.source], [options.report, options.figure])
    for path in (options.report, options.figure):
        if path is not None:
            check_target(path)
    if options.figure is not None:
        if Path(options.figure).suffix.lower() not in FIGURES:
            raise FileRefused(f"{options.figure}: a figure ends in {', '.join(FIGURES)}", path=options.figure)
        importlib.import_module("aioli.report.figures")  # a missing matplotlib is refused now, not after the last row


def _invited(libraries: Sequence[str], sparse: bool) -> tuple[dict[str, Peer], dict[str, str]]:
    """Return the peers whose library is here, and for each that is not, a sentence."""
    peers: dict[str, Peer] = {}
    missing = {}
    for library in dict.fromkeys(libraries):
        try:
            peers |= peers_of(library, sparse)
        except ImportError:
            name = LIBRARIES[library]
            missing[name] = f"{name} is left out: it is not installed ({INSTALL})"
    return peers, missing


def _write_results(options: ComparisonOptions, comparison: Comparison, missing: Mapping[str, str]) -> None:
    left = {**missing, **{each.name: each.left for each in comparison.entrants if each.left is not None}}
    if options.report is not None:
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


def _everybody(comparison: Comparison) -> dict[str, tuple[Scores, Clock]]:
    """Return the scores and the clock of the learner and of every peer who has not left."""
    scores = comparison.scores
    assert isinstance(scores, Scores)
    ours = {comparison.name: (scores, comparison.clock)}
    return ours | {each.name: (each.scores, each.clock) for each in comparison.playing}


def _figures(comparison: Comparison) -> dict[str, dict[str, object]]:
    """Return every learner's figures, the best log loss first; what cannot be said is None."""
    certificate, ours = certificate_of(comparison.learner), comparison.clock.microseconds

    def figures(name: str, scores: Scores, clock: Clock) -> dict[str, object]:
        found = {
            "log_loss": scores.log_loss,
            "brier": scores.brier,
            "auc": scores.auc,
            "ece": scores.ece,
            "accuracy": scores.accuracy,
            "microseconds_a_row": clock.microseconds,
            "time_ratio": clock.microseconds / ours if ours else None,
            "certificate": float(certificate) if name == comparison.name and certificate is not None else None,
        }
        return {score: finite(value) for score, value in found.items()}

    ranked = sorted(_everybody(comparison).items(), key=lambda item: item[1][0].log_loss)
    return {name: figures(name, *parts) for name, parts in ranked}


def _lines(comparison: Comparison, figures: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    rows = [
        (name, *("–" if found[score] is None else form.format(found[score]) for score, form in FORMS.items()))
        for name, found in figures.items()
    ]
    yield from columns_of_text(HEADING, rows)
    yield ""
    yield f"{comparison.rows:,} rows; the base rate alone has a log loss of {comparison.scores.base_rate:.4f}"
    if comparison.delay is not None:
        yield f"{comparison.delay}: everybody predicted without them, the base rate too"
    yield f"time: of {comparison.name}'s, side by side, from row {UNTIMED + 1} on"
    yield from _doubts(comparison)


def _doubts(comparison: Comparison) -> Iterator[str]:
    """Yield whose log loss would be infinite, had certainties not been read as the numbers next to them."""
    for name, (scores, _) in _everybody(comparison).items():
        if clipped := scores.clipped:
            rows = "1 row" if clipped == 1 else f"{clipped:,} rows"
            yield f"{name} gave the label of {rows} no probability at all: its log loss is a lower bound."
