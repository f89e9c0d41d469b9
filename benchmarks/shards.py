"""One model over shards: regret against merges and bytes, up to a thousand of them; Auto over eight beside one machine.

The shards learn one after the other in this process; what would go over a network is counted, not sent.
"""

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from aioli import AIOLI, Auto
from aioli.engines.shards import Part, geometric_schedule, learn_in_shards
from aioli.evaluate.hindsight import best_in_ball
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.mixture.survey import ColumnSurvey
from benchmarks.real_streams import load_stream, stream_sizes
from benchmarks.scores import log_loss
from benchmarks.streams import normal_stream
from benchmarks.table import Table, as_markdown, as_text

__all__ = ["Simulated", "auto_table", "main", "simulate"]

WIDTH = 10
SHARDS = (8, 32, 1000)
FACTORS = (math.inf, 2.0, 4 / 3, 1.15)  # by which a shard's rows grow from merge to merge: once at the end, …
SLOW_NETWORK = 1e6 / 8  # bytes a second of a shard's line: one megabit
AUTO_SHARDS, HELD_OUT = 8, 5  # and every fifth row is held out
COLOURS = ("#0b6e4f", "#c84c09", "#4059ad")
CLIP = 1e-6


@dataclass(frozen=True)
class Simulated:
    """What shards came to: their merges, regret and certificate in nats, and the bytes that each shard moved."""

    shards: int
    merges: int
    regret: float
    certificate: float
    bytes_of_shard: float


def simulate(rows: int, shards: Sequence[int] = SHARDS, factors: Sequence[float] = FACTORS) -> Iterator[Simulated]:
    """Yield the games of all numbers of shards and schedules over the same rows; one shard first: one machine."""
    X, y = normal_stream(rows, WIDTH)
    one = AIOLI()
    one.learn_many(X, y)
    best = best_in_ball(X, y, one.radius).loss
    yield Simulated(1, 0, one.loss - best, one.certificate(), 0.0)
    for k in shards:
        parts = _parts(X, y, k)
        longest = max(len(labels) for _, labels in parts)
        for factor in factors:
            schedule = [longest] if math.isinf(factor) else geometric_schedule(longest, factor=factor)
            run = learn_in_shards(AIOLI(), parts, schedule)
            assert isinstance(run.learner, AIOLI)
            yield Simulated(k, run.merges, run.learner.loss - best, run.learner.certificate(), run.bytes / k)


def auto_table(folder: Path | None, only: Sequence[str], rows: int) -> Table:
    """Return held-out losses of Auto(budget="fast") on one machine and over eight shards, a line a stream."""
    lines = []
    for name in stream_sizes(folder, only, rows):
        X, y = load_stream(folder, name, rows)
        order = np.random.default_rng(0).permutation(len(y))
        test, train = order[::HELD_OUT], np.delete(order, np.s_[::HELD_OUT])
        one = Auto(budget="fast")
        one.learn_many(X[train], y[train])
        parts = _parts(X[train], y[train], AUTO_SHARDS)
        survey = ColumnSurvey(X[train][:3])
        for part, _ in parts:
            survey.merge(ColumnSurvey(X[train][:3]).count(part))
        run = learn_in_shards(Auto(budget="fast").fix_columns(survey), parts)
        alone, sharded = (log_loss(each.predict_many(X[test]), y[test], CLIP) for each in (one, run.learner))
        lines.append(
            (name, str(len(train)), f"{alone:.4f}", f"{sharded:.4f}", f"{sharded / alone:.3f}", str(run.merges))
        )
        print("  ".join(lines[-1]), flush=True)
    heading = ("stream", "rows", "one machine", f"{AUTO_SHARDS} shards", "ratio", "merges")
    notes = (
        "held-out log loss in nats, every fifth row of the shuffled stream held out",
        "goal: a ratio of at most 1.02",
    )
    return Table("Auto(budget='fast') over shards", heading, lines, notes)


def simulation_table(found: Sequence[Simulated], rows: int) -> Table:
    """Return the simulated games, a line each."""
    lines = [
        (
            str(game.shards),
            str(game.merges),
            f"{game.regret:.0f}",
            f"{game.certificate:.0f}",
            f"{game.bytes_of_shard / 1024:.0f}",
            f"{game.bytes_of_shard / SLOW_NETWORK:.1f}",
        )
        for game in found
    ]
    heading = ("shards", "merges", "regret", "certificate", "KiB a shard", "s at 1 Mbit/s")
    return Table(f"AIOLI, {rows:,} rows of {WIDTH} columns", heading, lines, ("regret and certificate in nats",))


def draw(found: Sequence[Simulated], path: Path) -> None:
    """Draw regret against merges, and against the seconds that a slow line takes for what a shard moves."""
    figure = Figure(figsize=(8.2, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    alone = found[0].regret
    for k, colour in zip(sorted({game.shards for game in found[1:]}), COLOURS, strict=False):
        games = [game for game in found if game.shards == k]
        regrets = [game.regret for game in games]
        for axes, places in (
            (left, [float(game.merges) for game in games]),
            (right, [game.bytes_of_shard / SLOW_NETWORK for game in games]),
        ):
            axes.plot(places, regrets, "o-", color=colour, markersize=3.5, label=f"{k} shards")
    for axes, label in ((left, "merges"), (right, "seconds of a line of 1 Mbit/s, a shard")):
        _finish(axes, alone, label)
    left.set_ylabel("regret, nats")
    left.legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=130)


def _finish(axes: Axes, alone: float, label: str) -> None:
    axes.axhline(alone, color="#999999", linewidth=1.0)
    place = axes.get_yaxis_transform()
    axes.text(0.98, alone, "one machine", ha="right", va="bottom", fontsize="small", transform=place)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(label)
    axes.spines[["top", "right"]].set_visible(False)


def _parts(X: Matrix, y: Vector, k: int) -> list[Part]:
    return [(X[i::k], y[i::k]) for i in range(k)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, draw, and compare Auto over shards with one machine; a miss is news, not a failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="of the simulation")
    parser.add_argument("--streams", type=Path, metavar="DIR", help="NAME.csv[.gz]; those that ship by default")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], metavar="NAME,…")
    parser.add_argument("--stream-rows", type=int, default=20_000, help="of each stream")
    parser.add_argument("--no-auto", action="store_true", help="leave Auto out")
    parser.add_argument("--out", type=Path, default=Path("shards"), metavar="DIR")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    options.out.mkdir(parents=True, exist_ok=True)
    found = list(simulate(options.rows))
    tables = [simulation_table(found, options.rows)]
    print(as_text(tables[0]), flush=True)
    draw(found, options.out / "shards.png")
    if not options.no_auto:
        tables.append(auto_table(options.streams, options.only, options.stream_rows))
        print(as_text(tables[1]), flush=True)
    (options.out / "shards.md").write_text("\n".join(as_markdown(table) for table in tables), encoding="utf-8")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
