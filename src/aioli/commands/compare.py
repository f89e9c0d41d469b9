"""`aioli compare`: one pass over a stream with River, Vowpal Wabbit and scikit-learn beside aioli; one table, one plot.

Nobody is tuned: every learner has its defaults, sees the same rows in the same order, and says each row's probability
before it learns the row. Times are taken side by side, in one thread, row after row.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aioli.commands.comparison_display import ContestDisplay, columns_of_text
from aioli.commands.display import as_json, finite
from aioli.commands.output_paths import check_apart
from aioli.commands.peers import LIBRARIES, peers_of
from aioli.commands.run import Options, check_label, make_learner
from aioli.commands.summary import check_both_classes, find_regret, label_names, summarised, write_report
from aioli.evaluate.comparison import UNTIMED, Clock, Comparison, Peer
from aioli.evaluate.sums import Scores
from aioli.snapshots.whole_files import check_target
from aioli.streams.protocol import Stream
from aioli.streams.synthetic_stream import SyntheticStream

__all__ = ["ComparisonOptions", "compare_stream"]

FIGURES = (".png", ".svg", ".pdf")
INSTALL = "pip install 'aioli-online[bench]'"
SCORES = ("log_loss", "brier", "auc", "ece", "accuracy")
HEADING = ("", "log loss", "Brier", "AUC", "ECE", "accuracy", "µs a row", "time", "certificate")


@dataclass(frozen=True)
class ComparisonOptions(Options):
    """What `aioli compare` was asked for: a run, the libraries of the peers, and a file for the plot."""

    peers: Sequence[str] = tuple(LIBRARIES)
    figure: str | None = None


def compare_stream(options: ComparisonOptions) -> None:
    """Play the stream to its end with everybody, and show how they did."""
    _check(options)
    stream = options.stream()
    with closing(stream):
        check_label(options, stream)
        learner = make_learner(options, stream)
        if isinstance(stream, SyntheticStream):
            stream.learner = learner
        _compare(options, stream, learner)


def _compare(options: ComparisonOptions, stream: Stream, learner: Any) -> None:
    display = ContestDisplay(None if options.as_json or sys.stdout.isatty() else sys.stdout)
    peers, missing = _invited(options.peers, stream.sparse)
    for sentence in missing.values():
        display.say(sentence)
    contest = Comparison(stream, learner, peers, watched=options.report is not None)
    try:
        for _ in contest.tables():
            display.show(contest)
        display.end(contest)
    except BaseException as error:
        display.wipe()
        error.add_note(f"{contest.rows:,} rows were played")
        raise
    finally:
        contest.close()
    if not contest.rows:
        raise ValueError(f"{options.source}: has a header but no row; there is nothing to learn from")
    _finish(options, contest, missing)


def _check(options: ComparisonOptions) -> None:
    if unknown := [name for name in options.peers if name not in LIBRARIES]:
        raise ValueError(f"there are no peers called {unknown[0]!r}; give some of {','.join(LIBRARIES)}")
    check_apart([options.source], [options.report, options.figure])
    for path in (options.report, options.figure):
        if path is not None:
            check_target(path)
    if options.figure is not None:
        if Path(options.figure).suffix.lower() not in FIGURES:
            raise ValueError(f"{options.figure}: a figure ends in {', '.join(FIGURES)}")
        importlib.import_module("aioli.report.figures")  # a missing matplotlib is told now, not after the last row


def _invited(libraries: Sequence[str], sparse: bool) -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers whose library is here, and for each that is not, a sentence."""
    peers: dict[str, Peer] = {}
    missing = {}
    for library in dict.fromkeys(libraries):
        try:
            peers |= peers_of(library, sparse)
        except ImportError:
            name = LIBRARIES[library]
            missing[name] = f"{name} is left out: it is not installed ({INSTALL})"
    return peers, missing


def _finish(options: ComparisonOptions, contest: Comparison, missing: Mapping[str, str]) -> None:
    left = {**missing, **{each.name: each.left for each in contest.entrants if each.left is not None}}
    scores = _scores(contest)
    names = label_names(contest.stream)
    if options.report is not None:
        find_regret(contest)
        remarks = [*(f"{sentence}." for sentence in left.values()), *_doubts(contest)]
        pace = 1e6 / contest.clock.microseconds  # its own, without the reading and the peers
        write_report(options, contest, names, summarised(contest, names, contest.rows / pace, pace), remarks)
    if options.figure is not None:
        figures = importlib.import_module("aioli.report.figures")
        figures.draw_comparison(contest.history, contest.name, options.figure)
    if options.as_json:
        told = {"source": options.source, "rows": contest.rows, "base_rate": contest.board.base_rate}
        print(as_json({**told, "learners": scores, "left_out": left}))
    else:
        print("\n" + "\n".join(_told(contest, scores)))
    check_both_classes(options.source, contest, names)


def _scores(contest: Comparison) -> dict[str, dict[str, Any]]:
    """Every learner's scores, the best log loss first; what cannot be said is None."""
    certificate = getattr(contest.learner, "certificate", None)
    proven = float(certificate()) if callable(certificate) else None
    boards = {contest.name: (contest.board, contest.clock)}
    boards |= {each.name: (each.board, each.clock) for each in contest.playing}
    ours = contest.clock.microseconds

    def of(name: str, board: Scores, clock: Clock) -> dict[str, Any]:
        found = {score: getattr(board, score) for score in SCORES}
        found |= {"microseconds_a_row": clock.microseconds, "time_ratio": clock.microseconds / ours if ours else None}
        found["certificate"] = proven if name == contest.name else None
        return {score: finite(value) for score, value in found.items()}

    ranked = sorted(boards.items(), key=lambda item: item[1][0].log_loss)
    return {name: of(name, *parts) for name, parts in ranked}


def _told(contest: Comparison, scores: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    forms = dict.fromkeys(SCORES, "{:.4f}")
    forms |= {"microseconds_a_row": "{:,.1f}", "time_ratio": "{:.3g}×", "certificate": "{:,.1f} nats"}
    rows = [
        (name, *("–" if found[score] is None else form.format(found[score]) for score, form in forms.items()))
        for name, found in scores.items()
    ]
    yield from columns_of_text(HEADING, rows)
    yield ""
    yield f"{contest.rows:,} rows; the base rate alone has a log loss of {contest.board.base_rate:.4f}"
    yield f"time: of {contest.name}'s, side by side, from row {UNTIMED + 1} on"
    yield from _doubts(contest)


def _doubts(contest: Comparison) -> Iterator[str]:
    """Whose log loss would be infinite, had certainties not been read as the numbers next to them."""
    boards = {contest.name: contest.board, **{each.name: each.board for each in contest.playing}}
    for name, board in boards.items():
        if clipped := board.clipped:
            rows = "1 row" if clipped == 1 else f"{clipped:,} rows"
            yield f"{name} gave the label of {rows} no probability at all: its log loss is a lower bound."
