"""A few rows through several maps of Fourier features and the states behind them, in one compiled call each.

Matrix products pay from some dozens of rows on; below, what Python and NumPy need around each product costs more than
the product. Map i has `directions[i]`, a line for each column, and the state whose buffer is `buffers[i]`
(`states.dense.state`); it is left out where its prior share is 0.
"""

import math
from typing import TypeAlias

import numpy as np

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.logistic import LEAST, MOST, logit, sigmoid
from aioli.numerics.root import root
from aioli.numerics.waves import write_waves
from aioli.outcomes.spec import Rule
from aioli.states.dense import factored, fused
from aioli.states.dense.single_row import FACTORED, RULES, SLOTS, TALLY

__all__ = ["PLAYED", "Maps", "consult_maps", "play_maps", "write_waves_of_rows"]

PLAYED = -1  # what `play_maps` returns where it has played all rows
# All maps, as compiled functions take them: how rows are scaled (centre, unit, farthest), then of each map the
# directions, the bandwidth, and the state as one buffer.
MAPS = "Tuple((f8[::1],f8[::1],f8,f8[:,:,::1],f8[::1],f8[:,::1]))"
Maps: TypeAlias = tuple[Vector, Vector, float, Cube, Vector, Matrix]

LEAST_PROBABILITY, MOST_PROBABILITY = LEAST, MOST  # plain names for Numba
play_rows, play_rows_factored, whiten = fused.play_rows, factored.play_rows, factored.whiten


@compiled("void(f8[::1],f8[::1],f8,f8[::1],f8[::1])", inline=True)
def scale_row(centre: Vector, unit: Vector, farthest: float, x: Vector, u: Vector) -> None:
    r"""Write $u = (x - \mathrm{centre}) \cdot \mathrm{unit}$, cut off at `farthest`. O(d)."""
    for j in range(x.size):
        u[j] = min(max((x[j] - centre[j]) * unit[j], -farthest), farthest)


@compiled("void(f8[:,::1],f8,f8,f8[::1],f8[::1])", reassociate=True)
def fourier_row(directions: Matrix, bandwidth: float, farthest: float, u: Vector, features: Vector) -> None:
    r"""Write $\sqrt{2/D}\,(\cos\omega^\top u/s, \sin\omega^\top u/s)$ of a scaled row. O(Dd)."""
    half = directions.shape[1]
    turns = np.zeros(half)
    for i in range(u.size):
        cell = min(max(u[i] / bandwidth, -farthest), farthest)
        for j in range(half):
            turns[j] += cell * directions[i, j]
    write_waves(turns, math.sqrt(1.0 / half), features[:half], features[half:])


@compiled("void(f8[:,::1],f8[:,::1])")
def write_waves_of_rows(turns: Matrix, F: Matrix) -> None:
    r"""Write $\sqrt{2/D}\,(\cos t, \sin t)$ of every row of angles. O(D) a row."""
    half = turns.shape[1]
    for i in range(len(turns)):
        write_waves(turns[i], math.sqrt(1.0 / half), F[i, :half], F[i, half:])


@compiled("f8(f8[::1],f8[::1])", reassociate=True)
def logit_of_features(buffer: Vector, row: Vector) -> float:
    r"""Return a state's log-odds of a row as it sees it. O(D²/2): of a symmetric P, $v = x^\top Px$ needs one half."""
    width = row.size
    w = buffer[SLOTS : SLOTS + width]
    P = buffer[SLOTS + 4 * width :].reshape(width, width)
    v, m = 0.0, 0.0
    if buffer[FACTORED] > 0.5:
        v = whiten(P, row, np.empty(width))
    else:
        for i in range(width):
            below = 0.0
            for j in range(i):
                below += P[i, j] * row[j]
            v += row[i] * (2.0 * below + P[i, i] * row[i])
    for i in range(width):
        m += row[i] * w[i]
    return root(m, 0.5 * buffer[Rule.REGULARISER] * max(v, 0.0))


@compiled(f"void({MAPS},f8[::1],f8[:,::1],f8[:,::1])")
def consult_maps(maps: Maps, prior: Vector, X: Matrix, Z: Matrix) -> None:
    """Write each map's log-odds of each row, as if it came next. O(D² + Dd) a row and map.

    It touches nothing else, so that threads may predict side by side.
    """
    centre, unit, farthest, directions, bandwidths, buffers = maps
    intercept = int(buffers[0, Rule.INTERCEPT])  # of all states alike
    u, row = np.empty(X.shape[1]), np.ones(intercept + 2 * directions.shape[2])
    for t in range(len(X)):
        scale_row(centre, unit, farthest, X[t], u)
        for i in range(bandwidths.size):
            if prior[i] > 0.0:
                fourier_row(directions[i], bandwidths[i], farthest, u, row[intercept:])
                Z[t, i] = logit_of_features(buffers[i], row)


@compiled(f"i8({MAPS},f8[::1],f8[:,::1],f8[::1],f8[::1],f8[:,::1],i8)")
def play_maps(maps: Maps, prior: Vector, X: Matrix, y: Vector, weights: Vector, Z: Matrix, first: int) -> int:
    """Let each map learn the rows; write its log-odds of each row before the label. O(D² + Dd) a row and map.

    The log-odds are those of the probabilities announced, which are finite. Returns PLAYED; or, where row t would cost
    the state of map i its digits, i·n + t: factor that state, then call again with this as `first`.
    """
    centre, unit, farthest, directions, bandwidths, buffers = maps
    n, size = len(X), 2 * directions.shape[2]
    u, logits = np.empty(X.shape[1]), np.empty(n)
    for i in range(first // n, bandwidths.size):
        if not prior[i] > 0.0:
            continue
        start = first % n if i == first // n else 0
        buffer = buffers[i]
        intercept = int(buffer[Rule.INTERCEPT])
        width = size + intercept
        F = np.ones((n - start, width))
        for t in range(start, n):
            scale_row(centre, unit, farthest, X[t], u)
            fourier_row(directions[i], bandwidths[i], farthest, u, F[t - start, intercept:])
        rules, tally, w = buffer[:RULES], buffer[RULES:TALLY], buffer[SLOTS : SLOTS + width]
        workspace = buffer[SLOTS + width : SLOTS + 4 * width].reshape(3, width)
        P = buffer[SLOTS + 4 * width :].reshape(width, width)
        logits[start:] = math.nan
        if buffer[FACTORED] > 0.5:
            play_rows_factored(P, w, tally, rules, workspace, F, y[start:], weights[start:], logits[start:])
            played = n - start
        else:
            played = play_rows(P, w, tally, rules, workspace, F, y[start:], weights[start:], logits[start:])
        for t in range(start, start + played):
            p = sigmoid(logits[t])
            Z[t, i] = logit(min(max(p, LEAST_PROBABILITY), MOST_PROBABILITY))
        if start + played < n:
            return i * n + start + played
    return PLAYED
