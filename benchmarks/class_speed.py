"""AIOLI of many classes against River's SoftmaxRegression: announce and learn one row at a time, from Python.

`python -m benchmarks.class_speed` prints times and ratios, measured side by side, for 3 to 10 classes and 4 to 50
columns. A row of AIOLI's is one call of `learn`, which returns what was announced before the label; a row of River's is
`predict_proba_one` and `learn_one`. River is given its dictionaries ready made.
"""

import importlib
import sys
from itertools import product

import numpy as np

from aioli.learners.classes.class_aioli import ClassAIOLI
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from benchmarks.peers import river_rows
from benchmarks.table import Comparison, as_text, compare, comparison_table
from benchmarks.timing import Prepare, Run, side_by_side

__all__ = ["compare_classes"]

GOAL = 2.0  # AIOLI takes at most half of River's time
CLASSES, WIDTHS = (3, 5, 7, 10), (4, 10, 20, 50)


def class_stream(rows: int, width: int, classes: int) -> tuple[Matrix, Codes]:
    """Return rows whose entries are normal, and classes that a softmax model explains in part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, width))
    logits = X @ rng.normal(size=(width, classes)) * (2.0 / np.sqrt(width)) + rng.gumbel(size=(rows, classes))
    return X, np.argmax(logits, axis=1)


def compare_classes(classes: int, width: int, rows: int, repeats: int) -> Comparison:
    """Announce and learn one row at a time: the full softmax of AIOLI beside River's."""
    X, codes = class_stream(rows, width, classes)
    times = side_by_side({"aioli": _aioli(X, codes, classes), "river": _river(X, codes)}, repeats)
    what = f"AIOLI full, {classes} classes: announce + learn"
    return compare(what, width, times["aioli"] / rows, "River SoftmaxRegression", times["river"] / rows, GOAL)


def _aioli(X: Matrix, codes: Codes, classes: int) -> Prepare:
    rows, labels = list(X), codes.tolist()

    def prepare() -> Run:
        learner = ClassAIOLI(classes=range(classes), structure="full")
        learner.learn(rows[0], labels[0])

        def run() -> None:
            for x, label in zip(rows, labels, strict=True):
                learner.learn(x, label)

        return run

    return prepare


def _river(X: Matrix, codes: Codes) -> Prepare:
    return river_rows(X, codes.tolist(), importlib.import_module("river.linear_model").SoftmaxRegression)


def main() -> int:
    """Print the table; return 1 where a ratio misses its goal."""
    found = [compare_classes(K, d, rows=400, repeats=5) for K, d in product(CLASSES, WIDTHS)]
    print(as_text(comparison_table("Many classes, one row at a time", found, [__doc__.splitlines()[0]])))
    return int(not all(each.met for each in found))


if __name__ == "__main__":
    sys.exit(main())
