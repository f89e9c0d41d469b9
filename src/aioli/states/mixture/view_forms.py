"""The views of a row that are made from its standard view: squares, waves and ripples. See `states.mixture.views`."""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.states.mixture.column_statistics import MEAN, MOVES, OTHER, SPREAD, STRETCHED, THREE_VALUES
from aioli.states.mixture.layouts import HEADER

__all__ = [
    "RIPPLES",
    "RIPPLE_FREQUENCY",
    "SQUARE_COLUMNS",
    "SQUARE_LIMIT",
    "UNEVEN",
    "WAVES",
    "add_squares",
    "make_waves",
    "scale",
]

WAVES = 32
RIPPLES = 127
RIPPLE_FREQUENCY = 1.75  # of the waves
SQUARE_COLUMNS = 128  # that the square view holds from the first row, twice as many as may have a square
UNEVEN = 4.0  # most that is taken for the sum of a column's two values, one of which stands beyond the standard view
SQUARE_LIMIT = 10.0  # a square is taken of at most ten standard deviations


@compiled("void(f8[::1],f8[:,::1],f8,f8[::1],f8,f8[::1])", reassociate=True, inline=True)
def add_squares(layout: Vector, columns: Matrix, n: float, standard: Vector, by: float, square: Vector) -> None:
    r"""Write the columns and the squares of a layout, in its order. O(d).

    Where a column has two values, $s_1$ and $s_2 = -1/s_1$ in the standard view, its square $q = \frac12(s^2 - 1)$ is
    $\frac c2s$ with $c = s_1 + s_2$, and $s\sqrt{1 + c^2/4}$ is as long as both: that is written for the column.
    """
    for j in range(standard.size - 1):  # a loop of its own: it takes vector instructions
        s, variance = standard[1 + j], columns[SPREAD, j] / n
        sum2 = (columns[OTHER, j] - 2.0 * columns[MEAN, j]) ** 2 / variance if variance > 0.0 else 0.0
        longer = math.sqrt(1.0 + 0.25 * min(sum2, UNEVEN * UNEVEN))
        columns[STRETCHED, j] = s * longer if columns[MOVES, j] < THREE_VALUES else s
    for i in range(1, square.size):
        entry = int(layout[HEADER - 1 + i])
        if entry < 0:
            j = -1 - entry
            q = 0.5 * (min(abs(standard[1 + j]), SQUARE_LIMIT) ** 2 - 1.0)
            square[i] = by * q if columns[SPREAD, j] / n > 0.0 else 0.0
        elif int(layout[HEADER + i]) == -1 - entry:  # in files without layouts, any column has its square beside it
            square[i] = by * standard[1 + entry]
        else:
            square[i] = by * columns[STRETCHED, entry]
    square[0] = 1.0


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8[::1])", reassociate=True, inline=True)
def make_waves(directions: Matrix, phases: Vector, standard: Vector, wave: Vector) -> None:
    """Write a parabola for each half wave, within 6 % of a sine: vector instructions can do it. O(d)."""
    waves = phases.size
    for k in range(waves):
        wave[1 + k] = phases[k]
    turn = 1.0 / (2.0 * math.pi)
    d = directions.shape[0]
    for j in range(0, d - 3, 4):  # four columns a pass: each pass waits for what the last one wrote
        a, b = turn * standard[1 + j], turn * standard[2 + j]
        c, e = turn * standard[3 + j], turn * standard[4 + j]
        if a != 0.0 or b != 0.0 or c != 0.0 or e != 0.0:
            for k in range(waves):
                wave[1 + k] += (a * directions[j, k] + b * directions[j + 1, k]) + (
                    c * directions[j + 2, k] + e * directions[j + 3, k]
                )
    for j in range(d - d % 4, d):
        a = turn * standard[1 + j]
        if a != 0.0:
            for k in range(waves):
                wave[1 + k] += a * directions[j, k]
    height = math.sqrt(2.0 / waves) * 4.0
    for k in range(waves):
        t = wave[1 + k]
        t = 2.0 * (t - np.floor(t)) - 1.0
        wave[1 + k] = height * t * (1.0 - abs(t))
    wave[0] = 1.0


@compiled("void(f8[::1],f8)", reassociate=True, inline=True)
def scale(view: Vector, by: float) -> None:
    """Multiply a view, and put the 1 in front. O(d)."""
    for i in range(1, view.size):
        view[i] *= by
    view[0] = 1.0
