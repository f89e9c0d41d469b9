"""What cells and columns that nobody can believe or use cost Auto: loss on all other rows, against the clean stream.

`python -m benchmarks.glitches --streams FOLDER` plays every stream five times: as it is, with one row a million
standard deviations away after a third of the rows, with such a row in front, with a thousandth of the cells 100,000
deviations away, and with a hundred columns of noise beside its own.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aioli import Auto
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.real_streams import load_stream, stream_sizes
from benchmarks.scores import log_loss

__all__ = ["GLITCHES", "cost_of", "main"]

ROWS = 10_000
NOISE = 100

Spoiled = tuple[Matrix, NDArray[np.bool_]]  # the rows, and which of them are to be scored


def _far_row(X: Matrix, at: int) -> Spoiled:
    spoiled, scored = X.copy(), np.ones(len(X), bool)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], X.shape[1])
    spoiled[at], scored[at] = X.mean(axis=0) + 1e6 * X.std(axis=0) * signs, False
    return spoiled, scored


def _far_cells(X: Matrix) -> Spoiled:
    rng = np.random.default_rng(2)
    hit = rng.random(X.shape) < 1e-3
    far = X.mean(axis=0) + 1e5 * X.std(axis=0) * rng.choice([-1.0, 1.0], X.shape)
    spoiled = np.asarray(hit.any(axis=1))
    return np.where(hit, far, X), np.logical_not(spoiled)


def _beside_noise(X: Matrix) -> Spoiled:
    noise = np.random.default_rng(3).normal(size=(len(X), NOISE))
    return np.column_stack([X, noise]), np.ones(len(X), bool)


GLITCHES: dict[str, Callable[[Matrix], Spoiled]] = {
    "a far row": lambda X: _far_row(X, len(X) // 3),
    "a far first row": lambda X: _far_row(X, 0),
    "far cells": _far_cells,
    f"{NOISE} columns of noise": _beside_noise,
}


def cost_of(X: Matrix, y: Vector, glitch: str) -> float:
    """Return by how much the loss of the rows that are not spoiled is above that of the clean stream, as a share."""
    spoiled, scored = GLITCHES[glitch](X)
    after, before = (Auto().learn_many(rows, y)[scored] for rows in (spoiled, X))
    return log_loss(after, y[scored]) / log_loss(before, y[scored]) - 1.0


def main() -> None:
    """Print a line for every stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=Path, help="a folder of CSV or svmlight files")
    parser.add_argument("--only", nargs="*", default=[], help="names of streams")
    given = parser.parse_args()
    for name in stream_sizes(given.streams, given.only, ROWS):
        X, y = load_stream(given.streams, name, ROWS)
        costs = (f"{glitch} {100.0 * cost_of(X, y, glitch):+.1f} %" for glitch in GLITCHES)
        print(f"{name} ({len(X)} rows, {X.shape[1]} columns): {', '.join(costs)}", flush=True)


if __name__ == "__main__":
    main()
