"""Loss against delay, a small picture a stream: Auto, the best untuned peer, and the base rate."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.delays_report import BASE_RATE, OURS, Game, games_of_ours
from benchmarks.late_labels import DELAYS
from benchmarks.results import Result

__all__ = ["draw_delays"]

ACROSS = 5
LINES: dict[str, tuple[str, float, Callable[[Game], float | None]]] = {
    "base rate": ("#999999", 1.2, lambda game: game.loss(BASE_RATE)),
    "best untuned peer": ("#c84c09", 1.2, lambda game: game.best_peer[1] if game.best_peer else None),
    "Auto": ("#0b6e4f", 2.0, lambda game: game.loss(OURS)),
}
STYLES = {"sliding": "-", "batches": ":"}


def draw_delays(results: Sequence[Result], path: Path) -> None:
    """Draw each stream's losses over the delays: solid where the delay slides, dotted in batches."""
    games = games_of_ours(results)
    streams = sorted({game.stream for game in games})
    down = math.ceil(len(streams) / ACROSS)
    figure = Figure(figsize=(2.3 * ACROSS, 0.9 + 1.75 * down), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(down, ACROSS, squeeze=False)
    for axes in grid.flat[len(streams) :]:
        axes.set_axis_off()
    places = {delay: place for place, delay in enumerate(sorted({*DELAYS, *(game.delay.rows for game in games)}))}
    for stream, axes in zip(streams, grid.flat, strict=False):
        _draw_stream(axes, [game for game in games if game.stream == stream], places)
        axes.set_title(stream, fontsize="small")
        axes.set_xticks(list(places.values()), [str(delay) for delay in places], fontsize="x-small")
        axes.set_xlim(-0.3, len(places) - 0.7)
        axes.set_ylim(0.0)
        axes.tick_params(axis="y", labelsize="x-small")
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("rows by which labels are late (solid: sliding; dotted: in batches)", fontsize="medium")
    figure.supylabel("mean log loss, nats", fontsize="medium")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper center", ncols=len(LINES), frameon=False)
    figure.savefig(path, dpi=130)


def _draw_stream(axes: Axes, games: Sequence[Game], places: dict[int, int]) -> None:
    for label, (colour, width, loss) in LINES.items():
        for mode, style in STYLES.items():
            points = [
                (places[game.delay.rows], value)
                for game in games
                if game.delay.mode in (mode, "in time") and (value := loss(game)) is not None
            ]
            axes.plot(
                [place for place, _ in points],
                [value for _, value in points],
                style,
                color=colour,
                linewidth=width,
                marker="o" if mode == "sliding" else None,
                markersize=3.0,
                label=label if mode == "sliding" else None,
            )
