"""Lets one tree learn a row: splits where the Mondrian process does, counts the label, and weighs the prunings.

The formulas, and the reasons for them, are in `states.forest.trees`.
"""

import math

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.numerics.pseudo_random import uniform
from aioli.states.forest.boxes import note_distances, widen
from aioli.states.forest.nodes import (
    BELOW,
    BIRTH,
    BOXES,
    COLUMNS,
    DEEPEST,
    FEATURE,
    FIRST,
    FIXED,
    LAST,
    MOST_ODDS,
    NODES,
    ODDS,
    OUTSIDE,
    OWN,
    RATES,
    SAID,
    SHARE,
    STOP,
    THRESHOLD,
    TOTAL,
    TREE,
    USED,
    Integers,
    count_rows,
    kept,
    mixed_weight,
    odds_on,
    predict_label,
    within_range,
)

__all__ = ["grow_tree"]

SURELY = 1.0 - 1e-6  # times a lower bound: it then holds in spite of rounding


@compiled("void(f8[::1],f8[::1],f8[::1],f8,i8)", inline=True)
def plant_leaf(record: Vector, box: Vector, u: Vector, birth: float, row: int) -> None:
    """Write a leaf with counts of 0, whose box is the row. O(d)."""
    for i in range(record.size):
        record[i] = 0.0
    record[FEATURE], record[STOP], record[BIRTH], record[LAST] = -1.0, 1.0, birth, row
    for j in range(u.size):
        box[2 * j] = u[j]
        box[2 * j + 1] = u[j]


@compiled(f"i8({NODES},{BOXES},{USED},i8,i8,i8,f8[::1],f8[::1],f8,f8,i8,i8,i8,i8)", uncounted=True)
def split(
    nodes: Cube,
    boxes: Cube,
    used: Integers,
    tree: int,
    node: int,
    child: int,
    u: Vector,
    scale: Vector,
    log_rho: float,
    E: float,
    row: int,
    depth: int,
    K: int,
    S: int,
) -> int:
    r"""Split a node if the Mondrian process does, for a row that is outside of its box by E > 0. O(d).

    The process splits at the node's birth $- \ln(\mathrm{drawn})/E$, if that is before the birth of `child`, any of the
    node's children. Returns the number of the new leaf for the row, or -1 where the node is not split. The new leaf's
    sibling takes over the node's counts and children.
    """
    record, box = nodes[tree, node], boxes[tree, node]
    if used[tree] + 2 > nodes.shape[1] or depth > DEEPEST - 2:
        return -1
    drawn = uniform(tree, row, 3 * depth)
    leaf = record[FEATURE] < 0.0
    ends = math.inf if leaf else nodes[tree, child, BIRTH]
    if record[BIRTH] + SURELY * (1.0 - drawn) / E >= ends:  # -ln x ≥ 1 - x: most rows need no logarithm
        return -1
    time = record[BIRTH] - math.log(drawn) / E
    if time >= ends:
        return -1
    j, left_of = -1, uniform(tree, row, 3 * depth + 1) * E
    for candidate in range(u.size):
        outside = max(box[2 * candidate] - u[candidate], u[candidate] - box[2 * candidate + 1])
        if outside > 0.0:
            j = candidate
            left_of -= outside * scale[candidate]
            if left_of <= 0.0:
                break
    above = u[j] > box[2 * j + 1]
    low, high = (box[2 * j + 1], u[j]) if above else (u[j], box[2 * j])
    threshold = low + uniform(tree, row, 3 * depth + 2) * (high - low)
    if threshold >= high:  # by rounding: `low` must go left, and `high` right
        threshold = low
    first = int(used[tree])
    new, old = (first + 1, first) if above else (first, first + 1)
    used[tree] += 2
    holder = nodes[tree, old]
    copy_numbers(record, holder)
    copy_numbers(box, boxes[tree, old])
    holder[BIRTH] = time
    # In the model in paths this child starts at 0: its rows were the parent's, whose coefficient stays.
    for i in range(2 * RATES * S):
        holder[FIXED + K + i] = 0.0
    plant_leaf(nodes[tree, new], boxes[tree, new], u, time, row)
    half = 0.5 * record[STOP]
    record[STOP], holder[STOP] = half, half / (1.0 - half)
    record[ODDS], holder[ODDS] = within_range(1.0 + 2.0 * record[ODDS]), min(2.0 * record[ODDS], MOST_ODDS)
    if log_rho < 0.0 and not leaf:
        left = int(record[FIRST])
        below = nodes[tree, left, TREE] + nodes[tree, left + 1, TREE]
        holder[ODDS] = odds_on(holder[STOP], holder[OWN], below)
        holder[TREE] = mixed_weight(holder[STOP], holder[OWN], below, holder[ODDS])
    record[FEATURE] = j
    record[THRESHOLD] = threshold
    record[FIRST] = first
    return new


@compiled(f"void({NODES},i8,i8[::1],f8[:,::1],i8,f8,i8,f8,i8,i8)", uncounted=True)
def note_probabilities(
    nodes: Cube,
    tree: int,
    path: Integers,
    notes: Matrix,
    length: int,
    log_rho: float,
    row: int,
    rate: float,
    K: int,
    y: int,
) -> None:
    r"""Note for each node on the path its share kept, its total, and p(y) by the node and by what is below.

    From the leaf up $p = (p_\mathrm{node}(y)^\omega + r\,p_\mathrm{below})/(1 + r)$, ω being `rate`. O(K) a node.
    """
    below = 0.0
    for i in range(length - 1, -1, -1):
        record = nodes[tree, path[i]]
        share, total = kept(record, log_rho, row), count_rows(record, K)
        said = predict_label(record, share, total, K, y)
        if rate < 1.0:
            said = math.pow(said, rate)
        notes[i, SHARE], notes[i, TOTAL], notes[i, SAID], notes[i, BELOW] = share, total, said, below
        odds = record[ODDS] if i < length - 1 else 0.0
        below = (said + odds * below) / (1.0 + odds)


@compiled(f"void({NODES},i8,f8,i8,i8[::1],i8)", uncounted=True)
def weigh_forgetful(nodes: Cube, tree: int, log_rho: float, row: int, path: Integers, length: int) -> None:
    r"""Compute r and $\bar w$ of a tree that forgets, from the leaf of a path up. O(1) a node."""
    for i in range(length - 1, -1, -1):
        record = nodes[tree, path[i]]
        if record[FEATURE] < 0.0:
            record[TREE] = record[OWN]
        else:
            left, right = nodes[tree, int(record[FIRST])], nodes[tree, int(record[FIRST]) + 1]
            below = left[TREE] * kept(left, log_rho, row) + right[TREE] * kept(right, log_rho, row)
            record[ODDS] = odds_on(record[STOP], record[OWN], below)
            record[TREE] = mixed_weight(record[STOP], record[OWN], below, record[ODDS])


@compiled(
    f"void({NODES},{BOXES},{USED},i8,f8,f8,f8,i8,f8[::1],f8[::1],i8[::1],f8[:,::1],i8,i8[::1],i8,i8,i8)", uncounted=True
)
def grow_tree(
    nodes: Cube,
    boxes: Cube,
    used: Integers,
    tree: int,
    log_rho: float,
    whole: float,
    weight: float,
    row: int,
    u: Vector,
    scale: Vector,
    path: Integers,
    notes: Matrix,
    length: int,
    columns: Integers,
    K: int,
    S: int,
    y: int,
) -> None:
    """Learn a row's label in one tree: split where the process does, count on the path, and weigh the prunings.

    `path` and `length` are what `consult_trees` wrote for this row; `columns` and `notes` are workspace. A leaf that
    holds fewer rows than `whole`, all with this label, is not split. O(d), O(K) a
    node of the path, and O(d) a split.
    """
    rate = min(weight, 1.0)  # p^ω is mixable for ω ≤ 1 only
    if used[tree] == 0:
        used[tree] = 1
        plant_leaf(nodes[tree, 0], boxes[tree, 0], u, 0.0, row)
        length = 1
        path[0] = 0
    note_distances(boxes, tree, path, notes, length, u, scale, columns)
    note_probabilities(nodes, tree, path, notes, length, log_rho, row, rate, K, y)
    i, known = 0, length
    while i < known:
        record = nodes[tree, path[i]]
        share, said, E = notes[i, SHARE], notes[i, SAID], notes[i, OUTSIDE]
        if E > 0.0:
            alike = record[FEATURE] < 0.0 and record[FIXED + y] == notes[i, TOTAL]
            if not (alike and notes[i, TOTAL] < whole):
                child = path[i + 1] if i + 1 < length else -1
                new = split(nodes, boxes, used, tree, path[i], child, u, scale, log_rho, E, row, i, K, S)
                if new >= 0:  # the path ends in the new leaf; the old subtree had announced its first row
                    odds = nodes[tree, 2 * int(record[FIRST]) + 1 - new, ODDS]  # of its sibling
                    notes[i, BELOW] = (said + odds * notes[i, BELOW]) / (1.0 + odds)
                    leaf = nodes[tree, new]
                    if log_rho < 0.0:
                        leaf[OWN] = math.log(notes[i, BELOW])
                    leaf[FIXED + y] = weight
                    path[i + 1] = new
                    known, length = i + 1, i + 2
            widen(boxes[tree, path[i]], u, columns, int(notes[i, COLUMNS]))
        if log_rho < 0.0:
            for c in range(K):
                record[FIXED + c] *= share
            record[OWN] = record[OWN] * share + math.log(said)
        elif record[FEATURE] >= 0.0:
            record[ODDS] = within_range(record[ODDS] * notes[i, BELOW] / said)
        record[FIXED + y] += weight
        record[LAST] = row
        i += 1
    if log_rho < 0.0:
        weigh_forgetful(nodes, tree, log_rho, row, path, length)
