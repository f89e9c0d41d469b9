r"""Predicts and learns rows with trees that grow with every row, each a mixture of all its prunings: compiled loops.

A tree is a Mondrian process (Lakshminarayanan, Roy, Teh 2014): every node has the box of the rows that came through
it. A row outside the box by $e_j$ in column j, $E = \sum_j e_j$, splits the node at an exponential time of rate E after
the node's birth, if that is before its children's: column j with probability $e_j/E$, uniformly between box and row.
Here $e_j$ is measured in ranks (`states.forest.ranks`), and multiplied by a scale, larger for columns that tell more
of the label (`states.forest.boxes` measures, `states.forest.growing` splits).

A node predicts by its counts, $(n_k + \tfrac12)/(n + K/2)$; $w = \sum \ln p(y)$ over its rows. A pruning of the tree
predicts each row by the node at which it ends. All of them are mixed (Mourtada, Gaïffas, Scornet 2021), a pruning
having the prior $\pi = \prod_\mathrm{ends} s \prod_\mathrm{others}(1-s)$ by the chance s to stop of its nodes
(s = 1 in a leaf), which costs one number a node, the odds r that a pruning which reaches it goes on:

$$\bar w = \ln\bigl(s e^{w} + (1-s) e^{\bar w_\mathrm{left} + \bar w_\mathrm{right}}\bigr), \qquad
  r = \tfrac{1-s}{s} e^{\bar w_\mathrm{left} + \bar w_\mathrm{right} - w}, \qquad
  p = \frac{p_\mathrm{node} + r\,p_\mathrm{child}}{1 + r}.$$

A label multiplies r by $p_\mathrm{child}(y)/p_\mathrm{node}(y)$: no logarithm and no exponential is needed. A row of
weight ω adds ω to a count, and $p^{\min(\omega, 1)}$ takes the place of p in w and in this ratio.

**What a tree has lost since it began is exactly $-\bar w$ of its root**, so at most $\ln(1/\pi)$ nats more than any
pruning, on any stream. For that a split must leave the node's $\bar w$ as it was. The child that holds the old box gets
the node's counts, its w and its subtree; the chance to stop is divided: $s/2$ for the node,
$\frac{s/2}{1 - s/2}$ for this child. Then the node's $\bar w$ is what it was, and the odds become $1 + 2r$ and $2r$.
The other child is a new leaf: its first row was announced before it was there, by the old subtree, and that is what its
w begins with.

A tree that forgets multiplies n and w by ρ for every row that has come since. It keeps s, w and $\bar w$ beside r,
which forgetting makes no product of ratios.

While a leaf holds fewer rows than `whole`, all with the label of the row that is learned, it is not split: only its box
grows. A split would tell nothing apart yet, and nodes are few. Any rule that looks at the past alone keeps the bound.

The *model in paths* is linear in indicators of nodes: its log-odds are the sum of a coefficient of each node on the
row's paths, over all T trees. Its gradient steps are $\eta g/\sqrt{1 + \sum g^2}$ (AdaGrad; Duchi, Hazan, Singer 2011)
at three rates, $\eta = 0.2/T, 0.5/T, 1/T$. It learns what several trees say together.
"""

import math

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.states.forest.growing import grow_tree
from aioli.states.forest.nodes import (
    BOXES,
    DEEPEST,
    FEATURE,
    FIRST,
    FIXED,
    NODES,
    ODDS,
    RATES,
    THRESHOLD,
    USED,
    Integers,
    count_rows,
    kept,
)

__all__ = ["consult_trees", "learn_trees"]


@compiled(f"void({NODES},{USED},f8[::1],f8,f8[::1],i8,i8[:,::1],i8[::1],f8[:,::1],f8[:,::1])", uncounted=True)
def consult_trees(
    nodes: Cube,
    used: Integers,
    log_rho: Vector,
    row: float,
    u: Vector,
    K: int,
    paths: Integers,
    lengths: Integers,
    P: Matrix,
    linear: Matrix,
) -> None:
    """Write each tree's path and its probabilities, and the model in paths' log-odds at each rate. O(K) a node."""
    S = linear.shape[1]
    for m in range(RATES):
        for c in range(S):
            linear[m, c] = 0.0
    flat = linear.reshape(RATES * S)
    for tree in range(nodes.shape[0]):
        p, rho = P[tree], log_rho[tree]
        lengths[tree] = 0
        for c in range(K):
            p[c] = 1.0 / K if used[tree] == 0 else 0.0
        if used[tree] == 0:
            continue
        length, node, reach = 0, 0, 1.0  # the share of the prunings that reach the node
        while True:
            record = nodes[tree, node]
            counts, coefficients = record[FIXED : FIXED + K], record[FIXED + K : FIXED + K + RATES * S]
            share, total = kept(record, rho, row), count_rows(record, K)
            paths[tree, length] = node
            length += 1
            last = record[FEATURE] < 0.0 or length == DEEPEST
            stopping = reach if last else reach / (1.0 + record[ODDS])
            heard = stopping / (total * share + 0.5 * K)
            for c in range(K):
                p[c] += heard * (counts[c] * share + 0.5)
            for c in range(RATES * S):
                flat[c] += coefficients[c]
            if last:
                break
            reach = stopping * record[ODDS]
            node = int(record[FIRST]) + (u[int(record[FEATURE])] > record[THRESHOLD])
        lengths[tree] = length


@compiled(
    f"void({NODES},{BOXES},{USED},f8[::1],f8,f8,i8,f8[::1],f8[:,::1],i8,i8[:,::1],f8[:,::1],i8[::1],f8[:,::1],"
    "f8[:,::1],i8[::1],i8)",
    uncounted=True,
)
def learn_trees(
    nodes: Cube,
    boxes: Cube,
    used: Integers,
    log_rho: Vector,
    whole: float,
    weight: float,
    row: int,
    u: Vector,
    scales: Matrix,
    K: int,
    paths: Integers,
    notes: Matrix,
    lengths: Integers,
    linear: Matrix,
    steps: Matrix,
    columns: Integers,
    y: int,
) -> None:
    """Learn a row's label in the model in paths and in every tree, given what `consult_trees` wrote for the row."""
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
        given = row, u, scales[tree], path, notes, length, columns, K, S, y
        grow_tree(nodes, boxes, used, tree, log_rho[tree], whole, weight, *given)
