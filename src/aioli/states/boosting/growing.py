r"""Grows one tree of a boosted model: splits by gain, the best leaf first.

The rows of a leaf have gradients $g_t$ and curvatures $h_t$ of their losses, $G = \sum g_t$ and $H = \sum h_t$. The
value that lowers the leaf's loss most, to second order and with a ridge λ = 1, is $-G/(H+\lambda)$. A split into left
and right gains

$$\frac{G_L^2}{H_L+\lambda} + \frac{G_R^2}{H_R+\lambda} - \frac{G^2}{H+\lambda},$$

twice what the loss falls by. Both sides need $H \ge 0.1$: one row at log-odds of 0, many where rows are certain.
Sums over the rows of a leaf, by column and bin, give the gains of all its splits; the larger child's sums are the
parent's less those of the smaller one. Chen and Guestrin 2016, XGBoost; Ke et al. 2017, LightGBM.
"""

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.states.boosting.bins import Bins

__all__ = ["CHILD", "CUTS", "FEATURE", "LEAF", "LEAVES", "NODE", "NODES", "NUMBER", "THRESHOLD", "VALUE", "grow_tree"]

LEAVES = 32  # of a tree, at most
NODES = 2 * LEAVES - 1
NODE = 4  # numbers of a node
FEATURE, THRESHOLD, CHILD, VALUE = range(NODE)  # a cell of at most the threshold goes to the child, any other behind it
LEAF = -1.0  # in the place of the column

RIDGE = 1.0
LEAST = 0.1  # curvature on either side of a split
BOLDEST = 1.0  # that a tree may move a score by: where rows are certain and wrong, G/(H+λ) is large
TELLING = 1e-9  # gains below it are rounding

# of a leaf, while the tree grows: the node, its rows among all, their G and H, and the best split: gain, column among
# those drawn, bin, and G and H on the left
GROWN = 10
PLACE, FIRST, LAST, GRADIENT, CURVATURE, GAIN, COLUMN, BIN, LEFT_GRADIENT, LEFT_CURVATURE = range(GROWN)

NUMBER, CUTS = range(2)  # lines about the columns drawn: their numbers, and how many cuts each has

Numbers = NDArray[np.int64]


@compiled("void(u1[:,::1],i8[:,::1],f8[:,::1],i8[::1],i8,i8,f8[:,:,::1])", uncounted=True)
def add_up(binned: Bins, columns: Numbers, slopes: Matrix, order: Numbers, first: int, last: int, sums: Cube) -> None:
    """Write the sums of g and h over rows of a leaf, by column and bin. O(d) a row."""
    for c in range(sums.shape[0]):
        for b in range(columns[CUTS, c] + 1):
            sums[c, b, 0] = sums[c, b, 1] = 0.0
    for t in range(first, last):
        row = order[t]
        g, h = slopes[row, 0], slopes[row, 1]
        cells = binned[row]
        for c in range(sums.shape[0]):
            at = sums[c, cells[columns[NUMBER, c]]]
            at[0] += g
            at[1] += h


@compiled("void(i8[:,::1],f8[:,:,::1],f8[:,:,::1])", uncounted=True)
def copy_sums(columns: Numbers, known: Cube, room: Cube) -> None:
    """Copy the sums of a leaf. O(64 d)."""
    for c in range(known.shape[0]):
        for b in range(columns[CUTS, c] + 1):
            room[c, b, 0], room[c, b, 1] = known[c, b, 0], known[c, b, 1]


@compiled("void(i8[:,::1],f8[:,:,::1],f8[:,:,::1])", uncounted=True)
def subtract(columns: Numbers, sums: Cube, of_some: Cube) -> None:
    """Take the sums of some rows of a leaf away from those of all. O(64 d)."""
    for c in range(sums.shape[0]):
        for b in range(columns[CUTS, c] + 1):
            sums[c, b, 0] -= of_some[c, b, 0]
            sums[c, b, 1] -= of_some[c, b, 1]


@compiled("void(i8[:,::1],f8[:,:,::1],f8[::1])", uncounted=True)
def find_split(columns: Numbers, sums: Cube, leaf: Vector) -> None:
    """Find the split of a leaf that gains most; its gain is 0 where there is none. O(64 d)."""
    G, H = leaf[GRADIENT], leaf[CURVATURE]
    whole = G * G / (H + RIDGE)
    leaf[GAIN] = 0.0
    for c in range(sums.shape[0]):
        g, h = 0.0, 0.0
        for b in range(columns[CUTS, c]):
            g += sums[c, b, 0]
            h += sums[c, b, 1]
            if h >= LEAST and H - h >= LEAST:
                gain = g * g / (h + RIDGE) + (G - g) * (G - g) / (H - h + RIDGE) - whole
                if gain > leaf[GAIN]:
                    leaf[GAIN], leaf[COLUMN], leaf[BIN] = gain, c, b
                    leaf[LEFT_GRADIENT], leaf[LEFT_CURVATURE] = g, h


@compiled("i8(u1[:,::1],i8,i8,i8[::1],i8[::1],i8,i8)", uncounted=True)
def divide(binned: Bins, column: int, at: int, order: Numbers, spare: Numbers, first: int, last: int) -> int:
    """Put the rows of a leaf whose bin is at most `at` before the others; return where the others begin. O(1) a row."""
    left, right = first, 0
    for t in range(first, last):
        row = order[t]
        if binned[row, column] <= at:
            order[left] = row
            left += 1
        else:
            spare[right] = row
            right += 1
    for t in range(right):
        order[left + t] = spare[t]
    return left


@compiled(
    "void(u1[:,::1],f8[:,::1],i8[:,::1],f8[:,::1],f8,i8[:,::1],f8[:,:,:,::1],f8[:,::1],f8[:,::1],f8[::1])",
    uncounted=True,
)
def grow_tree(
    binned: Bins,
    cuts: Matrix,
    columns: Numbers,
    slopes: Matrix,
    rate: float,
    order: Numbers,
    sums: Cube,
    leaves: Matrix,
    tree: Matrix,
    scores: Vector,
) -> None:
    """Grow a tree on the columns drawn, and add what it says to the scores of its rows. O(3 n d), about.

    `columns` has a line of their numbers and one of how many cuts each has, `slopes` g and h of every row; `order`, of
    two lines of n, `sums` and `leaves` are room to work in.
    """
    rows = len(binned)
    G, H = 0.0, 0.0
    for t in range(rows):
        order[0, t] = t
        G += slopes[t, 0]
        H += slopes[t, 1]
    root = leaves[0]
    root[PLACE], root[FIRST], root[LAST], root[GRADIENT], root[CURVATURE] = 0.0, 0.0, rows, G, H
    add_up(binned, columns, slopes, order[0], 0, rows, sums[0])
    find_split(columns, sums[0], root)
    grown, nodes = 1, 1
    for i in range(NODES):
        tree[i, FEATURE] = LEAF
        tree[i, THRESHOLD] = tree[i, CHILD] = tree[i, VALUE] = 0.0
    while grown < LEAVES:
        best = 0
        for i in range(1, grown):
            if leaves[i, GAIN] > leaves[best, GAIN]:
                best = i
        left, right = leaves[best], leaves[grown]
        if not left[GAIN] > TELLING:
            break
        column, at = columns[NUMBER, int(left[COLUMN])], int(left[BIN])
        first, last = int(left[FIRST]), int(left[LAST])
        middle = divide(binned, column, at, order[0], order[1], first, last)
        node = tree[int(left[PLACE])]
        node[FEATURE], node[THRESHOLD], node[CHILD] = column, cuts[column, at], nodes
        right[PLACE], right[FIRST], right[LAST] = nodes + 1, middle, last
        right[GRADIENT] = left[GRADIENT] - left[LEFT_GRADIENT]
        right[CURVATURE] = left[CURVATURE] - left[LEFT_CURVATURE]
        left[PLACE], left[LAST] = nodes, middle
        left[GRADIENT], left[CURVATURE] = left[LEFT_GRADIENT], left[LEFT_CURVATURE]
        nodes += 2
        if grown + 1 < LEAVES:
            if middle - first <= last - middle:
                copy_sums(columns, sums[best], sums[grown])
                add_up(binned, columns, slopes, order[0], first, middle, sums[best])
                subtract(columns, sums[grown], sums[best])
            else:
                add_up(binned, columns, slopes, order[0], middle, last, sums[grown])
                subtract(columns, sums[best], sums[grown])
            find_split(columns, sums[best], left)
            find_split(columns, sums[grown], right)
        grown += 1
    for i in range(grown):
        leaf = leaves[i]
        value = -rate * leaf[GRADIENT] / (leaf[CURVATURE] + RIDGE)
        value = min(max(value, -BOLDEST), BOLDEST)
        tree[int(leaf[PLACE]), VALUE] = value
        for t in range(int(leaf[FIRST]), int(leaf[LAST])):
            scores[order[0, t]] += value
