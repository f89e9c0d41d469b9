"""Figures of a game."""

from collections.abc import Sequence
from typing import Protocol

try:
    from matplotlib.figure import Figure
except ImportError:
    raise ImportError("figures need matplotlib: pip install 'aioli-online[plot]'") from None

from aioli.state.certificate import Certificate

__all__ = ["draw_game"]

LEARNER, REFERENCE, BOUND = "#0b6e4f", "#8a8d91", "#c84c09"


class Standing(Protocol):
    """How a game stands after some rows: sums in nats."""

    @property
    def rows(self) -> int: ...

    @property
    def loss(self) -> float: ...

    @property
    def base_loss(self) -> float: ...

    @property
    def certificate(self) -> Certificate: ...


def draw_game(
    standings: Sequence[Standing], checkpoints: Sequence[Standing], regrets: Sequence[float], path: str
) -> None:
    """Left: the running loss beside the base rate's. Right: regret, certificate and theorem, as the rows come."""
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = [s.rows for s in standings]
    left.plot(rows, [s.base_loss / s.rows for s in standings], color=REFERENCE, label="base rate")
    left.plot(rows, [s.loss / s.rows for s in standings], color=LEARNER, label="AIOLI")
    left.set(xscale="log", xlabel="rows", ylabel="mean log loss so far (nats)", ylim=(0.0, 1.0))
    left.legend(frameon=False)
    right.plot(rows, [s.certificate.theorem for s in standings], color=REFERENCE, label="theorem, beforehand")
    right.plot(rows, [s.certificate for s in standings], color=BOUND, label="certificate, as it runs")
    right.plot([s.rows for s in checkpoints], regrets, color=LEARNER, label="regret, in hindsight")
    right.set(yscale="symlog", xlabel="rows", ylabel="nats over the best fixed θ")
    right.axhline(0.0, color="black", linewidth=0.5)
    right.legend(frameon=False, loc="center right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
