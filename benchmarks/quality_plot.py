"""Every stream at a glance: each method's log loss as a multiple of Auto's."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from benchmarks.methods import METHODS, Family
from benchmarks.quality_report import OURS, Standing, standings
from benchmarks.results import Result

__all__ = ["draw_quality"]

LIMITS = (0.5, 5.0)  # what lies beyond is drawn at the edge, as an arrow
TICKS = (0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0, 5.0)
COLOURS: dict[Family, tuple[str, ...]] = {
    "ours": ("#0b6e4f", "#12a37a", "#a8d8b9"),
    "untuned": (
        "#c84c09",
        "#e8871e",
        "#f2b84b",
        "#8f2d0e",
        "#2f4b7c",
        "#5f7fbf",
        "#9db8e8",
        "#a05195",
        "#d45087",
        "#7a5195",
    ),
    "tuned": ("#333333", "#666666", "#999999", "#bbbbbb"),
    "trees": ("#7a3e9d", "#b05cc6", "#d99be0", "#5b2a86"),
    "refitted": ("#b3001b", "#e8505b", "#f59ca9"),
}
MARKERS: dict[Family, str] = {"ours": "o", "untuned": "o", "tuned": "D", "trees": "^", "refitted": "s"}


def draw_quality(results: Sequence[Result], path: Path) -> None:
    """One line of dots a stream, Auto's greatest lead over the untuned peers on top (without Auto, by name).

    Where Auto has played no stream at all, the best peer takes its place, an untuned one where there is any.
    """
    everything = standings(results)
    with_ours = [standing for standing in everything if OURS in standing.scores]
    played = with_ours or [standing for standing in everything if standing.scores]
    played.sort(key=lambda standing: standing.excess("untuned") or 0.0)
    figure = Figure(figsize=(9.0, 1.8 + 0.26 * len(played)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name in METHODS:
        _dots(axes, name, played)
    axes.axvline(1.0, color="black", linewidth=0.8, zorder=0)
    named_after = "Auto's" if with_ours else "the best peer's"
    axes.set(xscale="log", xlim=LIMITS, xlabel=f"log loss, as a multiple of {named_after} (right: worse)")
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{tick:g}" for tick in TICKS]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(range(len(played)), [f"{standing.stream} ({standing.rows})" for standing in played])
    axes.set_ylim(len(played) - 0.3, -0.7)
    axes.grid(axis="y", linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)


def _reference(standing: Standing) -> float:
    ours, untuned = standing.scores.get(OURS), standing.best("untuned")
    return min(
        result.clipped_loss for result in ([ours] if ours else [untuned] if untuned else standing.scores.values())
    )


def _dots(axes: Axes, name: str, played: Sequence[Standing]) -> None:
    """A method's dots: the tuned ones hollow diamonds, since nobody could have known their steps."""
    ratios = {
        place: standing.scores[name].clipped_loss / _reference(standing)
        for place, standing in enumerate(played)
        if name in standing.scores
    }
    if not ratios:
        return
    family = METHODS[name].family
    siblings = [method.name for method in METHODS.values() if method.family == family]
    colour = COLOURS[family][siblings.index(name)]
    places, values = np.array(list(ratios)), np.array(list(ratios.values()))
    low, high = values < LIMITS[0], values > LIMITS[1]
    for part, marker in ((~(low | high), MARKERS[family]), (low, "<"), (high, ">")):
        axes.scatter(
            np.clip(values[part], *LIMITS),
            places[part],
            s=38.0 if name == OURS else 22.0,
            marker=marker,
            facecolors="none" if family == "tuned" else colour,
            edgecolors=colour,
            linewidths=0.9,
            zorder=3 if name == OURS else 2,
            clip_on=False,
            label=name if marker == MARKERS[family] else None,
        )
