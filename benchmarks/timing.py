"""Timing side by side: contenders take turns, so that a busy moment of the machine meets all of them alike.

A ratio of two contenders is the median, over the rounds, of the ratios of their neighbouring runs; its quartiles
tell how far to trust it. Times alone are medians, and mean less than ratios do.
"""

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aioli.numerics.compiling import Vector

__all__ = ["Prepare", "Run", "Spread", "exponent", "side_by_side", "timed"]

Run = Callable[[], object]
Prepare = Callable[[], Run]  # makes a fresh contender, untimed, and returns the run that is timed


@dataclass(frozen=True)
class Spread:
    """A quantity over the rounds: its median and its quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Vector) -> "Spread":
        """The quartiles of the values."""
        low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
        return cls(float(low), float(median), float(high))


def side_by_side(contenders: Mapping[str, Prepare], repeats: int) -> dict[str, Vector]:
    """Seconds of each contender's run, one a round: A, B, A, B, … after a first round that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats + 1):
        for name, prepare in contenders.items():
            seconds[name].append(timed(prepare()))
    return {name: np.array(values[1:]) for name, values in seconds.items()}


def exponent(sizes: Vector, times: Vector) -> float:
    r"""The slope of $\log t$ against $\log s$, by least squares: $t \propto s^{\text{slope}}$."""
    slope, _ = np.polyfit(np.log(sizes), np.log(times), 1)
    return float(slope)


def timed(run: Run) -> float:
    """Return the seconds of a run, during which no garbage is collected."""
    collecting = gc.isenabled()
    gc.disable()  # as timeit does: one contender's garbage must not be another's pause
    try:
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin
    finally:
        if collecting:
            gc.enable()
