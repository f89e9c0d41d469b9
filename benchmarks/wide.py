"""Wide beside Vowpal Wabbit and River on wide, sparse streams: progressive log loss, time a row, memory.

Every method says each row's probability before it sees the row's label, in file order, at its defaults. Times are
measured side by side in one run: `learn_many` on a CSR matrix, and `learn` row by row, against Vowpal Wabbit's `learn`
on lines of text that are ready made.
"""

import argparse
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from aioli import Wide
from aioli.commands.peers import VowpalWabbit
from aioli.learners.wide_rows import is_wide
from aioli.numerics.compiling import Vector
from benchmarks.scores import log_loss
from benchmarks.table import Table, as_markdown, as_text
from benchmarks.timing import Run, Spread, side_by_side
from benchmarks.wide_peers import PEERS, vw_lines

__all__ = ["main", "measured", "wide_streams"]

GOAL = 10.0  # times Vowpal Wabbit's time a row, at most
TIMED_ROWS = 3000


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table; a miss is news, not a failure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wide",
        description=__doc__,
        epilog="Without a folder, two streams made by chance are played.",
    )
    parser.add_argument("--streams", type=Path, metavar="DIR", help="NAME.svm[.gz]; those that are wide are played")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], metavar="NAME,…", help="streams")
    parser.add_argument("--rows", type=int, default=20_000, help="of each stream, from its beginning")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of the timing")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args(arguments)
    rows = []
    for name, X, y in wide_streams(options.streams, options.only, options.rows):
        rows.append(measured(name, X, y, options.repeats))
        print(" ".join(rows[-1]), flush=True)
    heading = ("stream", "rows", "columns", "a row", "Wide", *PEERS, "Wide / best", "× vw", "× vw, one row", "MB")
    notes = (
        "nats a row; `a row`: entries that are not 0; `× vw`: Wide's time over Vowpal Wabbit's, quartiles in brackets",
        f"goal: below every peer on every stream, at no more than {GOAL:g} times Vowpal Wabbit's time a row",
        "MB: all that Wide keeps, O(K d); never d²",
    )
    table = Table("Wide and sparse streams", heading, rows, notes)
    print(as_markdown(table) if options.markdown else as_text(table))


def measured(name: str, X: Any, y: Vector, repeats: int) -> tuple[str, ...]:
    """A line of the table."""
    learner = Wide()
    ours = log_loss(learner.learn_many(X, y), y)
    theirs = {peer: log_loss(play(X, y), y) for peer, play in PEERS.items()}
    bulk, single = _times(X[:TIMED_ROWS], y[:TIMED_ROWS], repeats)
    return (
        name,
        str(len(y)),
        str(X.shape[1]),
        f"{X.nnz / len(y):.0f}",
        f"{ours:.4f}",
        *(f"{loss:.4f}" for loss in theirs.values()),
        f"{ours / min(theirs.values()):.3f}",
        f"{bulk.median:.2g} ({bulk.low:.2g}–{bulk.high:.2g})",
        f"{single.median:.2g} ({single.low:.2g}–{single.high:.2g})",
        f"{learner.memory_ / 1e6:.2g}",
    )


def wide_streams(folder: Path | None, only: Sequence[str], rows: int) -> Iterator[tuple[str, Any, Vector]]:
    """The wide binary streams of the folder: names, CSR rows and labels, 1 the greater."""
    if folder is None:
        yield "made words", *_made(rows=5000, width=50_000, entries=80, often=1.2)
        yield "made clicks", *_made(rows=20_000, width=200_000, entries=20, often=1.1)
        return
    read = importlib.import_module("sklearn.datasets").load_svmlight_file
    for path in sorted([*folder.glob("*.svm"), *folder.glob("*.svm.gz")]):
        name = path.name.split(".svm")[0]
        if only and name not in only:
            continue
        X, labels = read(str(path))
        if is_wide(X) and len(np.unique(labels)) == 2:
            yield name, sparse.csr_array(X[:rows]), (labels[:rows] == labels.max()).astype(np.float64)


def _made(rows: int, width: int, entries: int, often: float) -> tuple[Any, Vector]:
    """Rows of words drawn by Zipf's law, and labels of a logistic model of which words are there."""
    rng = np.random.default_rng(0)
    drawn = np.minimum(rng.zipf(often, size=(rows, entries)), width) - 1
    ends = np.arange(rows + 1) * entries
    X = sparse.csr_array((np.ones(drawn.size), drawn.ravel(), ends), shape=(rows, width))
    X.sum_duplicates()
    logits = (X > 0) @ (2.0 * rng.normal(size=width)) / np.sqrt(entries)
    return X, (logits + rng.logistic(size=rows) > 0.0).astype(np.float64)


def _times(X: Any, y: Vector, repeats: int) -> tuple[Spread, Spread]:
    """Wide's time over Vowpal Wabbit's: the rows at once, and one by one."""
    lines, singles, labels = vw_lines(X, y), [X[[t]] for t in range(len(y))], y.tolist()

    def at_once() -> Run:
        learner = Wide()
        return lambda: learner.learn_many(X, y)

    def one_by_one() -> Run:
        learner = Wide()

        def run() -> None:
            for row, label in zip(singles, labels, strict=True):
                learner.learn(row, label)

        return run

    def vowpal_wabbit() -> Run:
        model = VowpalWabbit().workspace

        def run() -> None:
            for line in lines:
                model.learn(line)

        return run

    times = side_by_side({"vw": vowpal_wabbit, "at once": at_once, "one by one": one_by_one}, repeats)
    return Spread.of(times["at once"] / times["vw"]), Spread.of(times["one by one"] / times["vw"])


if __name__ == "__main__":
    main()
