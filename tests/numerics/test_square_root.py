"""The square root of the inverse against the matrix itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import make_rows

from aioli.numerics.square_root import add_row, times_inverse


@pytest.mark.parametrize("kind", ["random", "collinear", "sparse"])
def test_the_square_root_follows_the_matrix(kind: str, rng: np.random.Generator) -> None:
    A, S = 0.5 * np.eye(4), np.eye(4) / np.sqrt(0.5)
    for x in make_rows(kind, 100, 4, seed=9):
        h = rng.uniform(0.0, 2.0)
        k, v = add_row(S, x, h)
        assert_allclose(k, np.linalg.solve(A, x), atol=1e-11)
        assert_allclose(v, x @ np.linalg.solve(A, x), atol=1e-11)
        A += h * np.outer(x, x)
        assert_allclose(S @ S.T @ A, np.eye(4), atol=1e-10)  # a hundred rank-one steps at a condition number of 1e3
    k, v = times_inverse(S, A[0])
    assert_allclose(k, np.eye(4)[0], atol=1e-10)
    assert_allclose(v, A[0, 0], rtol=1e-10)


def test_a_weight_of_zero_changes_nothing(rng: np.random.Generator) -> None:
    S = rng.normal(size=(3, 3))
    before = S.copy()
    add_row(S, np.ones(3), 0.0)
    assert np.array_equal(S, before)
