"""Forest beside River's forests on binary streams: log loss and time a row, side by side in one run."""

import argparse
import importlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from aioli import AIOLI, Auto, Forest
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.real_streams import load_stream, stream_sizes

__all__ = ["main"]

LEAST = 0.001  # probabilities of all methods are cut off here, for peers that say 0 and 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each stream."""
    folder = os.environ.get("AIOLI_STREAMS")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forest", description=__doc__)
    parser.add_argument("--streams", type=Path, default=folder and Path(folder), metavar="DIR", help="NAME.csv[.gz]")
    parser.add_argument("--rows", type=int, default=2000, help="of each stream, from its beginning")
    parser.add_argument("--only", default="", metavar="NAME,…", help="these streams and no other")
    options = parser.parse_args(arguments)
    methods: dict[str, Callable[[Matrix, Vector], Vector]] = {
        "AIOLI": lambda X, y: AIOLI().learn_many(_scaled(X), y),
        "Auto": lambda X, y: Auto().learn_many(X, y),
        "Forest": lambda X, y: Forest().learn_many(X, y),
        "River AMF": lambda X, y: _river("AMFClassifier", X, y),
        "River ARF": lambda X, y: _river("ARFClassifier", X, y),
    }
    print("| stream | " + " | ".join(methods) + " | AMF's time / Forest's | ARF's time / Forest's |")
    print("|---|" + "---|" * (len(methods) + 2))
    names = [name for name in options.only.split(",") if name]
    for name in stream_sizes(options.streams, names, options.rows):
        X, y = load_stream(options.streams, name, options.rows)
        losses, times = [], {}
        for method, play in methods.items():
            play(X[:20], y[:20])  # compiled, imported
            begun = time.perf_counter()
            p = np.clip(play(X, y), LEAST, 1.0 - LEAST)
            times[method] = time.perf_counter() - begun
            losses.append(f"{-np.log(np.where(y == 1.0, p, 1.0 - p)).mean():.4f}")
        ratios = [f"{times[peer] / times['Forest']:.0f}" for peer in ("River AMF", "River ARF")]
        print(f"| {name} | " + " | ".join([*losses, *ratios]) + " |", flush=True)


def _scaled(X: Matrix) -> Matrix:
    """Return the rows with every column at mean 0 and spread 1: AIOLI alone takes columns as they come."""
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))


def _river(name: str, X: Matrix, y: Vector) -> Vector:
    """Return what a forest of River says of each row before its label."""
    model = getattr(importlib.import_module("river.forest"), name)(seed=0)
    said = np.empty(len(y))
    for t, (row, label) in enumerate(zip(X.tolist(), (y == 1.0).tolist(), strict=True)):
        x = dict(enumerate(row))
        said[t] = model.predict_proba_one(x).get(True, 0.5 if t == 0 else 0.0)
        model.learn_one(x, label)
    return said


if __name__ == "__main__":
    main()
