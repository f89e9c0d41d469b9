"""Figures of a run, by matplotlib."""

import math
from collections.abc import Sequence
from typing import TypedDict

try:
    from matplotlib.figure import Figure
except ImportError:
    raise ImportError("figures need matplotlib: pip install 'aioli-online[plot]'") from None

from aioli.evaluate.progressive import Checkpoint
from aioli.report.record import Point

__all__ = ["draw_comparison", "draw_game"]


class Style(TypedDict, total=False):
    """How a line is drawn."""

    color: str
    linewidth: float
    zorder: int
    ls: str


LEARNER, REFERENCE, BOUND = "#0b6e4f", "#8a8d91", "#c84c09"


def draw_game(points: Sequence[Checkpoint], regrets: Sequence[float], path: str) -> None:
    """Draw, left, the running loss beside the base rate's; right, regret, certificate and theorem, as the rows come."""
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = [point.rows for point in points]
    left.plot(rows, [point.base_rate for point in points], color=REFERENCE, label="base rate")
    left.plot(rows, [point.log_loss for point in points], color=LEARNER, label="AIOLI")
    left.set(xlabel="rows", ylabel="mean log loss so far (nats)", ylim=(0.0, 0.8))
    left.legend(frameon=False)
    theorem = [math.nan if point.certificate is None else point.certificate.theorem for point in points]
    right.plot(rows, theorem, color=REFERENCE, label="theorem, beforehand")
    right.plot(rows, [point.certificate or 0.0 for point in points], color=BOUND, label="certificate, as it runs")
    right.plot(rows, regrets, color=LEARNER, label="regret, in hindsight")
    right.set(yscale="symlog", xlabel="rows", ylabel="nats over the best fixed θ")
    right.axhline(0.0, color="black", linewidth=0.5)
    right.legend(frameon=False, loc="center right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def draw_comparison(points: Sequence[Point], learner: str, path: str) -> None:
    """Draw the running loss of a learner, of its peers and of the base rate; the best at the end comes first."""
    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    axes = figure.subplots()
    rows = [point.rows for point in points]
    curves = {name: [point.peers.get(name) for point in points] for name in points[0].peers}
    curves = {learner: [point.log_loss for point in points], **curves, "base rate": [p.base_rate for p in points]}
    styles: dict[str, Style] = {
        learner: {"color": LEARNER, "linewidth": 2.5, "zorder": 3},
        "base rate": {"color": REFERENCE, "ls": ":"},
    }
    numbers = {name: [math.nan if loss is None else loss for loss in losses] for name, losses in curves.items()}
    for name, losses in sorted(numbers.items(), key=lambda curve: (math.isnan(curve[1][-1]), curve[1][-1])):
        end = "left out" if math.isnan(losses[-1]) else f"{losses[-1]:.4f}"
        axes.plot(rows, losses, label=f"{name}  {end}", **styles.get(name, {}))
    ends = [losses[-1] for losses in numbers.values() if math.isfinite(losses[-1])]
    highest = max(loss for losses in numbers.values() for loss in losses if math.isfinite(loss))
    top = 1.08 * min(highest, max(2.0 * min(ends), numbers["base rate"][-1], math.log(2.0)))
    axes.set(xscale="log", xlabel="rows so far", ylabel="mean log loss so far (nats)", ylim=(0.0, top))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
