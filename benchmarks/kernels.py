"""Kernel learners beside the linear one on streams that bend: log loss, and the cost of a row, side by side in one run.

Then, on the first rows of each stream, what an approximation loses beside the exact kernel learner.
"""

import argparse
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from aioli import AIOLI, Auto, KernelAIOLI, Nystrom, RandomFeatures
from aioli.learners.announcements import Announcements
from aioli.learners.base import ColumnLearner
from aioli.learners.kernel.bandwidth import BandwidthMixture
from aioli.learners.kernel.feature_map_learner import FeatureMapLearner
from aioli.learners.kernel.scales import Scaling
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.real_streams import load_stream
from benchmarks.timing import side_by_side
from benchmarks.tuned import standardised

__all__ = ["main"]

BENT = ("fourclass", "phoneme", "magic04", "ijcnn1")
LETTERS = "AEMT"  # each against the rest: a few, not the best
STUDIED = ("bananas", "fourclass", "phoneme", "magic04", "letter A")
SIZES = (16, 32, 64, 128, 256, 512)
STUDY_ROWS = 2000
BANDWIDTH = 0.5  # beside the median distance: the exact learner has no mixture of them

COLOURS = ("#0b6e4f", "#c84c09", "#1f77b4", "#5e3c99", "#e0a100")

Named = tuple[str, Matrix, Vector]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables and draw the figure."""
    folder = os.environ.get("AIOLI_STREAMS")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("--streams", type=Path, default=folder and Path(folder), metavar="DIR", help="NAME.csv[.gz]")
    parser.add_argument("--rows", type=int, default=20_000, help="of each stream, from its beginning")
    parser.add_argument("--only", default="", metavar="NAME,…", help="other streams of the folder, and no study")
    parser.add_argument("--out", type=Path, default=Path("kernels.png"), metavar="FILE", help="the figure")
    options = parser.parse_args(arguments)
    print("| stream | rows | linear | Auto | random features | Nyström | µs a row: linear | Auto | random | Nyström |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    studied: dict[str, tuple[Matrix, Vector]] = {}
    only = [name for name in options.only.split(",") if name]
    chosen = ((name, *load_stream(options.streams, name, options.rows)) for name in only)
    for name, X, y in chosen if only else _streams(options.streams, options.rows):
        print(_line(name, X, y), flush=True)
        if name in STUDIED:
            studied[name] = X[:STUDY_ROWS], y[:STUDY_ROWS]
    if studied:
        study(studied, options.out)


def rings(n: int, seed: int = 0) -> tuple[Matrix, Vector]:
    """Three rings, each within the next, labels in turn; their widths overlap a little."""
    rng = np.random.default_rng(seed)
    ring = rng.integers(3, size=n)
    radius, angle = 1.0 + ring + 0.2 * rng.normal(size=n), rng.uniform(0.0, 2.0 * math.pi, size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), (ring % 2).astype(np.float64)


def _streams(folder: Path | None, rows: int) -> Iterator[Named]:
    """Those that need no file first."""
    yield "bananas", *load_stream(None, "bananas", rows)
    yield "rings", *rings(min(rows, 5000))
    if folder is None:
        return
    for name in BENT:
        yield name, *load_stream(folder, name, rows)
    path = next(path for path in folder.iterdir() if path.name.startswith("letter.csv"))
    table = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=rows)
    for letter in LETTERS:
        label = ord(letter) - ord("A")
        yield f"letter {letter}", np.ascontiguousarray(table[:, :-1]), (table[:, -1] == label).astype(np.float64)


class Linear(AIOLI):
    """AIOLI on columns that are standardised as they come."""

    def learn_many(
        self,
        X: object,
        y: object,
        weights: object = None,
        logits: object = None,
        announced: Announcements | None = None,
    ) -> Vector:
        """Play the rows in order."""
        return super().learn_many(standardised(np.asarray(X)), y, weights, logits, announced)


PLAYERS: dict[str, Callable[[], ColumnLearner]] = {
    "linear": Linear,
    "auto": Auto,
    "random": RandomFeatures,
    "dictionary": Nystrom,
}


def _line(name: str, X: Matrix, y: Vector) -> str:
    """Losses of the contenders, and their times, in turns."""
    learners: dict[str, ColumnLearner] = {}

    def prepared(player: str) -> Callable[[], Callable[[], object]]:
        def prepare() -> Callable[[], object]:
            learners[player] = PLAYERS[player]()
            return lambda: learners[player].learn_many(X, y)

        return prepare

    seconds = side_by_side({player: prepared(player) for player in PLAYERS}, repeats=3)
    losses = {player: learner.loss / len(X) for player, learner in learners.items()}
    linear = losses["linear"]
    others = [player for player in PLAYERS if player != "linear"]
    cells = [
        f"{losses[player]:.4f} ({losses[player] / linear:.2f}{_alone(learners[player], len(X))})" for player in others
    ]
    # the least of three: a run of a second meets a busy machine more surely than one of a millisecond
    least = {player: 1e6 / len(X) * float(seconds[player].min()) for player in PLAYERS}
    cells += [f"{least['linear']:.2f}"]
    cells += [f"{least[player]:.0f} (× {least[player] / least['linear']:.0f})" for player in others]
    return f"| {name} | {len(X):,} | {linear:.4f} | {' | '.join(cells)} |"


def _alone(learner: ColumnLearner, rows: int) -> str:
    """The loss of the best bandwidth by itself, where one map has served all rows."""
    known = learner._forecaster if isinstance(learner, FeatureMapLearner) else None
    if not isinstance(known, BandwidthMixture):
        return ""
    whole = [each.loss / rows for each in known.maps if each.rounds == rows]
    return f"; {min(whole):.4f}" if whole else "; –"


def study(streams: dict[str, tuple[Matrix, Vector]], path: Path) -> None:
    """Loss and time of each size beside the exact learner's, on one map of the columns."""
    few = rings(300)
    for learner in (KernelAIOLI(), _random(16), _dictionary(16)):
        learner.learn_many(*few)  # so that nothing is loaded or compiled while the clock runs
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    print(f"\n| first {STUDY_ROWS:,} rows | exact | D = {' | '.join(map(str, SIZES))} |", end="")
    print(f" m = {' | '.join(map(str, SIZES))} |\n|{'---|' * (2 + 2 * len(SIZES))}")
    for (name, (X, y)), colour in zip(streams.items(), COLOURS, strict=False):
        U = Scaling.of(X[:512], "rbf")(X)
        exact, seconds = _played(KernelAIOLI("rbf", 0.5 / BANDWIDTH**2, radius=8.0, regulariser=0.5), U, y)
        cells = [f"{exact / len(y):.4f}"]
        for maker, line in ((_random, "o-"), (_dictionary, "s--")):
            found = [_played(maker(size), U, y) for size in SIZES]
            label = f"{name}, {'random features' if line == 'o-' else 'dictionary'}"
            left.plot(SIZES, [loss / exact for loss, _ in found], line, color=colour, markersize=4, label=label)
            right.plot(SIZES, [spent / seconds for _, spent in found], line, color=colour, markersize=4)
            cells += [f"{loss / len(y):.4f}" for loss, _ in found]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    left.set(ylabel="loss beside the exact kernel learner's", yscale="log", yticks=[0.6, 1.0, 1.5, 2.0, 3.0])
    right.set(ylabel="time beside the exact kernel learner's", yscale="log")
    left.yaxis.set_major_formatter("{x:g}")
    for axes in (left, right):
        axes.set(xscale="log", xlabel="D features, m points", xticks=SIZES, xticklabels=SIZES)
        axes.minorticks_off()
        axes.axhline(1.0, color="k", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)
    left.legend(frameon=False, fontsize=7)
    figure.savefig(path, dpi=130)


def _random(size: int) -> ColumnLearner:
    return RandomFeatures(features=size, bandwidth=BANDWIDTH)


def _dictionary(size: int) -> ColumnLearner:
    return Nystrom(points=size, accuracy=1e-4, bandwidth=BANDWIDTH)


def _played(learner: ColumnLearner, X: Matrix, y: Vector) -> tuple[float, float]:
    """The loss in nats, and seconds."""
    begin = time.perf_counter()
    learner.learn_many(X, y)
    return learner.loss, time.perf_counter() - begin


if __name__ == "__main__":
    main()
