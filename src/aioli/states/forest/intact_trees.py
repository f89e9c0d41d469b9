"""Reads the trees of a saved forest: refuses nodes that form no tree, and converts files older than the nodes' odds."""

from collections.abc import Iterable

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix
from aioli.snapshots.tree import Snapshot
from aioli.states.forest.nodes import (
    BIRTH,
    FEATURE,
    FIRST,
    FIXED,
    LAST,
    LEAST_ODDS,
    MOST_ODDS,
    ODDS,
    OWN,
    RATES,
    STOP,
    THRESHOLD,
    TREE,
    outputs,
    record_size,
)

__all__ = ["read_trees"]

MOST_NATS = 1e100  # that a node can have lost, however many rows of whatever weight came

# Fields of earlier records: both children, which were neighbours in either order, and no odds.
THEIR_LEFT, THEIR_RIGHT, THEIR_FEATURE, THEIR_THRESHOLD, THEIR_BIRTH, THEIR_STOP = range(6)
THEIR_OWN, THEIR_TREE, THEIR_LAST = range(6, 9)


def read_trees(
    given: Snapshot, used: Iterable[int], width: int, classes: int, forgets: Iterable[bool], rows: int
) -> list[tuple[Matrix, Matrix]]:
    """Return the records and boxes of each tree in a file, given each tree's number of nodes and whether it forgets.

    `rows` is how many rows the forest has learned from.
    """
    size = record_size(classes)
    earlier = "nodes" in given.arrays  # then a box was a part of its record, and there were no odds
    nodes = given.array("nodes" if earlier else "records", (None, size + 2 * width if earlier else size))
    boxes = nodes[:, size:] if earlier else given.array("boxes", (len(nodes), 2 * width))
    counts = list(used)
    if min(counts) < 0 or sum(counts) != len(nodes):
        raise SnapshotRefused("in a ForestState, the nodes are not as many as its trees say")
    trees, first = [], 0
    for count, forgetful in zip(counts, forgets, strict=True):
        part = slice(first, first + count)
        tree = _of_earlier(nodes[part, :size], boxes[part], forgetful) if earlier else (nodes[part], boxes[part])
        _require_tree(tree[0], width)
        _require_numbers(tree[0], classes, rows)
        trees.append(tree)
        first += count
    return trees


def _require_tree(records: Matrix, width: int) -> None:
    """Refuse records that form no binary tree: each node but the root has one parent, and the root leads to all."""
    count = len(records)
    if not count:
        return
    inner = records[~(records[:, FEATURE] < 0.0)]  # the loops take what is no number for an inner node, too
    features, first = inner[:, FEATURE], inner[:, FIRST]
    whole = (features % 1 == 0).all() and (first % 1 == 0).all()
    reached = np.sort(np.concatenate([first, first + 1.0]))
    if not whole or (features >= width).any() or not np.array_equal(reached, np.arange(1, count)):
        raise _no_tree()
    todo, seen = [0], 0
    while todo:
        node = todo.pop()
        seen += 1
        if records[node, FEATURE] >= 0.0:
            left = int(records[node, FIRST])
            todo += [left, left + 1]
    if seen != count:
        raise _no_tree()


def _require_numbers(records: Matrix, classes: int, rows: int) -> None:
    """Refuse records whose numbers no game can have led to: the loops would answer with NaN."""
    inner = records[:, FEATURE] >= 0.0
    odds, stop, last = records[inner, ODDS], records[:, STOP], records[:, LAST]
    counts, squares = records[:, FIXED : FIXED + classes], records[:, -RATES * outputs(classes) :]
    right = (
        np.isfinite(records).all()
        and ((odds >= LEAST_ODDS) & (odds <= MOST_ODDS)).all()
        and ((stop >= 0.0) & (stop <= 1.0)).all()
        and ((last >= 0.0) & (last <= rows)).all()
        and (counts >= 0.0).all()
        and (squares >= 0.0).all()
        and (np.abs(records[:, [OWN, TREE]]) <= MOST_NATS).all()
    )
    if not right:
        raise SnapshotRefused("in a ForestState, a node has odds, counts or weights that no rows can have given it")


def _of_earlier(theirs: Matrix, boxes: Matrix, forgets: bool) -> tuple[Matrix, Matrix]:
    """Convert nodes of an earlier file to today's records and boxes.

    Records had no odds then; a box had the least of all columns first, then the greatest, which now alternate.
    """
    inner = theirs[:, THEIR_FEATURE] >= 0.0
    if not (np.abs(theirs[inner][:, [THEIR_LEFT, THEIR_RIGHT]]) < len(theirs)).all():
        raise _no_tree()
    left, right = (theirs[inner, place].astype(np.int64) for place in (THEIR_LEFT, THEIR_RIGHT))
    first, order = np.minimum(left, right), np.arange(len(theirs))
    if (np.abs(left - right) != 1).any() or (first < 1).any() or (first > len(theirs) - 2).any():
        raise _no_tree()
    order[first], order[first + 1] = left, right  # the left one now comes first
    records, theirs = theirs[order], theirs[order]
    today = FEATURE, THRESHOLD, BIRTH, STOP, OWN, TREE, LAST
    known = THEIR_FEATURE, THEIR_THRESHOLD, THEIR_BIRTH, THEIR_STOP, THEIR_OWN, THEIR_TREE, THEIR_LAST
    records[:, today] = theirs[:, known]
    records[:, FIRST] = theirs[:, [THEIR_LEFT, THEIR_RIGHT]].min(axis=1)
    records[:, ODDS] = _odds(records, forgets)
    return records, np.stack(np.split(boxes[order], 2, axis=1), axis=2).reshape(boxes.shape)


def _odds(records: Matrix, forgets: bool) -> Matrix:
    r"""Return the odds $\frac{1-s}{s} e^{\bar w_\mathrm{left} + \bar w_\mathrm{right} - w}$ of every node, 0 of a leaf.

    In a tree that forgets they are $e^{\bar w - w}/s - 1$, the same number when it was written: the children's
    $\bar w$ have been forgotten in part since.
    """
    odds = np.zeros(len(records))
    inner = np.flatnonzero(records[:, FEATURE] >= 0.0)
    stop, own, tree = (records[inner, place] for place in (STOP, OWN, TREE))
    left = records[inner, FIRST].astype(np.int64)
    with np.errstate(all="ignore"):
        below = records[left, TREE] + records[left + 1, TREE]
        said = np.exp(tree - own) / stop - 1.0 if forgets else (1.0 - stop) / stop * np.exp(below - own)
    odds[inner] = np.clip(said, LEAST_ODDS, MOST_ODDS)
    return odds


def _no_tree() -> SnapshotRefused:
    return SnapshotRefused("in a ForestState, the nodes of a tree are no tree")
