r"""Plays rounds on packed records, rows of several keys side by side: those of `states.dense.fused`, bit for bit.

Rows of different keys know nothing of each other, so a group of them is played in step: all products $k = Px$, then all
roots and answers, then what each does to its record. A processor that would wait for one row's divisions works on the
next row's meanwhile; one row after the other took half as long again. A group ends before a key comes a second time.

$k = Px$ wants the whole of P, in the order of sums of the library's own loop, so the triangle is unpacked; what the
round does to P, $P \leftarrow P - ss^\top$ and the drift back to the prior, is done to the triangle where it lies.
"""

import math
from typing import TypeAlias

import numpy as np

from aioli.fleet.layout import FACTORED, HEAD, LAST, MODEL_HEAD, TALLY
from aioli.fleet.room import Places
from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.prefetch import LINE, ask_for
from aioli.numerics.root import solve
from aioli.numerics.roots import WORKSPACE, solve_together
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import answer_label, count_round, keeps_its_digits
from aioli.states.dense import fused

__all__ = ["GROUP", "GROUP_ROOM", "GroupRoom", "PackedWorkspace", "play_packed_rows"]

GROUP = 16  # rows played in step: measured, `python -m benchmarks.fleet`
FEW = 4  # rows from which climbing side by side is faster
multiply = fused.multiply

# The arrays of a `PackedWorkspace`, as compiled functions take them: Ps, ks, scalars.
GROUP_ROOM = "Tuple((f8[:,:,::1],f8[:,::1],f8[:,::1]))"
GroupRoom: TypeAlias = tuple[Cube, Matrix, Matrix]

# The numbers of a row between the phases of its round, by place.
M, ABS_M, A, V, NORM, SPREAD, ABS_Z, E, FALL, ROOT_GAMMA, ALPHA, ROOM = range(12)


class PackedWorkspace:
    """Room for a group of rows between the phases of its rounds.

    Two matrices in turn, k of each row and one vector behind them for s, and each row's scalars.
    """

    def __init__(self, width: int) -> None:
        self.Ps: Cube = np.empty((2, width, width))
        self.ks: Matrix = np.empty((GROUP + 1, width))
        self.scalars: Matrix = np.empty((ROOM + WORKSPACE, GROUP))

    @property
    def arrays(self) -> GroupRoom:
        """The arrays, as compiled functions take them."""
        return self.Ps, self.ks, self.scalars


@compiled("i8(f8[::1],i8,i8[::1],i8)", uncounted=True)
def group_size(numbers: Vector, stride: int, places: Places, begin: int) -> int:
    """Return how many rows from `begin` on are of different keys whose models are not factored; at most `GROUP`."""
    most = min(GROUP, places.size - begin)
    for size in range(most):
        place = places[begin + size]
        again = 0
        for i in range(begin, begin + size):
            again += places[i] == place
        if again or numbers[place * stride + HEAD + FACTORED] > 0.5:
            return size
    return most


@compiled("void(f8[::1],f8[:,::1])", uncounted=True)
def unpack(triangle: Vector, P: Matrix) -> None:
    """Fill P from its lower triangle, row by row. O(d²)."""
    at = 0
    for i in range(P.shape[0]):
        row = triangle[at : at + i + 1]
        for j in range(i + 1):
            P[i, j] = row[j]
            P[j, i] = row[j]
        at += i + 1


@compiled(f"void(f8[::1],i8,i8[::1],i8[::1],{GROUP_ROOM},f8[:,::1],f8)", reassociate=True, uncounted=True)
def prepare_rows(
    numbers: Vector, stride: int, places: Places, soon: Places, room: GroupRoom, X: Matrix, half: float
) -> None:
    r"""Write $k = Px$, m, v, ‖x‖ and the spread of every row of a group. O(d²) a row.

    The first half of the records of `soon` is asked for, one a row, the other half while rows are learned
    (`play_packed_rows`): more at once would be more than can be on their way, and a row would wait for it.
    """
    Ps, ks, scalars = room
    width, middle = X.shape[1], stride // 2 // LINE * LINE
    triangle = HEAD + MODEL_HEAD + width
    end = triangle + width * (width + 1) // 2
    first = places[0] * stride
    unpack(numbers[first + triangle : first + end], Ps[0])
    for g in range(len(X)):
        if g < len(soon):
            ask_for(numbers, soon[g] * stride, soon[g] * stride + middle)
        if g + 1 < len(X):  # a number that was just written is read slowly: another row's P is filled in between
            first = places[g + 1] * stride
            unpack(numbers[first + triangle : first + end], Ps[(g + 1) & 1])
        x, k = X[g], ks[g]
        centre = places[g] * stride + HEAD + MODEL_HEAD
        w = numbers[centre : centre + width]
        spread = multiply(Ps[g & 1], x, k)
        v = 0.0
        m = 0.0
        norm2 = 0.0
        for i in range(width):
            v += x[i] * k[i]
            m += x[i] * w[i]
            norm2 += x[i] * x[i]
        scalars[M, g], scalars[V, g], scalars[NORM, g], scalars[SPREAD, g] = m, v, math.sqrt(norm2), spread
        scalars[ABS_M, g], scalars[A, g] = abs(m), half * v


@compiled("i8(f8[::1],i8,i8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1])", uncounted=True)
def answer_rows(
    numbers: Vector,
    stride: int,
    places: Places,
    scalars: Matrix,
    rules: Vector,
    y: Vector,
    weights: Vector,
    logits: Vector,
) -> int:
    """Announce and answer the labels of a group, and count the rounds; return how many rows were played. O(1) a row.

    Fewer than all were played where the next would cost its model's P too many digits: nothing of it has been counted.
    """
    rows = places.size
    roots = scalars[ABS_Z, :rows], scalars[E, :rows], scalars[FALL, :rows]
    if rows >= FEW:
        solve_together(scalars[ABS_M, :rows], scalars[A, :rows], *roots, scalars[ROOM:])
    else:
        for g in range(rows):
            scalars[ABS_Z, g], scalars[E, g], scalars[FALL, g] = solve(scalars[ABS_M, g], scalars[A, g])
    for g in range(rows):
        m, v, norm = scalars[M, g], scalars[V, g], scalars[NORM, g]
        size, e, fall = scalars[ABS_Z, g], scalars[E, g], scalars[FALL, g]
        z, gamma, alpha, inst, loss, v_after = answer_label(
            rules, m, v, norm, y[g], weights[g], logits[g], size, e, fall
        )
        if rules[Rule.FORGETTING] == 1.0 and not keeps_its_digits(scalars[SPREAD, g], v_after):
            return g
        scalars[ROOT_GAMMA, g], scalars[ALPHA, g] = math.sqrt(gamma), alpha
        first = places[g] * stride + HEAD
        count_round(numbers[first : first + TALLY], weights[g], loss, inst, norm, logits[g])
        logits[g] = z
    return rows


@compiled("void(f8[::1],f8,f8,f8[::1],f8[::1],f8,f8)", reassociate=True, uncounted=True)
def learn_row(model: Vector, root_gamma: float, alpha: float, k: Vector, s: Vector, rho: float, back: float) -> None:
    r"""Set $w \leftarrow w + \alpha k$ and $P \leftarrow P - ss^\top$ in a record, then let P drift. O(d²)."""
    width = k.size
    w = model[:width]
    for i in range(width):
        s[i] = root_gamma * k[i]
        w[i] += alpha * k[i]
    at = width
    for i in range(width):
        si, row = s[i], model[at : at + i + 1]
        for j in range(i + 1):
            row[j] -= si * s[j]
        at += i + 1
    if rho < 1.0:
        at = width
        for i in range(width):
            row = model[at : at + i + 1]
            for j in range(i + 1):
                row[j] *= rho
            row[i] += back
            at += i + 1


@compiled(
    f"i8(f8[::1],i8,i8[::1],i8,{GROUP_ROOM},f8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1],f8)",
    uncounted=True,
)
def play_packed_rows(
    numbers: Vector,
    stride: int,
    places: Places,
    begin: int,
    room: GroupRoom,
    rules: Vector,
    X: Matrix,
    y: Vector,
    weights: Vector,
    logits: Vector,
    clock: float,
) -> int:
    """Play the rows from `begin` on by the first models of their records; return the row that came next. O(d²) a row.

    It is the first whose model is factored, or which would cost its model's P too many digits: it has changed nothing.
    """
    (_, ks, scalars), width = room, X.shape[1]
    rho, half = rules[Rule.FORGETTING], 0.5 * rules[Rule.REGULARISER]
    back = (1.0 - rho) / rules[Rule.RIDGE]
    body, middle = HEAD + MODEL_HEAD, stride // 2 // LINE * LINE
    end = body + width + width * (width + 1) // 2
    t = begin
    while t < len(X):
        rows = group_size(numbers, stride, places, t)
        if rows == 0:
            return t
        group = slice(t, t + rows)
        here = places[group]
        soon = places[t + GROUP : t + GROUP + rows]
        prepare_rows(numbers, stride, here, soon, room, X[group], half)
        played = answer_rows(numbers, stride, here, scalars, rules, y[group], weights[group], logits[group])
        for g in range(played):
            if g < len(soon):
                ask_for(numbers, soon[g] * stride + middle, (soon[g] + 1) * stride)
            first = here[g] * stride
            model = numbers[first + body : first + end]
            learn_row(model, scalars[ROOT_GAMMA, g], scalars[ALPHA, g], ks[g], ks[GROUP], rho, back)
            numbers[first + LAST] = clock + t + g
        t += played
        if played < rows:
            return t
    return t
