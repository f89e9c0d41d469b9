"""Assembles rows of features, dense or CSR, from columns of numbers and from places where there is a 1."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.streams.files.table import Csr

__all__ = ["Ones", "add_rows", "as_matrix_of", "as_sparse"]

Ones: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]  # rows and features where there is a 1


def as_matrix_of(shape: tuple[int, int], dense: list[tuple[int, Vector]], ones: list[Ones]) -> Matrix:
    """Return dense rows of this shape: columns of numbers by their places, and ones; 0 elsewhere."""
    X = np.zeros(shape)
    for place, values in dense:
        X[:, place] = values
    for rows, places in ones:
        X[rows, places] = 1.0
    return X


def as_sparse(shape: tuple[int, int], dense: list[tuple[int, Vector]], ones: list[Ones]) -> Csr:
    """Return the rows of `as_matrix_of` as CSR."""
    from scipy import sparse  # imported here: a process starts sooner without it

    every = np.arange(shape[0])
    entries = [(values, every, np.full(shape[0], place)) for place, values in dense]
    entries += [(np.ones(len(rows)), rows, places) for rows, places in ones]
    values, rows, places = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    X = sparse.csr_array((values, (rows, places)), shape=shape)
    numbers = np.zeros(shape[1], dtype=bool)
    numbers[[place for place, _ in dense]] = True
    X.data[~numbers[X.indices]] = 1.0  # SciPy has added the ones of a row that share a feature
    X.eliminate_zeros()
    return X


@compiled("void(f8[:,::1],f8[::1])")
def add_rows(X: Matrix, sums: Vector) -> None:
    """Add the rows to the sums of the columns, in order; faster than NumPy where rows are short. O(d) a row."""
    for t in range(len(X)):
        for j in range(X.shape[1]):
            sums[j] += X[t, j]
