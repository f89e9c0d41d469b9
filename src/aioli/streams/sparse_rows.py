"""The border for wide rows of which most entries are 0: checked as dense rows are, and never made dense."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.streams.files.table import Csr
from aioli.streams.rows import CheckedRows

__all__ = ["Indices", "SparseChunk", "SparseRows"]

CHUNK_ENTRIES = 1 << 18  # four megabytes of values and column numbers

Indices = NDArray[np.int64]


class SparseChunk(NamedTuple):
    """Rows of a CSR matrix: row t has `data[indptr[t]:indptr[t+1]]` in the columns `indices[indptr[t]:indptr[t+1]]`."""

    indptr: Indices
    indices: Indices
    data: Vector
    norms: Vector

    @property
    def entries(self) -> tuple[Indices, Indices, Vector]:
        """The three arrays of the matrix alone."""
        return self[:3]


class SparseRows(CheckedRows):
    r"""Checks a matrix of rows of any kind and keeps the entries that are not 0: float64, columns in order. O(nnz).

    The lengths of rows are $\|x\|$. An intercept is counted in them, as $\sqrt{1 + \|x\|^2}$, but not stored, since it
    is always 1. What the user gave is never changed.

    Attributes
    ----------
    indptr, indices, data
        The entries of all rows, as `SparseChunk` has them.
    norms
        The rows' lengths.
    values
        The matrix itself, dense or CSR, of float64.

    >>> from scipy import sparse
    >>> rows = SparseRows(sparse.csr_array([[0.0, 3.0, 4.0], [0.0, 0.0, 1.0]]), intercept=False, widest=1e100)
    >>> for start, chunk in rows:
    ...     print(start, chunk.indptr, chunk.indices, chunk.data, chunk.norms)
    0 [0 2 3] [1 2 2] [3. 4. 1.] [5. 1.]
    """

    def _check(self, widest: float) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows float64 is found as an infinity
            if isinstance(self.values, np.ndarray):  # SciPy would take longer than to learn a row
                self.values = self.values.astype(np.float64, copy=False)
                where, columns = np.nonzero(self.values)
                self.indptr: Indices = np.searchsorted(where, np.arange(len(self) + 1))
                self.indices: Indices = np.ascontiguousarray(columns)
                self.data: Vector = self.values[where, columns]
            else:
                matrix = self.values = _canonical(self.values)
                self.indptr, self.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
                self.data = matrix.data
        self.norms: Vector = np.empty(len(self))
        measure(self.indptr, self.data, float(self.intercept), self.norms)
        bad = ~(self.norms <= min(widest, 1e154))  # NaN is bad too; the square of a norm must be finite
        if bad.any():
            t = int(np.argmax(bad))
            entries = slice(int(self.indptr[t]), int(self.indptr[t + 1]))
            self._refuse(t, self.data[entries], self.indices[entries], widest)

    def __iter__(self) -> Iterator[tuple[int, SparseChunk]]:
        """Yield the chunks, each with the number of its first row."""
        start = 0
        while start < len(self):
            fitting = int(np.searchsorted(self.indptr, int(self.indptr[start]) + CHUNK_ENTRIES, side="right")) - 1
            stop = min(max(start + 1, fitting), len(self))
            yield start, self.part(start, stop)
            start = stop

    def part(self, start: int, stop: int) -> SparseChunk:
        """Return the rows from `start` to before `stop`. O(1) but for `indptr`."""
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        indptr = self.indptr[start : stop + 1] - first
        return SparseChunk(indptr, self.indices[first:last], self.data[first:last], self.norms[start:stop])

    def first_columns(self, width: int) -> Matrix:
        """Return the first columns of all rows as a dense matrix."""
        first = self.values[:, :width]
        return np.require(first if isinstance(first, np.ndarray) else first.toarray(), requirements=["C", "W"])

    def lengths(self) -> Iterator[tuple[int, Vector]]:
        """Yield the norms of all rows at once, with the number of the first."""
        yield 0, self.norms


@compiled("void(i8[::1],f8[::1],f8,f8[::1])", reassociate=True)
def measure(indptr: Indices, data: Vector, ones: float, norms: Vector) -> None:
    r"""Write $\sqrt{\mathrm{ones} + \sum_i x_i^2}$ of each row into `norms`. O(nnz)."""
    for t in range(norms.size):
        norm2 = ones
        for i in range(indptr[t], indptr[t + 1]):
            norm2 += data[i] * data[i]
        norms[t] = math.sqrt(norm2)


def _canonical(values: Csr) -> Csr:
    """Return the matrix as CSR of float64 with columns in order, none twice and no zeros kept; a copy if need be."""
    matrix = sparse.csr_array(values).astype(np.float64, copy=False)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    matrix.data = np.ascontiguousarray(matrix.data)
    return matrix
