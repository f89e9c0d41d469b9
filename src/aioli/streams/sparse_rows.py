"""The border for wide rows of which most entries are 0: checked like any others, and never made dense."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from aioli.numerics.compiling import Vector, compiled
from aioli.streams.rows import as_table, why_refused

__all__ = ["Indices", "SparseChunk", "SparseRows"]

CHUNK_ENTRIES = 1 << 18  # four megabytes of values and column numbers

Indices = NDArray[np.int64]


class SparseChunk(NamedTuple):
    """Rows of a CSR matrix: row t has `data[indptr[t]:indptr[t+1]]` in the columns `indices[indptr[t]:indptr[t+1]]`."""

    indptr: Indices
    indices: Indices
    data: Vector
    norms: Vector


class SparseRows:
    r"""A matrix of rows of any kind as canonical CSR: float64, columns in order, none twice, no zeros kept. O(nnz).

    `values` is the matrix and `norms` the rows' lengths $\|x\|$. An intercept is counted in the norms, as
    $\sqrt{1 + \|x\|^2}$, but not stored: whoever plays the rows knows that it is 1. What the user gave is never
    changed.

    >>> from scipy import sparse
    >>> rows = SparseRows(sparse.csr_array([[0.0, 3.0, 4.0], [0.0, 0.0, 1.0]]), intercept=False, widest=1e100)
    >>> for start, chunk in rows:
    ...     print(start, chunk.indptr, chunk.indices, chunk.data, chunk.norms)
    0 [0 2 3] [1 2 2] [3. 4. 1.] [5. 1.]
    """

    def __init__(
        self,
        X: object,
        *,
        intercept: bool,
        widest: float,
        width: int | None = None,
        names: Sequence[str] | None = None,
        single: bool = False,
    ) -> None:
        self.values = _canonical(as_table(X, width=width, names=names, single=single))
        self.single = single
        self.intercept = intercept
        self.names = names
        self.width = int(self.values.shape[1])
        self.norms: Vector = np.empty(len(self))
        measure(self.values.indptr.astype(np.int64), self.values.data, float(intercept), self.norms)
        bad = ~(self.norms <= min(widest, 1e154))  # NaN is bad too; the square of a norm must be finite
        if bad.any():
            self._refuse(int(np.argmax(bad)), widest)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __iter__(self) -> Iterator[tuple[int, SparseChunk]]:
        """The chunks, each with the number of its first row."""
        ends, start = self.values.indptr, 0
        while start < len(self):
            fitting = int(np.searchsorted(ends, int(ends[start]) + CHUNK_ENTRIES, side="right")) - 1
            stop = min(max(start + 1, fitting), len(self))
            entries = slice(int(ends[start]), int(ends[stop]))
            indptr = ends[start : stop + 1].astype(np.int64)
            yield (
                start,
                SparseChunk(
                    indptr - indptr[0],
                    self.values.indices[entries].astype(np.int64),
                    self.values.data[entries],
                    self.norms[start:stop],
                ),
            )
            start = stop

    def lengths(self) -> Iterator[tuple[int, Vector]]:
        """The norms of the rows, as `as_weights` asks for them."""
        yield 0, self.norms

    def _refuse(self, t: int, widest: float) -> None:
        entries = slice(int(self.values.indptr[t]), int(self.values.indptr[t + 1]))
        row, columns = self.values.data[entries], self.values.indices[entries]
        where = "the row" if self.single else f"row {t}"
        finite = np.isfinite(row)
        worst = int(np.argmax(np.abs(row) if finite.all() else ~finite))
        raise ValueError(why_refused(where, int(columns[worst]), float(row[worst]), self.names, widest))


@compiled("void(i8[::1],f8[::1],f8,f8[::1])", reassociate=True)
def measure(indptr: Indices, data: Vector, ones: float, norms: Vector) -> None:
    r"""$\sqrt{\mathrm{ones} + \sum_i x_i^2}$ of each row. O(nnz)."""
    for t in range(norms.size):
        norm2 = ones
        for i in range(indptr[t], indptr[t + 1]):
            norm2 += data[i] * data[i]
        norms[t] = math.sqrt(norm2)


def _canonical(values: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows float64 is found as an infinity
        matrix = sparse.csr_array(values).astype(np.float64, copy=False)
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"a sparse matrix that contradicts itself came ({error}); build it again") from None
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    matrix.data = np.ascontiguousarray(matrix.data)
    return matrix
