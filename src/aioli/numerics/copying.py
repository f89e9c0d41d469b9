"""Copying numbers within compiled code, by a loop that compiles in a fraction of the time of a slice's assignment.

Numba compiles beside `target[:] = source` the sentence of the error that another shape would raise, with all it needs
to print numbers: as much to compile as a whole forest's tree.
"""

from aioli.numerics.compiling import Vector, compiled

__all__ = ["copy_numbers"]


@compiled("void(f8[::1],f8[::1])")
def copy_numbers(source: Vector, target: Vector) -> None:
    """Write the numbers of an array into another that has room for them. O(d)."""
    for i in range(source.size):
        target[i] = source[i]
