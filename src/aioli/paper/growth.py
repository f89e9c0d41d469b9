r"""How regrets grow: means over runs, the worse of the two laws, and log–log slopes with their uncertainty."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from aioli.numerics.compiling import Matrix, Vector

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["column", "exponent", "slope_interval", "worse"]

RESAMPLES = 2000


def column(rows: Sequence["DataclassInstance"], name: str) -> Vector:
    """Return the numbers of this name, one a row of a table."""
    return np.array([vars(row)[name] for row in rows])


def worse(regrets: Matrix) -> tuple[int, float, float]:
    """Return which law has the larger mean over its runs, that mean, and its standard error; a line of runs a law."""
    means = regrets.mean(axis=1)
    law = int(means.argmax())
    runs = regrets.shape[1]
    return law, float(means[law]), float(regrets[law].std(ddof=1) / math.sqrt(runs)) if runs > 1 else math.nan


def exponent(sizes: Vector, values: Matrix) -> Vector:
    r"""Return the slope of $\log v$ against $\log s$ of each line of values; NaN where one is not above 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.where(values > 0.0, np.log(values), math.nan)
    s = np.log(sizes) - np.log(sizes).mean()
    return np.asarray(logs @ s / (s @ s))


def slope_interval(regrets: Mapping[int, Matrix]) -> tuple[float, float, float]:
    """Return the slope of the worse mean regret in n, and its 95 % interval by the bootstrap over runs.

    `regrets` holds, for each n, one line of runs a law. Runs are drawn with replacement within each law and n. Where a
    mean is not above 0, in the runs or in a resample, there is no slope: NaN.
    """
    rng = np.random.default_rng(0)
    sizes = np.array(sorted(regrets), dtype=np.float64)
    if sizes.size < 2:
        return math.nan, math.nan, math.nan
    drawn = []
    for n in sorted(regrets):
        laws, runs = regrets[n].shape
        picks = rng.integers(runs, size=(RESAMPLES, laws, runs))
        picks[0] = np.arange(runs)  # the runs as they are: the slope itself
        drawn.append(np.take_along_axis(regrets[n][None], picks, axis=2).mean(axis=2).max(axis=1))
    slopes = exponent(sizes, np.column_stack(drawn))
    low, high = np.quantile(slopes[1:], [0.025, 0.975]) if np.isfinite(slopes).all() else (math.nan, math.nan)
    return float(slopes[0]), float(low), float(high)
