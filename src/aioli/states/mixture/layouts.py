r"""Layouts: which features a view that bends holds, in the order in which they came.

The square view and the ramp view hold columns, and beside them the *bends* of columns: a square, or five ramps. A
column of two values has no bend that says more than the column itself. So a bend is given to a column that has shown
three values, wherever it stands, to 64 columns at most: once and for ever, in the order of the columns, after 3, 7 and
19 rows, and whenever the rows behind the third have doubled. How rows are cut into calls decides nothing, the order of
the columns only who is left out where there are more than 64, and a state grows exactly: a feature that comes later was
0 in all rows so far (`State.grown`).

A layout is one array, for compiled code: how many entries there are, the width of the view, and the entries. An entry
$c \ge 0$ is column c; $c < 0$ is the bend of column $-1 - c$.
"""

import numpy as np

from aioli.numerics.compiling import Vector, compiled
from aioli.streams.sparse_rows import Indices

__all__ = [
    "BENT",
    "ENTRIES",
    "HEADER",
    "OFTEN",
    "SETTLED",
    "WIDTH",
    "add_entry",
    "entries_of",
    "give_bends",
    "gives_bends",
    "is_full",
    "lay_out_again",
    "layout_numbers",
    "most_bent",
    "rows_to_bends",
]

BENT = 64  # columns that have a bend, at most: beyond, bends would cost more than they bring
HEADER = 2
ENTRIES, WIDTH = range(HEADER)  # the beginning of a layout; the width counts the view's 1
SETTLED = 3  # rows in which the origin of a column may still move, after which bends are given for the first time
EARLY, OFTEN = 4, 16  # rows behind these: the second time, and the third, from which on they double; each costs a cut


@compiled("i8(i8)")
def most_bent(d: int) -> int:
    """Return how many of d columns have bends at most."""
    return min(d, BENT)


@compiled("i8(i8)")
def layout_numbers(d: int) -> int:
    """Return how many numbers the layout of a view of d columns takes."""
    return HEADER + d + most_bent(d) + 1  # the last is 0, which is not the bend of a column


@compiled("b1(i8)")
def gives_bends(n: int) -> bool:
    """Return whether columns are given bends after n rows, by their number alone. O(1)."""
    m = n - SETTLED
    return m in (0, EARLY) or (m >= OFTEN and m & (m - 1) == 0)


def rows_to_bends(n: int) -> int:
    """Return how many rows may come after n rows until columns are given bends. O(1)."""
    m = n - SETTLED
    early = [due - m for due in (0, EARLY, OFTEN) if due > m]
    return early[0] if early else (1 << m.bit_length()) - m


@compiled("void(f8[::1],i8,i8)")
def add_entry(layout: Vector, entry: int, features: int) -> None:
    """Append a column, or a bend of so many features. O(1)."""
    layout[HEADER + int(layout[ENTRIES])] = entry
    layout[ENTRIES] += 1.0
    layout[WIDTH] += features


@compiled("void(f8[::1],f8[::1],i8)")
def give_bends(layout: Vector, shows_three: Vector, features: int) -> None:
    """Give a bend of so many features to each column that shows three values and has none, while there is room. O(d).

    A column that the view does not hold yet comes with its bend.
    """
    d = shows_three.size
    held, bent = np.zeros(d), np.zeros(d)
    count = 0
    for entry in layout[HEADER : HEADER + int(layout[ENTRIES])]:
        c = int(entry)
        if c >= 0:
            held[c] = 1.0
        else:
            bent[-1 - c] = 1.0
            count += 1
    for j in range(d):
        if shows_three[j] > 0.0 and bent[j] == 0.0 and count < BENT:
            if held[j] == 0.0:
                add_entry(layout, j, 1)
            add_entry(layout, -1 - j, features)
            count += 1


def entries_of(layout: Vector) -> Indices:
    """Return the entries of a layout."""
    entries: Indices = layout[HEADER : HEADER + int(layout[ENTRIES])].astype(np.int64)
    return entries


def is_full(layout: Vector, d: int) -> bool:
    """Return whether no further column of d can be given a bend. O(d)."""
    return int(np.count_nonzero(entries_of(layout) < 0)) >= most_bent(d)


def lay_out_again(layout: Vector, entries: Indices, features: int) -> None:
    """Write a layout of these entries, whose bends have so many features each."""
    layout[ENTRIES], layout[WIDTH] = len(entries), 1 + sum(1 if entry >= 0 else features for entry in entries.tolist())
    layout[HEADER : HEADER + len(entries)] = entries
