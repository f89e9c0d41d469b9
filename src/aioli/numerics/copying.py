"""Copying numbers within compiled code, by a loop that compiles in a fraction of the time of a slice's assignment.

Numba compiles beside `target[:] = source` the sentence of the error that another shape would raise, with all it needs
to print numbers: as much to compile as a whole forest's tree.
"""

from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = ["copy_numbers", "copy_record"]


@compiled("void(f8[::1],f8[::1])")
def copy_numbers(source: Vector, target: Vector) -> None:
    """Write the numbers of an array into another that has room for them. O(d)."""
    for i in range(source.size):
        target[i] = source[i]


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8[:,::1],i8)")
def copy_record(X: Matrix, y: Vector, weights: Vector, table: Matrix, place: int) -> None:
    """Write the first row of X, its label and its weight into a line of a table of such records. O(d)."""
    d = X.shape[1]
    for j in range(d):
        table[place, j] = X[0, j]
    table[place, d] = y[0]
    table[place, d + 1] = weights[0]
