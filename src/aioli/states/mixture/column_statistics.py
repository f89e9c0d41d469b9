r"""Running mean, spread and peak of every column, which a few cells cannot move, whatever stands in them.

A row is seen relative to the first row of the stream, $u = x - x_1$, so that adding a constant to a column changes
nothing, and a column of a one-hot code stays sparse. A cell is *believed* as it stands if it is no larger than what the
column has shown before, or at most r standard deviations from the mean so far, r = `limit`, more in the first rows. Any
other cell is played, and counted, as if it stood at that limit; one that stands a hundred times beyond it says nothing,
and is played as the mean. Each such cell makes the limit four times as wide for the next few rows, so that a column
that has really moved is followed within a handful of rows, and a single cell moves nothing.

Before there is a spread, a second cell decides:

- in the third row, the origin of a column moves from the first row to the second, where the first stands apart and the
  two others stand together;
- a column that has moved once is rescaled, where its second move is a thousand times smaller.

Behind that, no cell of the standard view stands farther than 4 from 0: what is rare is not magnified without end.
"""

import math

from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = [
    "ANCHOR",
    "LIMIT",
    "MEAN",
    "MOVES",
    "OTHER",
    "PLAYED",
    "ROOM",
    "SAVED",
    "SECOND",
    "SPREAD",
    "STATISTICS",
    "STRETCHED",
    "THREE_VALUES",
    "TOP",
    "count_values",
    "relate_to_peak",
    "settle_origin",
    "standardise",
]

STATISTICS, SAVED = 10, 8
# rows of `columns`; the last two are scratch
ANCHOR, MEAN, SPREAD, TOP, ROOM, MOVES, SECOND, OTHER, PLAYED, STRETCHED = range(STATISTICS)
THREE_VALUES = 3.0  # in place of the number of moves, which is counted up to 2

LIMIT = 10.0  # standard deviations from the mean at which a cell is still believed; infinite where every cell is
UNSURE = 8.0  # rows: a spread of n rows is believed to a factor of 1 + 8/n
FARTHEST = 0.4  # of the limit: where the standard view ends
ABSURD = 100.0  # limits from the mean, where a cell says nothing
WIDER = 4.0  # by which the limit grows with each cell beyond it
CALM = 0.9  # of that growth is left, a row
APART = 1000.0  # times nearer must two cells stand to each other than to a third that is not believed


@compiled("void(f8[:,::1],f8,f8,f8[::1])", inline=True)
def settle_origin(columns: Matrix, n: float, limit: float, x: Vector) -> None:
    """Choose the origin of every column, in the first three rows. O(d)."""
    if n == 1.0:
        for j in range(x.size):
            columns[ANCHOR, j] = x[j]
    elif n == 2.0:
        for j in range(x.size):
            columns[SECOND, j] = x[j]
    elif n == 3.0 and limit < math.inf:
        for j in range(x.size):
            first, second = columns[ANCHOR, j], columns[SECOND, j]
            if APART * abs(x[j] - second) < min(abs(second - first), abs(x[j] - first)):
                columns[ANCHOR, j] = second
                columns[MEAN, j] -= second - first  # spread, peak and moves of two rows are the same from either
                columns[OTHER, j] = first - second


@compiled("f8(f8[:,::1],f8,f8,f8[::1],f8[::1])", reassociate=True, inline=True)
def standardise(columns: Matrix, n: float, limit: float, x: Vector, standard: Vector) -> float:
    """Write the n-th row in standard deviations from the mean, behind a place for the 1; returns its ‖·‖². O(d)."""
    norm2 = 0.0
    before = max(n - 1.0, 1.0)
    reach = limit * (1.0 + UNSURE / before)
    farthest = FARTHEST * limit
    for j in range(x.size):
        u = x[j] - columns[ANCHOR, j]
        size, top, mean = abs(u), columns[TOP, j], columns[MEAN, j]
        spread, room = columns[SPREAD, j], columns[ROOM, j]
        if size > 0.0 and columns[MOVES, j] < 2.0:
            columns[MOVES, j] += 1.0
            if columns[MOVES, j] == 2.0 and APART * size < top and limit < math.inf:
                mean *= size / top
                spread *= (size / top) ** 2
                top = size
        step = u - mean
        columns[ROOM, j] = CALM * room
        if size > top and spread > 0.0:
            bound = (1.0 + room) * reach * math.sqrt(spread / before)
            if abs(step) > bound:
                step = math.copysign(bound, step) if abs(step) <= ABSURD * bound else 0.0
                u = mean + step
                size = abs(u) if room > WIDER - 1.0 else 0.0  # the third in a row is believed
                columns[ROOM, j] = WIDER * (1.0 + room) - 1.0
        columns[TOP, j] = max(top, size)
        columns[PLAYED, j] = u
        mean += step / n
        spread += step * (u - mean)
        variance = spread / n  # 0 for a column that has not moved, or by less than float64 can square
        s = (u - mean) / math.sqrt(variance) if variance > 0.0 else 0.0
        s = min(max(s, -farthest), farthest)
        columns[MEAN, j] = mean
        columns[SPREAD, j] = spread
        standard[1 + j] = s
        norm2 += s * s
    return norm2


@compiled("void(f8[:,::1],f8[::1])", reassociate=True, inline=True)
def count_values(columns: Matrix, x: Vector) -> None:
    """Note of the row just standardised which columns have shown a second value, and which a third. O(d).

    A cell that is not believed is no value of its column, nor is one that stands a thousand times farther out than
    another that comes later: that one takes its place.
    """
    for j in range(x.size):
        u, other, moves = x[j] - columns[ANCHOR, j], columns[OTHER, j], columns[MOVES, j]
        new = u != 0.0 and u != other and u == columns[PLAYED, j]
        instead = new and (moves == 1.0 or APART * abs(u) < abs(other))
        columns[OTHER, j] = u if instead else other
        columns[MOVES, j] = THREE_VALUES if new and not instead else moves


@compiled("f8(f8[:,::1],f8[::1])", reassociate=True, inline=True)
def relate_to_peak(columns: Matrix, peak: Vector) -> float:
    """Write the row just standardised in units of the largest cell so far, behind a place for the 1; returns ‖·‖²."""
    norm2 = 0.0
    for j in range(peak.size - 1):
        top = columns[TOP, j]
        r = min(max(columns[PLAYED, j] / top, -1.0), 1.0) if top > 0.0 else 0.0
        peak[1 + j] = r
    for j in range(1, peak.size):
        norm2 += peak[j] * peak[j]
    return norm2
