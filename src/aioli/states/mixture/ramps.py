r"""Ramps: each column cut at running quantiles, so that its effect may take any shape.

Between five neighbouring pairs of knots $q_0 < \dots < q_5$ of a column lie the features

$$r_k = \frac{\min(\max(u, q_{k-1}), q_k) - q_{k-1}}{q_k - q_{k-1}} \in [0, 1],$$

minus their mean: a model that is linear in them is any function of the column that is straight between knots, and no
cell is far out. What a feature means, to have passed so much of the column's rows, stays when the knots move with them.

The knots are quantiles of a uniform sample of at most 128 rows (a reservoir: memory of at most 256 columns of 128
numbers, whatever the stream), taken when the number of rows doubles. A value that many rows share counts once for each
knot at most, so that the knots are spread over the others. Ramps are given to columns of which the sample shows three
values (`states.mixture.layouts`).

What is kept is one array, for compiled code: the scale of the ramps, the layout of the view, the shapes of the ramps in
the order in which they were given, and the sample.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.states.mixture.layouts import (
    ENTRIES,
    HEADER,
    OFTEN,
    SETTLED,
    give_bends,
    gives_bends,
    layout_numbers,
    most_bent,
)

__all__ = [
    "GOLDEN",
    "RAMPS",
    "SAMPLE",
    "SAMPLED",
    "SHAPES",
    "climb",
    "find_knots",
    "grow_ramps",
    "ramp_numbers",
    "remember_row",
    "sampled_columns",
    "unpack_ramps",
]

RAMPS = 5  # of a column
SAMPLE = 128  # rows in the reservoir
SAMPLED = 256  # columns in the reservoir: with more, no expert reads the view from the first row
SHAPES = 2 * RAMPS + 1  # numbers of a column: the knots, then the means of the ramps
STRAIGHT = 0.3  # by which the column itself counts beside its ramps
GOLDEN = 0.6180339887498949  # whose multiples are spread evenly over the unit interval


@compiled("i8(i8)")
def sampled_columns(d: int) -> int:
    """Return how many of d columns the reservoir holds."""
    return min(d, SAMPLED)


@compiled("i8(i8)")
def ramp_numbers(d: int) -> int:
    """Return how many numbers the scale, the layout, the shapes and the reservoir of d columns take."""
    return 1 + layout_numbers(d) + SHAPES * most_bent(d) + SAMPLE * sampled_columns(d)


def unpack_ramps(kept: Vector, d: int) -> tuple[Vector, Vector, Matrix, Matrix]:
    """Return the scale, the layout, the shapes and the reservoir of d columns, in what is kept."""
    ends = np.cumsum([1, layout_numbers(d), SHAPES * most_bent(d)])
    scale, layout, shapes, sample = np.split(kept, ends)
    return scale, layout, shapes.reshape(-1, SHAPES), sample.reshape(SAMPLE, sampled_columns(d))


def grow_ramps(kept: Vector, d: int, larger: Vector, more: int) -> None:
    """Copy what is kept of d columns, but the layout, into what is kept of more: those were 0 in all rows so far."""
    scale, _, shapes, sample = unpack_ramps(kept, d)
    own_scale, _, own_shapes, own_sample = unpack_ramps(larger, more)
    own_scale[...], own_shapes[: len(shapes)], own_sample[:, : sample.shape[1]] = scale, shapes, sample


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True, inline=True)
def climb(kept: Vector, played: Vector, standard: Vector, ramp: Vector) -> None:
    """Write the columns and the ramps of the layout, in its order. O(d)."""
    d = played.size
    scale = kept[0]
    layout = kept[1 : 1 + layout_numbers(d)]
    shapes = kept[1 + layout.size : 1 + layout.size + SHAPES * most_bent(d)].reshape(most_bent(d), SHAPES)
    place, given, i = 1, 0, HEADER
    while place < ramp.size:
        entry = int(layout[i])
        i += 1
        if entry >= 0:
            ramp[place] = STRAIGHT * standard[1 + entry]
            place += 1
        else:
            u = played[-1 - entry]
            shape = shapes[given]
            for k in range(RAMPS):
                width = shape[k + 1] - shape[k]
                passed = min(max((u - shape[k]) / width, 0.0), 1.0) - shape[RAMPS + 1 + k] if width > 0.0 else 0.0
                ramp[place + k] = scale * passed
            place += RAMPS
            given += 1
    ramp[0] = 1.0


@compiled("void(f8[::1],f8,f8[::1])", uncounted=True)
def remember_row(kept: Vector, n: float, played: Vector) -> None:
    """Put the n-th row into the reservoir, or not, by its number alone; find the knots when n has doubled. O(d)."""
    m = int(n) - SETTLED
    if m <= 0:
        return
    d = played.size
    C = sampled_columns(d)
    sample = kept[kept.size - SAMPLE * C :].reshape(SAMPLE, C)
    turns = m * GOLDEN
    place = m - 1 if m <= SAMPLE else int((turns - math.floor(turns)) * m)
    if place < SAMPLE:
        for j in range(C):
            sample[place, j] = played[j]
    if m >= OFTEN and gives_bends(int(n)):
        find_knots(kept, d, min(m, SAMPLE))


@compiled("void(f8[::1],i8,i8)")
def find_knots(kept: Vector, d: int, rows: int) -> None:
    """Give ramps to columns of which so many rows of the sample show three values, and set all ramps to the sample.

    That is the knots of every column, the means of its ramps, and the scale that gives rows a squared norm of 1.
    """
    C = sampled_columns(d)
    sample = kept[kept.size - SAMPLE * C :].reshape(SAMPLE, C)[:rows]
    layout = kept[1 : 1 + layout_numbers(d)]
    give_bends(layout, shows_three_values(sample, d), RAMPS)
    shapes = kept[1 + layout.size : kept.size - SAMPLE * C].reshape(most_bent(d), SHAPES)
    cells, spaced = np.empty(rows), np.empty(rows)
    most = max(rows // (RAMPS + 1), 1)  # of a value that many rows share
    norm2, given = 0.0, 0
    for entry in layout[HEADER : HEADER + int(layout[ENTRIES])]:
        if entry >= 0.0:
            continue
        j = -1 - int(entry)
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
        shape = shapes[given]
        given += 1
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


@compiled("f8[::1](f8[:,::1],i8)")
def shows_three_values(sample: Matrix, d: int) -> Vector:
    """Return 1 for each of d columns of which a sample shows three values or more, 0 for others. O(d) a row."""
    shows = np.zeros(d)
    for j in range(sample.shape[1]):
        first, other = sample[0, j], sample[0, j]
        for i in range(len(sample)):
            cell = sample[i, j]
            if other == first:
                other = cell
            elif cell != first and cell != other:
                shows[j] = 1.0
                break
    return shows
