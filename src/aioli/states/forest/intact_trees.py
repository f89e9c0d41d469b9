"""Whether the nodes that a file holds are a tree."""

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix
from aioli.states.forest.trees import FEATURE

__all__ = ["require_tree"]


def require_tree(records: Matrix, width: int) -> None:
    """Refuse records that are no binary tree: every node but the root is the child of one other, and none is cyclic."""
    count = len(records)
    if not count:
        return
    inner = records[records[:, FEATURE] >= 0.0]
    features, children = inner[:, FEATURE], inner[:, :2].ravel()
    whole = (features % 1 == 0).all() and (children % 1 == 0).all()
    reached = np.sort(children)
    if not whole or (features >= width).any() or not np.array_equal(reached, np.arange(1, count)):
        raise SnapshotRefused("in a ForestState, the nodes of a tree are no tree")
    depth = np.zeros(count, dtype=np.int64)
    todo, seen = [0], 0
    while todo:
        node = todo.pop()
        seen += 1
        if records[node, FEATURE] >= 0.0:
            for child in records[node, :2].astype(np.int64).tolist():
                depth[child] = depth[node] + 1
                todo.append(child)
    if seen != count:
        raise SnapshotRefused("in a ForestState, the nodes of a tree are no tree")
