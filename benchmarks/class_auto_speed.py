"""Auto of many classes beside River on real streams: announce and learn a row from Python.

`python -m benchmarks.class_auto_speed --streams DIR` plays the first rows of every stream with more than two classes.
Auto plays them one call of `learn` a row, and all in one call of `learn_many`; River's SoftmaxRegression stands behind
the StandardScaler that unscaled columns need, and its forest, ARF, takes rows as they are. River is given its
dictionaries ready made. Learners are fresh: in the first 2,048 rows all of Auto's experts play.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aioli import ClassAuto
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from benchmarks.class_streams import class_stream_names, load_class_stream
from benchmarks.peers import river_rows
from benchmarks.table import Comparison, as_text, compare, comparison_table
from benchmarks.timing import Run, side_by_side, timed

__all__ = ["compare_auto"]

SOFTMAX, FOREST = 1.0, 10.0  # at least so many times Auto's time do River's softmax and its forest take
MOST_CLASSES = 26  # up to which Auto is to be as fast as River's softmax


def compare_auto(name: str, X: Matrix, codes: Codes, repeats: int) -> list[Comparison]:
    """Time Auto, one row a call and all rows in one, beside River's softmax and its forest."""
    rows, labels, classes = list(X), codes.tolist(), list(range(int(codes.max()) + 1))

    def one_by_one() -> Run:
        learner = ClassAuto(classes=classes)

        def run() -> None:
            for x, label in zip(rows, labels, strict=True):
                learner.learn(x, label)

        return run

    def at_once() -> Run:
        learner = ClassAuto(classes=classes)
        return lambda: learner.learn_many(X, codes)

    softmax = river_rows(X, labels, _softmax)
    times = side_by_side({"one by one": one_by_one, "at once": at_once, "River softmax": softmax}, repeats)
    times["River ARF"] = np.full(repeats, timed(river_rows(X, labels, _forest)()))  # once: it takes the longest
    found = []
    for way in ("one by one", "at once"):
        for peer, goal in (("River softmax", SOFTMAX if len(classes) <= MOST_CLASSES else None), ("River ARF", FOREST)):
            what = f"{name}, {len(classes)} classes, rows {way}"
            found.append(compare(what, X.shape[1], times[way] / len(X), peer, times[peer] / len(X), goal))
    return found


def _softmax() -> Any:
    scaler = importlib.import_module("river.preprocessing").StandardScaler()
    return scaler | importlib.import_module("river.linear_model").SoftmaxRegression()


def _forest() -> Any:
    return importlib.import_module("river.forest").ARFClassifier(seed=0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where a ratio misses its goal."""
    folder = os.environ.get("AIOLI_STREAMS")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.class_auto_speed", description=__doc__)
    parser.add_argument("--streams", type=Path, default=folder and Path(folder), metavar="DIR", help="NAME.csv[.gz]")
    parser.add_argument("--rows", type=int, default=2000, help="of each stream, from its beginning")
    parser.add_argument("--only", default="", metavar="NAME,…", help="these streams and no other")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args(arguments)
    only = [name for name in options.only.split(",") if name]
    found: list[Comparison] = []
    for name in class_stream_names(options.streams):
        stream = load_class_stream(options.streams, name, options.rows) if not only or name in only else None
        if stream is not None:
            found += compare_auto(name, *stream, options.repeats)
    print(as_text(comparison_table("Auto of many classes beside River", found, [__doc__.splitlines()[0]])))
    return int(not all(each.met for each in found if each.goal is not None))


if __name__ == "__main__":
    sys.exit(main())
