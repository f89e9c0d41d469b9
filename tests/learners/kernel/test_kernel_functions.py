"""The kernels that have names, beside scikit-learn's of the same names."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from support import make_rows

from aioli.learners.kernel.functions import NAMES, Kernel
from aioli.numerics.compiling import Matrix
from aioli.states.kernel.kept_rows import block_of

pairwise: Any = importlib.import_module("sklearn.metrics.pairwise")  # it has no types

KINDS: list[Callable[[Matrix], Any]] = [np.asarray, sparse.csr_array]


@given(
    st.sampled_from(NAMES),
    st.sampled_from(KINDS),
    st.sampled_from(["random", "sparse", "repeated"]),
    st.integers(1, 20),
    st.integers(1, 8),
    st.floats(0.01, 3.0),
    st.integers(1, 4),
    st.floats(0.0, 2.0),
    st.integers(0, 10**6),
)
def test_each_is_scikit_learns_of_the_same_name(
    name: str,
    kind: Callable[[Matrix], Any],
    rows: str,
    n: int,
    d: int,
    gamma: float,
    degree: int,
    coef0: float,
    seed: int,
) -> None:
    X, Y = make_rows(rows, n, d, seed), make_rows(rows, n + 3, d, seed)
    kernel = Kernel(name, gamma, degree, coef0)
    settings = {"gamma": gamma, "degree": degree, "coef0": coef0}
    expected = pairwise.pairwise_kernels(X, Y, metric=name, filter_params=True, **settings)
    size = np.abs(expected).max()
    assert_allclose(kernel.matrix(block_of(kind(X)), block_of(kind(Y))), expected, rtol=1e-10, atol=1e-12 * size)
    own = pairwise.pairwise_kernels(X, metric=name, filter_params=True, **settings)
    assert_allclose(kernel.diagonal(block_of(kind(X))), np.diagonal(own), rtol=1e-10, atol=1e-12 * size)


def test_gamma_is_one_over_the_columns_unless_it_is_given() -> None:
    X = make_rows("random", 10, 5, 0)
    for name in ("rbf", "laplacian", "poly"):
        expected = pairwise.pairwise_kernels(X, metric=name)  # scikit-learn's own default
        block = block_of(X)
        assert_allclose(Kernel(name, None, 3, 1.0).for_width(5).matrix(block, block), expected, rtol=1e-10)
    assert Kernel("rbf", 0.7, 3, 1.0).for_width(5).gamma == 0.7


@pytest.mark.parametrize("kind", KINDS)
def test_rows_far_from_the_origin_keep_their_distances(kind: Callable[[Matrix], Any]) -> None:
    X = np.round(make_rows("random", 30, 3, 0), 3)
    far = np.round(X * 1024.0) / 1024.0 + 2.0**40  # exact, while the squares of the rows have lost all of X
    near = far - 2.0**40
    kernel = Kernel("rbf", 0.5, 3, 1.0)
    expected = kernel.matrix(block_of(near), block_of(near))
    assert_allclose(kernel.matrix(block_of(kind(far)), block_of(kind(far))), expected, rtol=1e-12)
    assert expected.min() < 0.5 < np.sort(expected.ravel())[-31]


def test_a_function_may_give_a_sparse_matrix() -> None:
    X = make_rows("sparse", 10, 5, 0)
    kernel = Kernel(lambda A, B: A @ B.T, None, 3, 1.0)
    block = block_of(sparse.csr_array(X))
    assert_allclose(kernel.matrix(block, block), X @ X.T, rtol=1e-12)
    assert_allclose(kernel.diagonal(block), block.squares, rtol=1e-12)
