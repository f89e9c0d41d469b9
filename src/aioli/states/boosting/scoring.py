"""What a boosted model says of rows: every tree is walked down the same number of steps for all rows.

Which way a row goes at a node cannot be foretold, and neither can where it ends: a processor that guesses wrong waits.
So a leaf is a node as well, from which every row goes on to the leaf itself, and all rows take as many steps as the
deepest leaf needs. Nothing is left to guess, and many rows are on their way at once.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.states.boosting.growing import CHILD, COVER, FEATURE, LEAF, NODE, THRESHOLD, VALUE

__all__ = ["PIECE", "Numbers", "Steps", "Walks", "find_leaves"]

PIECE = 64  # rows that go down a tree together: it is in the processor's nearest memory then

Numbers = NDArray[np.int64]
Steps = NDArray[np.uint32]


class Walks(NamedTuple):
    """Hold trees as rows walk them.

    Attributes
    ----------
    columns, following
        Of each tree's nodes: the column to look at, and the node to which a cell of at most the threshold goes; any
        other goes to the one behind it.
    thresholds, values, covers
        Of each tree's nodes. Values and covers of leaves change as rows are learned (`states.boosting.learning`).
    depths
        How many steps the rows take in each tree.
    """

    columns: Steps
    following: Steps
    thresholds: Matrix
    depths: Numbers
    values: Matrix
    covers: Matrix

    @classmethod
    def of(cls, trees: Cube) -> Self:
        """Prepare trees, in each of which children stand behind their parent. O(1) a node."""
        inner = trees[:, :, FEATURE] >= 0.0
        columns = np.where(inner, trees[:, :, FEATURE], 0.0).astype(np.uint32)
        following = np.where(inner, trees[:, :, CHILD], np.arange(trees.shape[1])).astype(np.uint32)
        thresholds = np.where(inner, trees[:, :, THRESHOLD], np.inf)
        depths = np.zeros(len(trees), np.int64)
        find_depths(trees, depths)
        return cls(columns, following, thresholds, depths, trees[:, :, VALUE].copy(), trees[:, :, COVER].copy())

    def trees(self) -> Cube:
        """Return the trees as they are now."""
        inner = self.following != np.arange(self.following.shape[1])
        trees = np.zeros((*inner.shape, NODE))
        trees[:, :, FEATURE] = np.where(inner, self.columns, LEAF)
        trees[:, :, THRESHOLD] = np.where(inner, self.thresholds, 0.0)
        trees[:, :, CHILD] = np.where(inner, self.following, 0.0)
        trees[:, :, VALUE], trees[:, :, COVER] = self.values, self.covers
        return trees

    def score(self, base: Vector, stages: Numbers, X: Matrix, out: Cube) -> None:
        """Write the scores of each row after every stage, rows × stages × outputs."""
        score_rows(base, self.columns, self.following, self.thresholds, self.depths, self.values, stages, X, out)


@compiled("void(f8[:,:,::1],i8[::1])")
def find_depths(trees: Cube, depths: Numbers) -> None:
    """Write the depth of each tree. O(1) a node."""
    below = np.zeros(trees.shape[1], np.int64)
    for tree in range(len(trees)):
        nodes = trees[tree]
        for i in range(len(nodes) - 1, -1, -1):  # children stand behind their parent
            below[i] = 0
            if nodes[i, FEATURE] >= 0.0:
                child = int(nodes[i, CHILD])
                below[i] = 1 + max(below[child], below[child + 1])
        depths[tree] = below[0]


@compiled("void(u4[::1],u4[::1],f8[::1],i8,f8[:,::1],i8,u4[::1])", uncounted=True)
def find_leaves(
    columns: Steps, following: Steps, thresholds: Vector, depth: int, X: Matrix, first: int, at: Steps
) -> None:
    """Write the leaf of one tree to which each row of X from the first on goes. O(depth) a row."""
    for i in range(at.size):
        at[i] = 0
    for _ in range(depth):
        for i in range(at.size):  # one step each: none waits for another
            node = np.uintp(at[i])  # without a sign: no index is counted from the end
            beyond = X[np.uintp(first + i), np.uintp(columns[node])] > thresholds[node]
            at[i] = np.uintp(following[node]) + np.uintp(beyond)


@compiled("void(f8[::1],u4[:,::1],u4[:,::1],f8[:,::1],i8[::1],f8[:,::1],i8[::1],f8[:,::1],f8[:,:,::1])")
def score_rows(
    base: Vector,
    columns: Steps,
    following: Steps,
    thresholds: Matrix,
    depths: Numbers,
    values: Matrix,
    stages: Numbers,
    X: Matrix,
    out: Cube,
) -> None:
    """Write the scores of each row after every stage, rows × stages × outputs. O(depth) a tree and row."""
    outputs = base.size
    room = np.empty(PIECE, np.uint32)
    for first in range(0, len(X), PIECE):
        at = room[: min(PIECE, len(X) - first)]
        stage = 0
        for t in range(first, first + at.size):
            for k in range(outputs):
                out[t, stage, k] = base[k]
        for tree in range(len(depths)):
            find_leaves(columns[tree], following[tree], thresholds[tree], depths[tree], X, first, at)
            value, k = values[tree], tree % outputs
            for i in range(at.size):
                out[first + i, stage, k] += value[np.uintp(at[i])]
            if tree + 1 == stages[stage] * outputs and stage + 1 < stages.size:
                stage += 1
                for t in range(first, first + at.size):
                    for c in range(outputs):
                        out[t, stage, c] = out[t, stage - 1, c]
