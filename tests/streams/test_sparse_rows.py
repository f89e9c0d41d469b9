"""Sparse rows at the border: the same rows, norms and refusals as dense ones, and never dense."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from support import make_rows

from aioli.numerics.compiling import Matrix
from aioli.streams import sparse_rows
from aioli.streams.rows import Rows, as_weights
from aioli.streams.sparse_rows import SparseRows


def border(X: object, **settings: Any) -> SparseRows:
    return SparseRows(X, **{"intercept": False, "widest": 1e100, **settings})


def dense_again(rows: SparseRows) -> Matrix:
    out = np.zeros((len(rows), rows.width))
    for start, chunk in rows:
        for t in range(len(chunk.norms)):
            entries = slice(chunk.indptr[t], chunk.indptr[t + 1])
            out[start + t, chunk.indices[entries]] = chunk.data[entries]
    return out


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 10**6), st.booleans())
def test_the_chunks_hold_the_rows_and_their_norms(n: int, d: int, seed: int, intercept: bool) -> None:
    X = make_rows("sparse", n, d, seed)
    whole = np.concatenate([chunk for _, chunk in Rows(X, intercept=intercept, widest=1e100)])
    for given_as in (X, sparse.csr_matrix(X), sparse.coo_array(X), sparse.csc_array(X.astype(np.float32)), X.tolist()):
        rows = border(given_as, intercept=intercept)
        tolerance = 1e-6 if getattr(given_as, "dtype", X.dtype) == np.float32 else 1e-15
        assert_allclose(dense_again(rows), X, rtol=tolerance)
        assert_allclose(rows.norms, np.linalg.norm(whole, axis=1), rtol=tolerance)


def test_a_long_matrix_comes_in_several_chunks(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr(sparse_rows, "CHUNK_ENTRIES", 7)
    X = rng.normal(size=(50, 9)) * (rng.random(size=(50, 9)) < 0.4)
    X[20:28] = 0.0  # rows without entries fit anywhere
    X[40] = 1.0  # a row longer than a chunk
    rows = border(sparse.csr_array(X))
    assert len(list(rows)) > 20
    assert_array_equal(dense_again(rows), X)


def test_what_the_user_gave_is_put_in_order_in_a_copy() -> None:
    data, indices, indptr = np.array([1.0, 2.0, 0.0, 5.0, 4.0]), np.array([2, 0, 1, 2, 2]), np.array([0, 3, 5])
    given_matrix = sparse.csr_matrix((data.copy(), indices.copy(), indptr.copy()), shape=(2, 3))
    rows = border(given_matrix)
    [(_, chunk)] = rows
    assert_array_equal(chunk.indptr, [0, 2, 3])
    assert_array_equal(chunk.indices, [0, 2, 2])
    assert_array_equal(chunk.data, [2.0, 1.0, 9.0])
    assert_array_equal(rows.norms, [math.sqrt(5.0), 9.0])
    assert_array_equal(given_matrix.data, data)
    assert_array_equal(given_matrix.indices, indices)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize("names", [None, [f"word{j}" for j in range(40_000)]])
def test_a_bad_value_is_named_by_row_and_column(bad: float, names: list[str] | None) -> None:
    X = sparse.csr_array(([1.0, bad, 3.0], ([0, 1, 1], [5, 31_000, 7])), shape=(2, 40_000))
    column = "column 31000" if names is None else "column 'word31000'"
    with pytest.raises(ValueError, match=f"row 1: {column} is .*nothing was learned"):
        border(X, names=names)
    with pytest.raises(ValueError, match=f"the row: {column} is .*nothing was learned"):
        border(X[1:], names=names, single=True)


def test_a_wrong_shape_or_type_is_refused_like_a_dense_one() -> None:
    X = sparse.random_array((4, 6), density=0.5, rng=1)
    cases: list[tuple[object, dict[str, Any]]] = [
        (X, {"width": 5}),
        (X, {"width": 7}),
        (X, {"names": ["a"]}),
        (X.astype(complex), {}),
        (sparse.csr_array((0, 6)), {}),
        (X, {"single": True}),
    ]
    for wrong, settings in cases:
        with pytest.raises(ValueError) as from_dense:  # noqa: PT011, its text is compared below
            Rows(wrong, intercept=False, widest=1e100, **settings)
        with pytest.raises(ValueError) as from_sparse:  # noqa: PT011  (as above)
            border(wrong, **settings)
        assert str(from_sparse.value) == str(from_dense.value)


def test_a_matrix_whose_column_numbers_lie_outside_it_is_refused() -> None:
    X = sparse.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
    X.indices[1] = 3
    with pytest.raises(ValueError, match="contradicts itself"):
        border(X)


def test_weights_are_checked_against_the_norms() -> None:
    rows = border(sparse.csr_array([[3.0, 4.0], [0.0, 0.0]]))
    assert_array_equal(as_weights([10.0, 1e9], rows, 100.0), [10.0, 1e9])
    with pytest.raises(ValueError, match="row 0: a weight of 30"):
        as_weights([30.0, 1.0], rows, 100.0)
