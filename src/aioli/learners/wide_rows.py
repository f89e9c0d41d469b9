"""Tells which rows are wide, puts columns into buckets, and takes single rows without the border's checks."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from aioli.numerics.compiling import Vector
from aioli.states.sparse.loops import length_of_entries
from aioli.streams.matrices import is_sparse
from aioli.streams.sparse_rows import Indices, SparseChunk, SparseRows

__all__ = ["LONGEST", "MANY_COLUMNS", "canonical_row", "hashed", "is_wide"]

LONGEST = 1e150  # a row whose square is still finite
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64/φ: neighbouring columns go to distant buckets
SPARSE_COLUMNS, SPARSE_SHARE = 200, 0.25  # more columns than this, of which at most this share is not 0, are wide
MANY_COLUMNS = 2000  # more columns than this are wide whatever is in them: eight matrices of so many take 256 MB


def is_wide(X: Any) -> bool:
    """Return whether rows are for `Wide` rather than for states of d² numbers; X is an array or a sparse one.

    Decided by the width and the first row alone, so that it does not depend on how many rows come at once, nor on
    whether they come sparse. Where most entries are not 0, `Auto`'s dense experts were ahead on the streams tried.
    """
    if X.ndim == 1:
        X = X.reshape((1, -1))
    if 0 in X.shape:
        return False
    columns = X.shape[1]
    first = X.tocsr()[[0]].toarray() if is_sparse(X) else X[:1]
    return bool(
        columns > MANY_COLUMNS or (columns > SPARSE_COLUMNS and np.count_nonzero(first) <= SPARSE_SHARE * columns)
    )


def hashed(rows: SparseRows, bits: int) -> SparseRows:
    """Return the rows with their columns in 2^bits buckets; values that share a bucket are added."""
    buckets = _buckets(rows.indices, bits)
    bucketed = sparse.csr_array((rows.data, buckets, rows.indptr), shape=(len(rows), 1 << bits))
    return SparseRows(bucketed, intercept=False, widest=math.inf, single=rows.single)


def _buckets(columns: Indices | NDArray[np.int32], bits: int) -> Indices:
    """Return the bucket of each column, one of 2^bits, by multiplicative hashing."""
    return (columns.astype(np.uint64) * GOLDEN >> np.uint64(64 - bits)).astype(np.int64)


def canonical_row(x: object, width: int, bits: int | None) -> SparseChunk | None:
    """Return a single float64 row, dense or CSR, that the state takes as it is; None for any other."""
    if type(x) is np.ndarray and x.ndim == 1 and x.dtype == np.float64:
        columns: Indices = np.flatnonzero(x)
        values: Vector = x[columns]
        columns_of_x = x.size
    elif isinstance(x, (sparse.csr_array, sparse.csr_matrix)) and x.ndim == 2 and x.shape[0] == 1:
        columns, values, columns_of_x = x.indices.astype(np.int64), x.data, x.shape[1]
        if not (values.dtype == np.float64 and values.size == columns.size == x.indptr.item(-1)):
            return None
    else:
        return None
    if bits is not None:
        columns = _buckets(columns, bits)
        order = np.argsort(columns)
        columns, values = columns[order], values[order]
    elif columns_of_x != width:
        return None
    values = np.ascontiguousarray(values)
    norm = length_of_entries(columns, values, width)
    return SparseChunk(np.array([0, columns.size]), columns, values, np.array([norm])) if norm <= LONGEST else None
