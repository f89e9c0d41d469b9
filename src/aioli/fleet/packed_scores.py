"""Computes log-odds of rows by packed records, several rows in step: those of `loops.logit_of_row`, bit for bit."""

import math

from aioli.fleet.layout import FACTORED, HEAD, MODEL_HEAD
from aioli.fleet.packed_rows import (
    ABS_M,
    ABS_Z,
    FALL,
    GROUP,
    GROUP_ROOM,
    ROOM,
    A,
    E,
    GroupRoom,
    M,
    multiply,
    unpack,
)
from aioli.fleet.room import Places
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.prefetch import ask_for
from aioli.numerics.roots import solve_together

__all__ = ["rows_to_score", "score_packed_rows"]


@compiled("i8(f8[::1],i8,i8[::1],i8)", uncounted=True)
def rows_to_score(numbers: Vector, stride: int, places: Places, begin: int) -> int:
    """Return how many rows from `begin` on have a place and a model that is not factored; at most `GROUP`."""
    most = min(GROUP, places.size - begin)
    for size in range(most):
        place = places[begin + size]
        if place < 0 or numbers[place * stride + HEAD + FACTORED] > 0.5:
            return size
    return most


@compiled(f"void(f8[::1],i8,i8[::1],i8[::1],{GROUP_ROOM},f8[:,::1],f8[::1],f8)", reassociate=True, uncounted=True)
def score_packed_rows(
    numbers: Vector, stride: int, places: Places, soon: Places, room: GroupRoom, X: Matrix, logits: Vector, half: float
) -> None:
    r"""Write the root of $z + av\tanh(z/2) = m$ for each row of a group, a being `half`. O(d²) a row.

    The records of `soon`, where there is one, are asked for. P is filled a row ahead, as in `packed_rows`.
    """
    Ps, ks, scalars = room
    rows, width = X.shape
    triangle = HEAD + MODEL_HEAD + width
    end = triangle + width * (width + 1) // 2
    first = places[0] * stride
    unpack(numbers[first + triangle : first + end], Ps[0])
    for g in range(rows):
        if g < len(soon) and soon[g] >= 0:
            ask_for(numbers, soon[g] * stride, (soon[g] + 1) * stride)
        if g + 1 < rows:
            first = places[g + 1] * stride
            unpack(numbers[first + triangle : first + end], Ps[(g + 1) & 1])
        x, k = X[g], ks[g]
        centre = places[g] * stride + HEAD + MODEL_HEAD
        w = numbers[centre : centre + width]
        multiply(Ps[g & 1], x, k)
        v = 0.0
        for i in range(width):
            v += x[i] * k[i]
        m = 0.0
        for i in range(width):
            m += x[i] * w[i]
        scalars[M, g], scalars[ABS_M, g], scalars[A, g] = m, abs(m), half * max(v, 0.0)
    roots = scalars[ABS_Z, :rows], scalars[E, :rows], scalars[FALL, :rows]
    solve_together(scalars[ABS_M, :rows], scalars[A, :rows], *roots, scalars[ROOM:])
    for g in range(rows):
        logits[g] = math.copysign(scalars[ABS_Z, g], scalars[M, g])
