"""The lower triangle of a covariance, downdated and multiplied in passes, against plain matrix products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.states.classes.triangle import downdate, downdate_and_multiply, multiply


@pytest.mark.parametrize(("contrasts", "width"), [(1, 1), (2, 3), (2, 4), (3, 5), (4, 8), (5, 9)])
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("rho", [1.0, 0.9])
def test_passes_over_rows_are_matrix_products(contrasts: int, width: int, rank: int, rho: float) -> None:
    rng = np.random.default_rng(rank)
    D, back = contrasts * width, 1.0 - rho
    A, x, U = rng.normal(size=(D, D)), rng.normal(size=width), rng.normal(size=(7, D))
    P = A @ A.T
    rows = np.kron(np.eye(contrasts), x)
    after = rho * (P - U[:rank].T @ U[:rank]) + back * np.eye(D)
    lower, PX = np.tril(P), np.empty((contrasts, D))  # nothing above the diagonal is read
    multiply(lower, x, PX)
    assert_allclose(PX, rows @ P, atol=1e-12 * np.abs(P).max())
    fused = lower.copy()
    downdate(lower, U, rank, rho, back)
    assert_allclose(lower, np.tril(after), atol=1e-12 * np.abs(P).max())
    downdate_and_multiply(fused, U, rank, rho, back, x, PX)
    assert_allclose(fused, np.tril(after), atol=1e-12 * np.abs(P).max())
    assert_allclose(PX, rows @ after, atol=1e-11 * np.abs(P).max())
