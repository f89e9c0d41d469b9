"""How much of a mixture each expert holds, along the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.errors import CapabilityMissing
from aioli.numerics.compiling import Vector
from aioli.plot.drawing import OTHERS, REFERENCE, Axes, Display
from aioli.plot.recording import RecordedRun

__all__ = ["SharesDisplay"]

NAMED = 8  # experts with a colour of their own


@dataclass
class SharesDisplay(Display):
    """The shares of a mixture's experts as the rows came, those that were heard most by name, the others together.

    Parameters
    ----------
    rows
        After how many rows the shares were looked at.
    shares
        The shares of each expert then, by its name.
    """

    rows: Sequence[int]
    shares: Mapping[str, Vector]

    @classmethod
    def from_run(cls, run: RecordedRun, ax: Axes | None = None) -> Self:
        """Draw the shares of a recorded run of a mixture."""
        points = [(point.rows, point.weights) for point in run.points if point.weights is not None]
        if not points:
            raise CapabilityMissing(f"{type(run.learner).__name__} is no mixture and has no shares; Auto and Wide have")
        rows = [at for at, _ in points]
        names = dict.fromkeys(name for _, weights in points for name in weights)
        shares = {name: np.array([weights.get(name) or 0.0 for _, weights in points]) for name in names}
        return cls(rows, shares).plot(ax)

    def _draw(self, ax: Axes) -> None:
        order = sorted(self.shares, key=lambda name: -float(self.shares[name].mean()))
        named = order[:NAMED]
        rest = np.sum([self.shares[name] for name in order[NAMED:]] or [np.zeros(len(self.rows))], axis=0)
        layers = [*(self.shares[name] for name in named), rest]
        colours = [*OTHERS[: len(named)], REFERENCE]
        labels = [*named, "all others"] if len(order) > NAMED else named
        ax.stackplot(self.rows, layers, colors=colours, labels=labels)
        ax.set(xlabel="rows", ylabel="share of the mixture", xlim=(self.rows[0], self.rows[-1]), ylim=(0.0, 1.0))
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
