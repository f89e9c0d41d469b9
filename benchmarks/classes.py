"""Streams of more than two classes, each played once: log loss, accuracy and processor time a row, side by side."""

import argparse
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from aioli import ClassAIOLI, ClassAuto
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from benchmarks.class_peers import CLASS_PEERS, standardised
from benchmarks.class_streams import class_stream_names, load_class_stream

__all__ = ["METHODS", "Method", "class_scores", "main", "smoothed"]

Method = Callable[[Matrix, Codes, int], Matrix]  # rows, codes, classes → the probabilities announced before each label

RIDGE, RADIUS = 0.01, 8.0  # of AIOLI alone, whose columns are standardised by what came before
MOST_FULL = 700  # (K-1)d beyond which the full softmax is left out
SMOOTHING = np.geomspace(1e-4, 0.5, 30)  # how much of the uniform distribution peers that say 0 and 1 may be given


def auto_declared(X: Matrix, codes: Codes, classes: int) -> Matrix:
    """`Auto` that knows the classes beforehand."""
    return ClassAuto(classes=list(range(classes))).learn_many(X, codes)


def auto_any(X: Matrix, codes: Codes, classes: int) -> Matrix:
    """`Auto` that meets the classes as they come."""
    return _in_order(ClassAuto(classes="any"), X, codes, classes)


def aioli_full(X: Matrix, codes: Codes, classes: int) -> Matrix:
    """`AIOLI` with its theorem, on columns standardised by the rows before."""
    if (classes - 1) * (X.shape[1] + 1) > MOST_FULL:
        return np.full((len(X), classes), math.nan)
    learner = ClassAIOLI(radius=RADIUS, ridge=RIDGE, classes=list(range(classes)))
    return learner.learn_many(standardised(X) / math.sqrt(X.shape[1]), codes)


METHODS: dict[str, Method] = {
    "Auto": auto_declared,
    "Auto, any": auto_any,
    "AIOLI full": aioli_full,
    **CLASS_PEERS,
}


def smoothed(p: Matrix) -> list[Matrix]:
    """Return the probabilities mixed with more and more of the uniform distribution."""
    total = np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
    return [(1.0 - eps) * p / total + eps / p.shape[1] for eps in SMOOTHING]


def class_scores(p: Matrix, codes: Codes, *, smooth: bool) -> tuple[float, float]:
    """Return log loss and accuracy; where `smooth`, the log loss at the smoothing that is best in hindsight."""
    places = np.arange(len(codes))
    said = smoothed(p) if smooth else [p]
    loss = min(float(-np.log(np.maximum(each[places, codes], 1e-300)).mean()) for each in said)
    return loss, float((p.argmax(axis=1) == codes).mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each stream: log loss/accuracy of each method, and its microseconds a row."""
    folder = os.environ.get("AIOLI_STREAMS")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classes", description=__doc__)
    parser.add_argument("--streams", type=Path, default=folder and Path(folder), metavar="DIR", help="NAME.csv[.gz]")
    parser.add_argument("--rows", type=int, default=10_000, help="of each stream, from its beginning")
    parser.add_argument("--only", default="", metavar="NAME,…", help="these streams and no other")
    parser.add_argument("--methods", default=";".join(METHODS), metavar="NAME;…", help="these methods and no other")
    options = parser.parse_args(arguments)
    methods = {name: METHODS[name] for name in options.methods.split(";")}
    only = [name for name in options.only.split(",") if name]
    print("| stream n, d, K | " + " | ".join(methods) + " |")
    print("|---|" + "---|" * len(methods))
    for name in class_stream_names(options.streams):
        found = load_class_stream(options.streams, name, options.rows) if not only or name in only else None
        if found is not None:
            X, codes = found
            classes = int(codes.max()) + 1
            cells = [_cell(method, X, codes, classes, ours=label.startswith("A")) for label, method in methods.items()]
            print(f"| {name} {len(X)}, {X.shape[1]}, {classes} | " + " | ".join(cells) + " |", flush=True)


def _cell(method: Method, X: Matrix, codes: Codes, classes: int, *, ours: bool) -> str:
    """Return log loss/accuracy and microseconds of processor time a row; the probabilities of peers are smoothed."""
    if ours:
        method(X[:200], codes[:200], classes)  # compiled by now
    begun = time.process_time()
    p = method(X, codes, classes)
    spent = time.process_time() - begun
    if np.isnan(p).all():
        return "–"
    loss, accuracy = class_scores(p, codes, smooth=not ours)
    return f"{loss:.4f}/{accuracy:.3f} {1e6 * spent / len(X):.0f} µs"


def _in_order(learner: ClassAuto, X: Matrix, codes: Codes, classes: int) -> Matrix:
    """Return what a learner that meets classes announces, its columns in the order of the codes."""
    said = learner.learn_many(X, codes)
    p = np.zeros((len(X), classes))
    p[:, [int(label) for label in learner.classes_]] = said
    return p


if __name__ == "__main__":
    main()
