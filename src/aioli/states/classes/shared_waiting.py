r"""Wide rows one at a time over one precision matrix: what they take from P waits, and 16 of them take it together.

With S the waiting rows' $\sqrt{s}\,k$, the matrix of the game is $P - S^\top S$, so that
$k = Px - S^\top(Sx)$ costs one pass over P that only reads. P is symmetric, and only its lower triangle is read and
written here: a row waits for memory, and this is a quarter of what it would move.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.shared_loops import BLOCK, FORGETTING, RIDGE, answer, settle
from aioli.states.classes.triangle import downdate, multiply

__all__ = ["COUNTS", "HELD", "LOWER", "ROWS", "WAITING", "consult_waiting", "end_waiting", "play_waiting"]

WAITING = 16  # rows whose parts of P wait
COUNTS = 3
ROWS, HELD, LOWER = range(COUNTS)  # rows played; how many wait; whether P holds only its lower triangle
TILE = 32  # lines and columns of a square that is mirrored at a time


@compiled("f8(f8[:,::1],f8[:,::1],i8,f8[::1],f8[:,::1])", reassociate=True, uncounted=True)
def read_spread(P: Matrix, S: Matrix, held: int, x: Vector, k: Matrix) -> float:
    r"""Compute $k = (P - S^\top S)x$ of the rows that wait; return $v = x^\top k$. O(d²)."""
    multiply(P, x, k)
    own = k[0]
    for i in range(held):
        waits, along = S[i], 0.0
        for j in range(x.size):
            along += waits[j] * x[j]
        for j in range(x.size):
            own[j] -= along * waits[j]
    v = 0.0
    for j in range(x.size):
        v += own[j] * x[j]
    return max(v, 0.0)


@compiled("void(f8[:,::1],f8[::1],f8[::1])", reassociate=True, uncounted=True)
def read_centre(W: Matrix, x: Vector, m: Vector) -> None:
    """Compute the logits m = Wx. O(Kd)."""
    for q in range(m.size):
        line, total = W[q], 0.0
        for j in range(x.size):
            total += line[j] * x[j]
        m[q] = total


@compiled("void(f8[:,::1],f8[:,::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1])", reassociate=True)
def play_waiting(
    P: Matrix,
    W: Matrix,
    S: Matrix,
    counts: Codes,
    rules: Vector,
    X: Matrix,
    codes: Codes,
    weights: Vector,
    out: Matrix,
) -> None:
    """Announce the logarithm of each class's probability, then learn, row after row. O(d² + Kd) a row.

    What is forgotten is forgotten at the end of every block of rows, as where rows come in blocks.
    """
    d, K = X.shape[1], W.shape[0]
    k, room = np.empty((1, d)), np.empty((6, K))
    m, z, p, step, pi, alpha = room[0], room[1], room[2], room[3], room[4], room[5]
    for t in range(len(X)):
        x = X[t]
        v = read_spread(P, S, counts[HELD], x, k)
        read_centre(W, x, m)
        norm2 = 0.0
        for j in range(d):
            norm2 += x[j] * x[j]
        settle(m, 0.5 * v, z, p, out[t], step)
        s = answer(rules, p, out[t], v, math.sqrt(norm2), weights[t], codes[t], 1.0 / K, pi, alpha)
        own, waits, root = k[0], S[counts[HELD]], math.sqrt(s)
        for q in range(K):
            line, scale = W[q], alpha[q]
            for j in range(d):
                line[j] -= scale * own[j]
        for j in range(d):
            waits[j] = root * own[j]
        counts[HELD] += 1
        counts[ROWS] += 1
        forgets = rules[FORGETTING] < 1.0 and counts[ROWS] % BLOCK == 0
        if forgets or counts[HELD] == len(S):
            rho = rules[FORGETTING] ** BLOCK if forgets else 1.0
            downdate(P, S, counts[HELD], rho, (1.0 - rho) / rules[RIDGE])
            counts[HELD], counts[LOWER] = 0, 1


@compiled("void(f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],i8)", reassociate=True)
def consult_waiting(P: Matrix, W: Matrix, S: Matrix, X: Matrix, out: Matrix, held: int) -> None:
    """Write the logarithm of each class's probability for rows, each as if it came next. O(d² + Kd) a row."""
    K = W.shape[0]
    k, room = np.empty((1, X.shape[1])), np.empty((4, K))
    m, z, p, step = room[0], room[1], room[2], room[3]
    for t in range(len(X)):
        v = read_spread(P, S, held, X[t], k)
        read_centre(W, X[t], m)
        settle(m, 0.5 * v, z, p, out[t], step)


@compiled("void(f8[:,::1],f8[:,::1],i8[::1])", reassociate=True)
def end_waiting(P: Matrix, S: Matrix, counts: Codes) -> None:
    """Take from P what waits, and write its upper triangle where only the lower one is there. O(d²)."""
    if counts[HELD] > 0:
        downdate(P, S, counts[HELD], 1.0, 0.0)
        counts[HELD], counts[LOWER] = 0, 1
    if counts[LOWER]:
        mirror(P)
        counts[LOWER] = 0


@compiled("void(f8[:,::1])")
def mirror(P: Matrix) -> None:
    """Write the lower triangle into the upper one, a square after the other: both ends of a square stay in cache."""
    for top in range(0, P.shape[0], TILE):
        for left in range(0, top + 1, TILE):
            for i in range(top, min(top + TILE, P.shape[0])):
                for j in range(left, min(left + TILE, i)):
                    P[j, i] = P[i, j]
