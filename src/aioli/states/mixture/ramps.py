r"""Ramps: each column cut at running quantiles, so that its effect may take any shape.

Between five neighbouring pairs of knots $q_0 < \dots < q_5$ of a column lie the features

$$r_k = \frac{\min(\max(u, q_{k-1}), q_k) - q_{k-1}}{q_k - q_{k-1}} \in [0, 1],$$

minus their mean: a model that is linear in them is any function of the column that is straight between knots, and no
cell is far out. What a feature means, to have passed so much of the column's rows, stays when the knots move with them.

The knots are quantiles of a uniform sample of at most 128 rows (a reservoir: memory of at most 64 columns of 128
numbers, whatever the stream), taken when the number of rows doubles. A value that many rows share counts once for each
knot at most, so that the knots are spread over the others. A column of fewer than three values has no ramps.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = [
    "GOLDEN",
    "RAMPS",
    "RAMP_COLUMNS",
    "SAMPLE",
    "SHAPES",
    "climb",
    "find_knots",
    "grow_ramps",
    "ramp_columns",
    "ramp_numbers",
    "remember_row",
]

RAMPS = 5  # of a column
RAMP_COLUMNS = 64  # ramps are made of the first columns only: beyond, they would cost more than they bring
SAMPLE = 128  # rows in the reservoir
SHAPES = 2 * RAMPS + 1  # numbers of a column: the knots, then the means of the ramps
BEFORE_SAMPLE = 3  # rows in which the origin of a column may still move
FIRST_KNOTS = 16  # rows before the first knots
STRAIGHT = 0.3  # by which the column itself counts beside its ramps
GOLDEN = 0.6180339887498949  # whose multiples are spread evenly over the unit interval


@compiled("i8(i8)")
def ramp_columns(d: int) -> int:
    """Return how many of d columns have ramps."""
    return min(d, RAMP_COLUMNS)


@compiled("i8(i8)")
def ramp_numbers(d: int) -> int:
    """Return how many numbers the scale, the shapes and the reservoir of d columns take."""
    return 1 + (SHAPES + SAMPLE) * ramp_columns(d)


def grow_ramps(kept: Vector, larger: Vector) -> None:
    """Copy what is kept of some columns into what is kept of more: those were 0 in all rows so far."""
    D, E = ((numbers.size - 1) // (SHAPES + SAMPLE) for numbers in (kept, larger))
    larger[: 1 + SHAPES * D] = kept[: 1 + SHAPES * D]
    larger[1 + SHAPES * E :].reshape(SAMPLE, E)[:, :D] = kept[1 + SHAPES * D :].reshape(SAMPLE, D)


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True, inline=True)
def climb(kept: Vector, played: Vector, standard: Vector, ramp: Vector) -> None:
    """Write each column of the standard view beside its ramps, so that a new column comes last. O(d)."""
    d = played.size
    D = ramp_columns(d)
    scale = kept[0]
    shapes = kept[1 : 1 + SHAPES * D].reshape(D, SHAPES)
    place = 1
    for j in range(D):
        u = played[j]
        shape = shapes[j]
        ramp[place] = STRAIGHT * standard[1 + j]
        for k in range(RAMPS):
            width = shape[k + 1] - shape[k]
            passed = min(max((u - shape[k]) / width, 0.0), 1.0) - shape[RAMPS + 1 + k] if width > 0.0 else 0.0
            ramp[place + 1 + k] = scale * passed
        place += 1 + RAMPS
    for j in range(D, d):
        ramp[place] = STRAIGHT * standard[1 + j]
        place += 1
    ramp[0] = 1.0


@compiled("void(f8[::1],f8,f8[::1])", uncounted=True)
def remember_row(kept: Vector, n: float, played: Vector) -> None:
    """Put the n-th row into the reservoir, or not, by its number alone; find the knots when n has doubled. O(d)."""
    m = int(n) - BEFORE_SAMPLE
    if m <= 0:
        return
    D = ramp_columns(played.size)
    sample = kept[1 + SHAPES * D :].reshape(SAMPLE, D)
    turns = m * GOLDEN
    slot = m - 1 if m <= SAMPLE else int((turns - math.floor(turns)) * m)
    if slot < SAMPLE:
        for j in range(D):
            sample[slot, j] = played[j]
    if m >= FIRST_KNOTS and m & (m - 1) == 0:
        find_knots(kept, sample[: min(m, SAMPLE)])


@compiled("void(f8[::1],f8[:,::1])")
def find_knots(kept: Vector, sample: Matrix) -> None:
    """Set the knots of every column, the means of its ramps, and the scale that gives rows a squared norm of 1."""
    rows, D = sample.shape
    shapes = kept[1 : 1 + SHAPES * D].reshape(D, SHAPES)
    cells, spaced = np.empty(rows), np.empty(rows)
    most = max(rows // (RAMPS + 1), 1)  # of a value that many rows share
    norm2 = 0.0
    for j in range(D):
        for i in range(rows):  # sorted by insertion: short
            cell, at = sample[i, j], i
            while at > 0 and cells[at - 1] > cell:
                cells[at] = cells[at - 1]
                at -= 1
            cells[at] = cell
        values, repeated, count = 0, 0, 0
        for i in range(rows):
            repeated = repeated + 1 if i > 0 and cells[i] == cells[i - 1] else 1
            values += 1 if repeated == 1 else 0
            if repeated <= most:
                spaced[count] = cells[i]
                count += 1
        shape = shapes[j]
        for k in range(RAMPS + 1):
            shape[k] = spaced[(k * (count - 1) + RAMPS // 2) // RAMPS] if values > 2 else 0.0
        for k in range(RAMPS):
            width = shape[k + 1] - shape[k]
            mean, square = 0.0, 0.0
            for i in range(rows):
                passed = min(max((cells[i] - shape[k]) / width, 0.0), 1.0) if width > 0.0 else 0.0
                mean += passed / rows
                square += passed * passed / rows
            shape[RAMPS + 1 + k] = mean
            norm2 += max(square - mean * mean, 0.0)
    kept[0] = 1.0 / math.sqrt(norm2) if norm2 > 0.0 else 0.0
