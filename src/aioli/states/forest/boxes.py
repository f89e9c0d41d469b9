r"""Measures by how much a row is outside of the boxes of the nodes on its path, and widens these boxes.

A box holds the least and the greatest of each column over a node's rows. Column j is outside of it by
$e_j = \max(\mathrm{least}_j - u_j, u_j - \mathrm{greatest}_j, 0)$; the row by $E = \sum_j e_j\,\mathrm{scale}_j$.

A node's box holds the boxes of its children. So a row can be outside of a node's box only in columns in which it is
outside of the child's: all d columns are looked at in the leaf alone. Over streams of 5 to 276 columns that is a tenth
of looking at all of them in every node.
"""

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.prefetch import LINE, prefetch
from aioli.states.forest.nodes import BOXES, COLUMNS, OUTSIDE, Integers

__all__ = ["ask_for_boxes", "note_distances", "widen"]

AHEAD = 2  # nodes at the end of a path whose boxes are prefetched: most rows are outside of these


@compiled(f"void({BOXES},i8[:,::1],i8[::1])", uncounted=True)
def ask_for_boxes(boxes: Cube, paths: Integers, lengths: Integers) -> None:
    """Prefetch the boxes at the ends of all paths: they lie scattered in memory, and are then read side by side."""
    for tree in range(lengths.size):
        for i in range(max(lengths[tree] - AHEAD, 0), lengths[tree]):
            box = boxes[tree, paths[tree, i]]
            for first in range(0, box.size, LINE):
                prefetch(box, first)


@compiled("i8(f8[::1],f8[::1],i8[::1])", uncounted=True)
def columns_outside(box: Vector, u: Vector, columns: Integers) -> int:
    """List the columns in which a row is outside of a box; return how many they are. O(d)."""
    count = 0
    for j in range(u.size):  # without a branch, which would be predicted badly: what is not outside is overwritten
        columns[count] = j
        count += (u[j] < box[2 * j]) | (u[j] > box[2 * j + 1])
    return count


@compiled(f"void({BOXES},i8,i8[::1],f8[:,::1],i8,f8[::1],f8[::1],i8[::1])", uncounted=True)
def note_distances(
    boxes: Cube, tree: int, path: Integers, notes: Matrix, length: int, u: Vector, scale: Vector, columns: Integers
) -> None:
    """Note by how much a row is outside of the box of each node on its path, E, and in how many columns.

    `columns` is reordered from the leaf up, so that the columns in which the row is outside of a node's box are the
    first in it, as many as were noted for that node. O(d), and O(1) for each such column of the node below; the loop
    ends at the first box that holds the row, since all boxes above do.
    """
    count = columns_outside(boxes[tree, path[length - 1]], u, columns)
    i = length - 1
    while i >= 0:
        box = boxes[tree, path[i]]
        first, E = 0, 0.0
        for a in range(count):
            j = columns[a]
            below, above = box[2 * j] - u[j], u[j] - box[2 * j + 1]
            e = below if below > above else above
            columns[a] = columns[first]
            columns[first] = j
            first += e > 0.0
            E += (e if e > 0.0 else 0.0) * scale[j]
        count = first
        notes[i, OUTSIDE], notes[i, COLUMNS] = E, count
        if E == 0.0:
            break
        i -= 1
    for above_it in range(i):
        notes[above_it, OUTSIDE] = 0.0


@compiled("void(f8[::1],f8[::1],i8[::1],i8)", uncounted=True)
def widen(box: Vector, u: Vector, columns: Integers, count: int) -> None:
    """Widen a box to hold a row that is outside of it in the first `count` of these columns. O(1) a column."""
    for a in range(count):
        j = columns[a]
        box[2 * j] = u[j] if u[j] < box[2 * j] else box[2 * j]
        box[2 * j + 1] = u[j] if u[j] > box[2 * j + 1] else box[2 * j + 1]
