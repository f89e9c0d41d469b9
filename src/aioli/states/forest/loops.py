"""Loops over rows: what each member of the forest announces, then the trees learn, then the sample takes the row."""

import math

import numpy as np

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.pseudo_random import uniform
from aioli.states.forest.boxes import ask_for_boxes
from aioli.states.forest.nodes import BOXES, DEEPEST, NODES, NOTES, RATES, USED, Integers, outputs_compiled
from aioli.states.forest.trees import consult_trees, learn_trees

__all__ = ["consult_rows", "play_rows", "write_odds"]

LEAST = 1e-4  # a tree's probability below this counts as this where trees are averaged by their logarithms
BOLDER = 1.5  # averages of many trees are timid: one member says them this much louder
SAMPLING = 1 << 20  # stands for a tree's number where the sample draws


@compiled("void(f8[::1],i8)")
def normalise(z: Vector, K: int) -> None:
    r"""Subtract $\ln\sum e^{z_k}$ from every entry. O(K)."""
    top = z[0]
    for c in range(1, K):
        top = max(top, z[c])
    total = 0.0
    for c in range(K):
        total += math.exp(z[c] - top)
    shift = top + math.log(total)
    for c in range(K):
        z[c] -= shift


@compiled("void(f8[:,::1],f8[:,::1],i8[::1],i8,f8[:,::1])", uncounted=True)
def members(P: Matrix, linear: Matrix, kind_of: Integers, kinds: int, out: Matrix) -> None:
    """Write the log-probabilities of each member, given those of the trees and the log-odds of the paths' model."""
    T, K = P.shape
    S = linear.shape[1]
    out[:] = 0.0
    for tree in range(T):
        for c in range(K):
            said = math.log(max(P[tree, c], LEAST))
            out[kind_of[tree], c] += said
            out[kinds, c] += said
    for kind in range(kinds):
        count = 0
        for tree in range(T):
            count += kind_of[tree] == kind
        for c in range(K):
            out[kind, c] /= max(count, 1)
        normalise(out[kind], K)
    for c in range(K):
        out[kinds, c] /= T
        out[kinds + 1, c] = BOLDER * out[kinds, c]
    normalise(out[kinds], K)
    normalise(out[kinds + 1], K)
    for m in range(RATES):
        for c in range(S if K > 1 else 0):  # a class that is alone is certain
            out[kinds + 2 + m, c if S > 1 else 1] = linear[m, c]
        normalise(out[kinds + 2 + m], K)


@compiled(f"void({NODES},{USED},f8[::1],i8[::1],i8,f8[:,::1],f8[:,:,::1],i8)")
def consult_rows(
    nodes: Cube, used: Integers, log_rho: Vector, kind_of: Integers, kinds: int, U: Matrix, out: Matrix, row: int
) -> None:
    """Write what each member says of each row, as if it came next."""
    T, K = nodes.shape[0], out.shape[2]
    paths, lengths = np.empty((T, DEEPEST), np.int64), np.empty(T, np.int64)
    P, linear = np.empty((T, K)), np.empty((RATES, outputs_compiled(K)))
    for t in range(U.shape[0]):
        consult_trees(nodes, used, log_rho, row, U[t], K, paths, lengths, P, linear)
        members(P, linear, kind_of, kinds, out[t])


@compiled(
    f"void({NODES},{BOXES},{USED},f8[::1],f8,f8[:,::1],i8[::1],i8,f8[:,::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1],"
    "f8[:,:,::1],i8)"
)
def play_rows(
    nodes: Cube,
    boxes: Cube,
    used: Integers,
    log_rho: Vector,
    whole: float,
    scales: Matrix,
    kind_of: Integers,
    kinds: int,
    X: Matrix,
    U: Matrix,
    codes: Integers,
    weights: Vector,
    sample: Matrix,
    out: Matrix,
    row: int,
) -> None:
    """Write what each member says of a row, learn its label, and go on: O(trees × (depth + d)) a row, as a rule.

    `nodes` has room for two more nodes a row in every tree, or is as large as it may become. Where `out` has no rows,
    nothing is written. A record of the sample is a row, its label and its weight; every row so far has had the same
    chance to be in it.
    """
    T, K, d = nodes.shape[0], out.shape[2], X.shape[1]
    paths, lengths = np.empty((T, DEEPEST), np.int64), np.empty(T, np.int64)
    P, linear = np.empty((T, K)), np.empty((RATES, outputs_compiled(K)))
    notes, steps, columns = np.empty((DEEPEST, NOTES)), np.empty((2, linear.size)), np.empty(d, np.int64)
    for t in range(U.shape[0]):
        now = row + t
        u, weight, y = U[t], weights[t], codes[t]
        consult_trees(nodes, used, log_rho, now, u, K, paths, lengths, P, linear)
        ask_for_boxes(boxes, paths, lengths)
        if len(out):
            members(P, linear, kind_of, kinds, out[t])
        if weight > 0.0:
            given = paths, notes, lengths, linear, steps, columns
            learn_trees(nodes, boxes, used, log_rho, whole, weight, now, u, scales, K, *given, y)
        place = now
        if now >= sample.shape[0]:
            place = int(uniform(SAMPLING, now, 0) * (now + 1))
        if place < sample.shape[0]:
            for j in range(d):
                sample[place, j] = X[t, j]
            sample[place, d] = y
            sample[place, d + 1] = weight


@compiled("void(f8[:,:,::1],f8[:,::1])")
def write_odds(said: Cube, Z: Matrix) -> None:
    """Write the log-odds of the second of two classes, given each member's log-probabilities. O(members) a row."""
    for t in range(Z.shape[0]):
        for m in range(Z.shape[1]):
            Z[t, m] = said[t, m, 1] - said[t, m, 0]
