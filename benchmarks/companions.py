"""What each companion of Auto brings, and what it costs: every stream with all of them, and without one after another.

`python -m benchmarks.companions --streams FOLDER` prints the log loss of the linear experts with all companions, by how
much it changes without each of them, and with a forest beside them, and the processor time of a row.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.learners.auto.companions import Companion, ForestCompanion
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.auto.players import SIZES, companions_within
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.real_streams import load_stream, stream_sizes
from benchmarks.scores import ROUGH_CLIP, log_loss
from benchmarks.table import Table, as_text

__all__ = ["main"]

FOREST = "ForestCompanion"
WITHOUT = {
    "BoostingCompanion": "without boosted trees",
    "KernelCompanion": "without random features",
    "ChosenColumns": "without columns that matter",
}


def played(X: Matrix, y: Vector, without: str = "", forest: bool = False) -> tuple[float, float]:
    """Return the loss of Auto's ensemble without the companions of a kind, and the microseconds of a row.

    `forest` lets a forest play in time, which otherwise waits for labels that come late.
    """
    companions: list[Companion] = [each for each in companions_within("usual") if type(each).__name__ != without]
    if forest:
        trees, _ = SIZES["usual"]
        companions = [ForestCompanion(trees) if type(each).__name__ == FOREST else each for each in companions]
    learner = BendingEnsemble(DenseEnsemble(), companions)
    begin = time.process_time()
    p = learner.learn_many(X, y)
    return log_loss(p, y, ROUGH_CLIP), 1e6 * (time.process_time() - begin) / len(X)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line a stream, and the means."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.companions", description=__doc__)
    parser.add_argument("--streams", type=Path, help="a folder of CSV or svmlight files")
    parser.add_argument("--only", nargs="*", default=[], help="names of streams")
    parser.add_argument("--rows", type=int, default=4000, help="of each stream, from its beginning")
    options = parser.parse_args(arguments)
    lines: list[tuple[str, ...]] = []
    losses: list[list[float]] = []
    times: list[list[float]] = []
    for name in stream_sizes(options.streams, options.only, options.rows):
        X, y = load_stream(options.streams, name, options.rows)
        played(X[:300], y[:300], forest=True)  # compiles
        found = [played(X, y), *(played(X, y, without) for without in WITHOUT), played(X, y, forest=True)]
        losses.append([loss / found[0][0] - 1.0 for loss, _ in found])
        times.append([spent / found[0][1] for _, spent in found])
        changes = (f"{change:+.1%}" for change in losses[-1][1:])
        lines.append((name, str(len(X)), f"{found[0][0]:.4f}", *changes, *(f"{spent:.0f}" for _, spent in found)))
        print(*lines[-1], flush=True)
    changed, spent = np.mean(losses, axis=0)[1:], np.exp(np.mean(np.log(times), axis=0))
    lines.append(("mean", "", "", *(f"{change:+.1%}" for change in changed), *(f"× {each:.2f}" for each in spent)))
    shown = (*WITHOUT.values(), "with a forest")
    columns = ("stream", "rows", "loss", *shown, "µs", *(f"µs {each}" for each in shown))
    print(as_text(Table("What each companion brings", columns, lines, ["log loss of probabilities in [0.001, 0.999]"])))


if __name__ == "__main__":
    main()
