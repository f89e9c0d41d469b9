"""Figures of a game."""

from collections.abc import Sequence

try:
    from matplotlib.figure import Figure
except ImportError:
    raise ImportError("figures need matplotlib: pip install 'aioli-online[plot]'") from None

from aioli.evaluate.progressive import Checkpoint

__all__ = ["draw_game"]

LEARNER, REFERENCE, BOUND = "#0b6e4f", "#8a8d91", "#c84c09"


def draw_game(points: Sequence[Checkpoint], regrets: Sequence[float], path: str) -> None:
    """Left: the running loss beside the base rate's. Right: regret, certificate and theorem, as the rows come."""
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = [point.rows for point in points]
    left.plot(rows, [point.base_rate for point in points], color=REFERENCE, label="base rate")
    left.plot(rows, [point.log_loss for point in points], color=LEARNER, label="AIOLI")
    left.set(xlabel="rows", ylabel="mean log loss so far (nats)", ylim=(0.0, 0.8))
    left.legend(frameon=False)
    theorem = [getattr(point.certificate, "theorem", float("nan")) for point in points]
    right.plot(rows, theorem, color=REFERENCE, label="theorem, beforehand")
    right.plot(rows, [point.certificate or 0.0 for point in points], color=BOUND, label="certificate, as it runs")
    right.plot(rows, regrets, color=LEARNER, label="regret, in hindsight")
    right.set(yscale="symlog", xlabel="rows", ylabel="nats over the best fixed θ")
    right.axhline(0.0, color="black", linewidth=0.5)
    right.legend(frameon=False, loc="center right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
