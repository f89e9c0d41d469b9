r"""Trees that grow with every row and are aggregated over all their prunings, in compiled loops.

A tree is a Mondrian process (Lakshminarayanan, Roy, Teh 2014): every node has the box of the rows that came through
it. A row outside the box by $e_j$ in column j, $E = \sum_j e_j$, splits the node at an exponential time of rate E after
the node's birth, if that is before its children's: column j with probability $e_j/E$, uniformly between box and row.
Here $e_j$ is in ranks, and multiplied by how much column j has said of the label.

A node predicts by its counts, $(n_k + \tfrac12)/(n + K/2)$, and remembers $w = \sum \ln p(y)$ over its rows. A pruning
of the tree predicts each row by the node at which it ends. All of them are mixed (Mourtada, Gaïffas, Scornet 2021), a
pruning having the prior $\pi = \prod_\mathrm{ends} s \prod_\mathrm{others}(1-s)$ by the chance s to stop of its nodes
(s = 1 in a leaf), which costs two numbers a node:

$$\bar w = \ln\bigl(s e^{w} + (1-s) e^{\bar w_\mathrm{left} + \bar w_\mathrm{right}}\bigr), \qquad
  p = s e^{w - \bar w}\,p_\mathrm{node} + (1 - s e^{w - \bar w})\,p_\mathrm{child}.$$

**What a tree has lost since it began is exactly $-\bar w$ of its root**, so at most $\ln(1/\pi)$ nats more than any
pruning, on any stream. That needs a split to leave everything as it was. A node that is split leaves its counts, its w
and its subtree to the child that holds its box, and its chance to stop is divided: $s/2$ for itself,
$\frac{s/2}{1 - s/2}$ for that child, whose $\bar w$ then gives the node the $\bar w$ that it had. The other child is a
new leaf: its first row has been announced before it was there, by the subtree that was, and that is what its w begins
with.

A tree that forgets multiplies n and w by ρ for every row that has come since.

A leaf whose rows all have the label of the row that comes may be told to stay whole while it holds fewer than so many:
its box grows and no process is asked. Splitting it could tell nothing apart yet, and nodes are few. Any rule that looks
at the past alone keeps the bound.

The nodes on a row's paths, over all trees, are also the features of a linear model in their indicators, with steps
$\eta/\sqrt{1 + \sum g^2}$ (Duchi, Hazan, Singer 2011) at three rates: it learns what several trees say together.
"""

import math

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers

__all__ = [
    "DEEPEST",
    "FEATURE",
    "FIXED",
    "NOTES",
    "RATES",
    "THRESHOLD",
    "consult_trees",
    "learn_trees",
    "outputs",
    "outputs_compiled",
    "record_size",
    "uniform",
]

Integers = NDArray[np.int64]

RATES = 3  # of the model in paths
DEEPEST = 250  # nodes on a path
LEAST = 1e-4  # a tree's probability below this counts as this where trees are averaged by their logarithms

# A node is one record: these numbers, then counts (K), then steps and squares of the model in paths (2·RATES·S), then
# the box (2d). S is 1 for two classes, K for more.
FIXED = 9
LEFT, RIGHT, FEATURE, THRESHOLD, BIRTH, STOP, OWN, TREE, LAST = range(FIXED)

# What is noted of each node on a row's path: what it has kept of its counts, their sum, how much is believed of the
# prunings that end there, and by how much the row is outside of its box.
NOTES = 4
SHARE, TOTAL, STOPS, OUTSIDE = range(NOTES)

SURELY = 1.0 - 1e-6  # a bound that holds by so much of itself holds whatever rounding does

NODES, USED = "f8[:,:,::1]", "i8[::1]"


def record_size(width: int, classes: int) -> int:
    """Return how many numbers a node holds."""
    return FIXED + classes + 2 * RATES * outputs(classes) + 2 * width


def outputs(classes: int) -> int:
    """Return how many log-odds the model in paths has: one for two classes, one a class for more."""
    return 1 if classes == 2 else classes


outputs_compiled = compiled("i8(i8)")(outputs)


@compiled("f8(i8,i8,i8)")
def uniform(tree: int, row: int, place: int) -> float:
    """Return a number between 0 and 1 that is as good as random, the same for the same three numbers. O(1)."""
    x = (
        np.uint64(tree + 1) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(row + 1) * np.uint64(0xBF58476D1CE4E5B9)
        + np.uint64(place + 1) * np.uint64(0x94D049BB133111EB)
    )
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (np.float64(x >> np.uint64(11)) + 0.5) / 9007199254740992.0


@compiled("f8(f8[::1],f8,f8)")
def kept(node: Vector, log_rho: float, row: float) -> float:
    """Return what a tree that forgets has kept of a node's counts since its last row. O(1)."""
    return math.exp(log_rho * (row - node[LAST])) if log_rho < 0.0 else 1.0


@compiled("f8(f8[::1],i8)")
def count_rows(node: Vector, K: int) -> float:
    """Return n, the sum of a node's counts. O(K)."""
    counts = node[FIXED : FIXED + K]  # a slice: an index that might be negative is not vectorised
    total = 0.0
    for c in range(K):
        total += counts[c]
    return total


@compiled("f8(f8[::1],f8,f8,i8,i8)")
def predict_label(node: Vector, share: float, total: float, K: int, y: int) -> float:
    """Return $(n_y + ½)/(n + K/2)$, n being what is kept of the total. O(1)."""
    said: float = (node[FIXED + y] * share + 0.5) / (total * share + 0.5 * K)
    return said


@compiled("void(f8[::1],f8,f8,f8,f8,i8,i8,i8)")
def count_label(node: Vector, share: float, said: float, weight: float, rate: float, row: int, K: int, y: int) -> None:
    """Count a label of which a node had said this, and what the node has lost by it. O(K) where it forgets."""
    if share < 1.0:
        for c in range(K):
            node[FIXED + c] *= share
        node[OWN] *= share
    node[OWN] += rate * math.log(said)
    node[FIXED + y] += weight
    node[LAST] = row


@compiled("f8(f8[::1])")
def stopping(node: Vector) -> float:
    r"""Return $s e^{w - \bar w}$: how much the prunings that end at a node are believed, among those that reach it."""
    believed: float = min(node[STOP] * math.exp(node[OWN] - node[TREE]), 1.0)
    return believed


@compiled("f8(f8,f8,f8)")
def mixed_weight(stop: float, own: float, below: float) -> float:
    r"""Return $\ln(s e^{w} + (1-s) e^{\mathrm{below}})$. O(1)."""
    if stop >= 1.0:
        return own
    if own >= below:
        return own + math.log(stop + (1.0 - stop) * math.exp(below - own))
    return below + math.log(1.0 - stop + stop * math.exp(own - below))


@compiled(f"i8({NODES},i8,f8,f8,f8[::1],i8,i8[::1],f8[:,::1],f8[:,::1],f8[::1])")
def consult_tree(
    nodes: Matrix,
    tree: int,
    log_rho: float,
    row: float,
    u: Vector,
    K: int,
    path: Integers,
    notes: Matrix,
    on_path: Matrix,
    p: Vector,
) -> int:
    """Write a row's path with its notes, and the probabilities of all prunings, mixed; return the path's length."""
    length, node = 0, 0
    while True:
        record = nodes[tree, node]
        path[length] = node
        share, total = kept(record, log_rho, row), count_rows(record, K)
        notes[length, SHARE], notes[length, TOTAL] = share, total
        counts, said = record[FIXED : FIXED + K], on_path[length]
        total = total * share + 0.5 * K
        for c in range(K):
            said[c] = (counts[c] * share + 0.5) / total
        length += 1
        if record[FEATURE] < 0.0 or length == DEEPEST:
            break
        node = int(record[LEFT] if u[int(record[FEATURE])] <= record[THRESHOLD] else record[RIGHT])
    for c in range(K):
        p[c] = on_path[length - 1, c]
    for i in range(length - 2, -1, -1):
        stops = stopping(nodes[tree, path[i]])
        notes[i, STOPS] = stops
        said = on_path[i]
        for c in range(K):
            p[c] = stops * said[c] + (1.0 - stops) * p[c]
    return length


@compiled(f"void({NODES},{USED},f8[::1],f8,f8[::1],i8,i8[:,::1],f8[:,:,::1],i8[::1],f8[:,::1],f8[:,::1],f8[:,::1])")
def consult_trees(
    nodes: Matrix,
    used: Integers,
    log_rho: Vector,
    row: float,
    u: Vector,
    K: int,
    paths: Integers,
    notes: Cube,
    lengths: Integers,
    on_path: Matrix,
    P: Matrix,
    linear: Matrix,
) -> None:
    """Write each tree's probabilities and the log-odds of the model in paths, at each of its rates."""
    S = linear.shape[1]
    linear[:] = 0.0
    flat = linear.reshape(RATES * S)
    for tree in range(nodes.shape[0]):
        if used[tree] == 0:
            P[tree] = 1.0 / K
            lengths[tree] = 0
            continue
        path = paths[tree]
        lengths[tree] = consult_tree(nodes, tree, log_rho[tree], row, u, K, path, notes[tree], on_path, P[tree])
        for i in range(lengths[tree]):
            record = nodes[tree, path[i]]
            coefficients = record[FIXED + K : FIXED + K + RATES * S]
            for c in range(RATES * S):
                flat[c] += coefficients[c]


@compiled("f8(f8[::1],i8,f8[::1],f8[::1])", reassociate=True)
def distance(record: Vector, box: int, u: Vector, scale: Vector) -> float:
    """Return by how much a row is outside of a node's box, all columns together. O(d)."""
    d = u.size
    low, high = record[box : box + d], record[box + d : box + 2 * d]
    total = 0.0
    for j in range(d):  # written without max(), which the compiler does not turn into vector instructions
        below, above = low[j] - u[j], u[j] - high[j]
        e = below if below > above else above
        total += (e if e > 0.0 else 0.0) * scale[j]
    return total


@compiled(f"void({NODES},i8,i8[::1],f8[:,::1],i8,i8,f8[::1],f8[::1])")
def note_distances(
    nodes: Matrix, tree: int, path: Integers, notes: Matrix, length: int, box: int, u: Vector, scale: Vector
) -> None:
    """Note by how much a row is outside of the box of each node on its path. O(d) for each that it is outside of.

    A node's box holds those of its children: above the deepest one that holds the row, all do.
    """
    i = length - 1
    while i >= 0:
        notes[i, OUTSIDE] = distance(nodes[tree, path[i]], box, u, scale)
        if notes[i, OUTSIDE] == 0.0:
            break
        i -= 1
    for above in range(i):
        notes[above, OUTSIDE] = 0.0


@compiled("void(f8[::1],i8,f8[::1])", reassociate=True)
def widen(record: Vector, box: int, u: Vector) -> None:
    """Let a node's box hold the row too. O(d)."""
    d = u.size
    low, high = record[box : box + d], record[box + d : box + 2 * d]
    for j in range(d):
        low[j] = u[j] if u[j] < low[j] else low[j]
        high[j] = u[j] if u[j] > high[j] else high[j]


@compiled(f"i8({NODES},{USED},i8,i8,f8[::1],f8[::1],f8,i8,i8,i8,i8)")
def split(
    nodes: Matrix,
    used: Integers,
    tree: int,
    node: int,
    u: Vector,
    scale: Vector,
    E: float,
    row: int,
    depth: int,
    K: int,
    S: int,
) -> int:
    """Split a node if the Mondrian process does, for a row that is outside by E > 0; its part is a new leaf. O(d).

    Returns the child that holds all that the node held, -1 where the node is not split.
    """
    d = u.size
    record = nodes[tree, node]
    box = FIXED + K + 2 * RATES * S
    if used[tree] + 2 > nodes.shape[1] or depth > DEEPEST - 2:
        return -1
    drawn = uniform(tree, row, 3 * depth)
    leaf = record[FEATURE] < 0.0
    ends = math.inf if leaf else nodes[tree, int(record[LEFT]), BIRTH]
    if record[BIRTH] + SURELY * (1.0 - drawn) / E >= ends:  # -ln x is at least 1 - x: most need no logarithm
        return -1
    time = record[BIRTH] - math.log(drawn) / E
    if time >= ends:
        return -1
    j, left_of = -1, uniform(tree, row, 3 * depth + 1) * E
    for candidate in range(d):
        outside = max(record[box + candidate] - u[candidate], u[candidate] - record[box + d + candidate])
        if outside > 0.0:
            j = candidate
            left_of -= outside * scale[candidate]
            if left_of <= 0.0:
                break
    above = u[j] > record[box + d + j]
    low, high = (record[box + d + j], u[j]) if above else (u[j], record[box + j])
    threshold = low + uniform(tree, row, 3 * depth + 2) * (high - low)
    if threshold >= high:  # rounding: what lies at `low` must go left, what lies at `high` right
        threshold = low
    old = int(used[tree])
    new = old + 1
    used[tree] += 2
    half = 0.5 * record[STOP]
    record[STOP] = half
    copy_numbers(record, nodes[tree, old])
    nodes[tree, old, BIRTH] = time
    nodes[tree, old, STOP] = half / (1.0 - half)
    fresh = nodes[tree, new]
    fresh[:] = 0.0
    fresh[FEATURE] = -1.0
    fresh[STOP] = 1.0
    fresh[BIRTH] = time
    fresh[LAST] = row
    for i in range(d):
        fresh[box + i] = u[i]
        fresh[box + d + i] = u[i]
    # the indicator of the child that holds the old box starts at 0: the parent's stays with all the rows it had
    for i in range(2 * RATES * S):
        nodes[tree, old, FIXED + K + i] = 0.0
    if not leaf:
        kept_node = nodes[tree, old]
        below = nodes[tree, int(record[LEFT]), TREE] + nodes[tree, int(record[RIGHT]), TREE]
        kept_node[TREE] = mixed_weight(kept_node[STOP], kept_node[OWN], below)
    record[FEATURE] = j
    record[THRESHOLD] = threshold
    record[LEFT] = old if above else new
    record[RIGHT] = new if above else old
    return old


@compiled("f8(f8[:,:,::1],i8,i8,f8,i8[::1],f8[:,::1],i8,i8,i8,i8)")
def said_below(
    nodes: Matrix,
    tree: int,
    old: int,
    said: float,
    path: Integers,
    notes: Matrix,
    first: int,
    length: int,
    K: int,
    y: int,
) -> float:
    """Return the probability that a subtree gave to a label before its top, at `first` of the path, became `old`."""
    if first == length - 1:
        return said
    last = length - 1
    p = predict_label(nodes[tree, path[last]], notes[last, SHARE], notes[last, TOTAL], K, y)
    for i in range(last - 1, first, -1):
        here = predict_label(nodes[tree, path[i]], notes[i, SHARE], notes[i, TOTAL], K, y)
        p = notes[i, STOPS] * here + (1.0 - notes[i, STOPS]) * p
    stops = stopping(nodes[tree, old])
    return float(stops * said + (1.0 - stops) * p)


@compiled(f"void({NODES},{USED},i8,f8,f8,f8,i8,f8[::1],f8[::1],i8[::1],f8[:,::1],i8,i8,i8,i8)")
def grow_tree(
    nodes: Matrix,
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
    K: int,
    S: int,
    y: int,
) -> None:
    """Learn a row's label in one tree: split where the process does, count on the path, and weigh the prunings.

    Path, notes and length are those that `consult_tree` has written of this row. A leaf of fewer rows than `whole`, all
    of this label, is not split.
    """
    d = u.size
    box = FIXED + K + 2 * RATES * S
    rate = min(weight, 1.0)  # p^ω is mixable for ω ≤ 1 only
    if used[tree] == 0:
        used[tree] = 1
        root = nodes[tree, 0]
        root[:] = 0.0
        root[FEATURE] = -1.0
        root[STOP] = 1.0
        root[LAST] = row
        for j in range(d):
            root[box + j] = u[j]
            root[box + d + j] = u[j]
        length = 1
        path[0], notes[0, SHARE], notes[0, TOTAL] = 0, 1.0, 0.0
    note_distances(nodes, tree, path, notes, length, box, u, scale)
    i, known = 0, length
    while i < known:
        record = nodes[tree, path[i]]
        share = notes[i, SHARE]
        said = predict_label(record, share, notes[i, TOTAL], K, y)
        E = notes[i, OUTSIDE]
        if E > 0.0:
            alike = record[FEATURE] < 0.0 and record[FIXED + y] == notes[i, TOTAL]
            stays = alike and notes[i, TOTAL] < whole
            old = -1 if stays else split(nodes, used, tree, path[i], u, scale, E, row, i, K, S)
            if old >= 0:  # the path ends in the new leaf, whose first row was announced by the subtree that was
                leaf = nodes[tree, old + 1]
                leaf[OWN] = rate * math.log(said_below(nodes, tree, old, said, path, notes, i, length, K, y))
                leaf[FIXED + y] = weight
                path[i + 1] = old + 1
                known, length = i + 1, i + 2
            widen(record, box, u)
        count_label(record, share, said, weight, rate, row, K, y)
        i += 1
    for i in range(length - 1, -1, -1):
        record = nodes[tree, path[i]]
        if record[FEATURE] < 0.0:
            record[TREE] = record[OWN]
        else:
            left, right = nodes[tree, int(record[LEFT])], nodes[tree, int(record[RIGHT])]
            below = left[TREE] * kept(left, log_rho, row) + right[TREE] * kept(right, log_rho, row)
            record[TREE] = mixed_weight(record[STOP], record[OWN], below)


@compiled(
    f"void({NODES},{USED},f8[::1],f8,f8,i8,f8[::1],f8[:,::1],i8,i8[:,::1],f8[:,:,::1],i8[::1],f8[:,::1],f8[:,::1],i8)"
)
def learn_trees(
    nodes: Matrix,
    used: Integers,
    log_rho: Vector,
    whole: float,
    weight: float,
    row: int,
    u: Vector,
    scales: Matrix,
    K: int,
    paths: Integers,
    notes: Cube,
    lengths: Integers,
    linear: Matrix,
    steps: Matrix,
    y: int,
) -> None:
    """Learn a row's label in the model in paths and in every tree, given what `consult_trees` wrote of the row."""
    S = linear.shape[1]
    T, size = nodes.shape[0], RATES * S
    moves, squared = steps[0], steps[1]
    for m in range(RATES):
        rate = (1.0 / T) * (0.2 if m == 0 else 0.5 if m == 1 else 1.0)
        top = 0.0
        for c in range(S):
            top = max(top, linear[m, c])
        total = math.exp(-top) if S == 1 else 0.0
        for c in range(S):
            total += math.exp(linear[m, c] - top)
        for c in range(S):
            label = 1.0 if (y == 1 if S == 1 else y == c) else 0.0
            step = weight * (math.exp(linear[m, c] - top) / total - label)
            moves[m * S + c] = rate * step
            squared[m * S + c] = step * step
    for tree in range(T):
        path, length = paths[tree], lengths[tree]
        for i in range(length):
            record = nodes[tree, path[i]]
            coefficients = record[FIXED + K : FIXED + K + size]
            squares = record[FIXED + K + size : FIXED + K + 2 * size]
            for c in range(size):
                squares[c] += squared[c]
            for c in range(size):
                coefficients[c] -= moves[c] / math.sqrt(1.0 + squares[c])
        scale, rho = scales[tree], log_rho[tree]
        grow_tree(nodes, used, tree, rho, whole, weight, row, u, scale, path, notes[tree], length, K, S, y)
