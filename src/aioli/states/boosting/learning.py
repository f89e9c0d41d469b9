r"""Learns from each row between two fits: the values of the leaves that it came to move, in every tree.

The values of a fit are of rows that are soon old. When the label of a row is known, with weight w, let $g = p - y$ and
$h = \max(p(1-p),\,0.01)$ by the score of all trees; of K classes $g_k = p_k - 1[y = k]$, for the trees of score k. In
each tree the leaf that the row came to has its cover H and then its value v moved, with the rate ρ that it was grown
with:

$$H \leftarrow \min(H + wh,\, 30), \qquad v \leftarrow v - \tfrac12\rho\,\frac{wg}{H+\lambda}.$$

It is a Newton step, as in a fit, and shorter, since all trees take it at once. A bounded cover forgets: where many
rows come to a leaf, it follows the newest of them. A row moves no score by more than 2, whatever its weight: steps that
would are shortened alike.
"""

import math

import numpy as np

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.logistic import log_loss, sigmoid
from aioli.states.boosting.growing import RIDGE
from aioli.states.boosting.scoring import PIECE, Numbers, Steps, find_leaves
from aioli.states.boosting.watch import watch_loss

__all__ = ["MOST_COVER", "learn_rows"]

MOST_COVER = 30.0  # of a leaf: about 120 rows of which nothing is known, and more of those that are all but certain
PART = 0.5  # of the rate of a fit
LEAST_CURVATURE = 0.01  # of a row, however certain the trees are of it
FARTHEST = 2.0  # that a row moves a score by


@compiled("f8(f8[::1],i8,f8[::1])", uncounted=True)
def loss_and_gradient(scores: Vector, code: int, gradient: Vector) -> float:
    """Return the loss of a row by its scores, and write its gradient in each of them. O(K)."""
    outputs = scores.size
    if outputs == 1:
        gradient[0] = sigmoid(scores[0]) - code
        return log_loss(scores[0], float(code))
    top = scores[0]
    for k in range(1, outputs):
        top = max(top, scores[k])
    total = 0.0
    for k in range(outputs):
        gradient[k] = math.exp(scores[k] - top)
        total += gradient[k]
    for k in range(outputs):
        gradient[k] /= total
    gradient[code] -= 1.0
    loss: float = math.log(total) + top - scores[code]
    return loss


@compiled("void(f8[:,::1],f8[:,::1],u4[::1],f8[::1],f8,f8,f8[::1])", uncounted=True)
def move_leaves(
    values: Matrix, covers: Matrix, leaves: Steps, gradient: Vector, weight: float, rate: float, steps: Vector
) -> None:
    """Move the leaf of each tree that a row came to against the gradient; `steps` is room. O(1) a tree."""
    outputs = gradient.size
    steps[:] = 0.0
    for tree in range(leaves.size):
        k, leaf = tree % outputs, np.uintp(leaves[tree])
        off = abs(gradient[k])
        curvature = max(off * (1.0 - off), LEAST_CURVATURE)
        covers[tree, leaf] = min(covers[tree, leaf] + weight * curvature, MOST_COVER)
        steps[k] += rate * weight * off / (covers[tree, leaf] + RIDGE)
    for k in range(outputs):
        steps[k] = rate * weight * gradient[k] * FARTHEST / max(steps[k], FARTHEST)
    for tree in range(leaves.size):
        leaf = np.uintp(leaves[tree])
        values[tree, leaf] -= steps[tree % outputs] / (covers[tree, leaf] + RIDGE)


@compiled(
    "i8(f8[::1],u4[:,::1],u4[:,::1],f8[:,::1],i8[::1],f8[:,::1],f8[:,::1],i8[::1],f8,f8[:,::1],i8[::1],f8[::1],b1,f8[::1],f8[:,:,::1])"
)
def learn_rows(
    base: Vector,
    columns: Steps,
    following: Steps,
    thresholds: Matrix,
    depths: Numbers,
    values: Matrix,
    covers: Matrix,
    stages: Numbers,
    rate: float,
    X: Matrix,
    codes: Numbers,
    weights: Vector,
    watches: bool,
    watched: Vector,
    out: Cube,
) -> int:
    """Write the scores of each row before its label, as `score_rows` does, and learn from the rows in order.

    Return after how many the world has changed, where this is watched, or 0; rows behind those are neither scored nor
    learned. O(depth) a tree and row.
    """
    outputs, trees = base.size, len(depths)
    leaves = np.empty((PIECE, trees), np.uint32)
    room, gradient, steps = np.empty(PIECE, np.uint32), np.empty(outputs), np.empty(outputs)
    for first in range(0, len(X), PIECE):
        at = room[: min(PIECE, len(X) - first)]
        for tree in range(trees):
            find_leaves(columns[tree], following[tree], thresholds[tree], depths[tree], X, first, at)
            for i in range(at.size):
                leaves[i, tree] = at[i]
        for i in range(at.size):
            t, stage = first + i, 0
            for k in range(outputs):
                out[t, 0, k] = base[k]
            for tree in range(trees):
                out[t, stage, tree % outputs] += values[tree, np.uintp(leaves[i, tree])]
                if tree + 1 == stages[stage] * outputs and stage + 1 < stages.size:
                    stage += 1
                    for k in range(outputs):
                        out[t, stage, k] = out[t, stage - 1, k]
            weight = weights[t]
            if weight == 0.0:
                continue
            scores = out[t, stage]
            loss = loss_and_gradient(scores, codes[t], gradient)
            changed = watches and watch_loss(loss, weight, watched)
            move_leaves(values, covers, leaves[i], gradient, weight, PART * rate, steps)
            if changed:
                return t + 1
    return 0
