"""What rows cost one at a time and in small groups, as a service calls: Auto, fast and default, beside River's forest.

The stream bends, so the default's companions play all the time; in its first thousand rows they play on any stream.
"""

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aioli import Auto
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.snapshots.tree import Snapshot
from benchmarks.blas_threads import blas_threads
from benchmarks.table import Table, as_markdown

__all__ = ["main"]

GROUPS = (1, 4, 16, 64, 256)  # rows a call
KNOWN = 1100  # rows that a learner has learned from before it is timed: nothing is made anew while it is
ROWS = 512  # rows that are timed
FOREST_ROWS = 128  # of them, for River's forest, which takes its time


def main(arguments: Sequence[str] | None = None) -> None:
    """Print microseconds of processor time a row, the least of several rounds: others may use the machine too."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_rows", description=__doc__)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    X, y = crossed_stream(KNOWN + ROWS, options.columns)
    with blas_threads(1):
        fast, usual = (_learned(budget, X[:KNOWN], y[:KNOWN]) for budget in ("fast", "usual"))
        rows = [_group(group, fast, usual, X[KNOWN:], y[KNOWN:], options.rounds) for group in GROUPS]
        forest = _forest(X, y)
    notes = [f"River's adaptive random forest: {forest[0]:.0f} to predict a row, {forest[1]:.0f} to learn it"]
    heading = ("rows a call", "fast: announce", "learn", "default: announce", "learn")
    print(as_markdown(Table(f"µs of processor time a row, {options.columns} columns", heading, rows, notes)))


def crossed_stream(rows: int, columns: int) -> tuple[Matrix, Vector]:
    """Return rows whose label depends on how two columns go together: no column alone says anything of it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(rows, columns))
    logits = 12.0 * np.sin(3.0 * X[:, 0]) * X[:, 1]
    return X, (rng.random(rows) < sigmoid_many(logits)).astype(np.float64)


def _learned(budget: str, X: Matrix, y: Vector) -> Snapshot:
    learner = Auto(budget=budget)
    learner.learn_many(X, y)
    learner.learn(X[0], y[0], announced=learner.announce(X[0]))
    return learner.snapshot()


def _group(group: int, fast: Snapshot, usual: Snapshot, X: Matrix, y: Vector, rounds: int) -> list[str]:
    """Return a line of the table: what rows cost in groups of this size."""
    least = [np.min([_seconds(known, group, X, y) for _ in range(rounds)], axis=0) for known in (fast, usual)]
    return [str(group), *(f"{1e6 * seconds / len(y):.0f}" for pair in least for seconds in pair)]


def _seconds(known: Snapshot, group: int, X: Matrix, y: Vector) -> tuple[float, float]:
    """Return how long it takes to announce all rows, and to learn them, group after group."""
    learner = Auto.restore(known)
    announcing = learning = 0.0
    for first in range(0, len(y), group):
        part = slice(first, first + group)
        begin = time.process_time()
        announced = learner.announce_many(X[part])
        between = time.process_time()
        learner.learn_many(X[part], y[part], announced=announced)
        end = time.process_time()
        announcing += between - begin
        learning += end - between
    return announcing, learning


def _processor_time(run: Callable[[], None]) -> float:
    """Return the seconds of processor time that a run takes."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def _forest(X: Matrix, y: Vector) -> tuple[float, float]:
    """Return the microseconds in which River's adaptive random forest predicts a row and learns it."""
    model: Any = importlib.import_module("river.forest").ARFClassifier(seed=0)
    rows = [dict(enumerate(x)) for x in X.tolist()]
    labels = [bool(label) for label in y]
    for row, label in zip(rows[:-FOREST_ROWS], labels, strict=False):
        model.learn_one(row, label)
    shown, told = rows[-FOREST_ROWS:], labels[-FOREST_ROWS:]

    def predict() -> None:
        for row in shown:
            model.predict_proba_one(row)

    def learn() -> None:
        for row, label in zip(shown, told, strict=True):
            model.learn_one(row, label)

    return 1e6 * _processor_time(predict) / FOREST_ROWS, 1e6 * _processor_time(learn) / FOREST_ROWS


if __name__ == "__main__":
    main()
