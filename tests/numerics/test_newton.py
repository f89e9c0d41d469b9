"""Newton's method against sixty digits."""

import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import make_rows

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.newton import minimise

exact: Any = importlib.import_module("mpmath").MPContext()  # it has no types
exact.dps = 60


def decrement(X: Matrix, counts: Matrix, ridge: float, theta: Vector) -> float:
    """√(gᵀH⁻¹g) at θ, in sixty digits."""
    Z, w, twice = exact.matrix(X.tolist()), exact.matrix(theta.tolist()), 2 * exact.mpf(ridge)
    z = Z * w
    g, H = twice * w, twice * exact.eye(theta.size)
    for s, (zeros, ones) in enumerate(counts):
        p = 1 / (1 + exact.exp(-z[s]))
        x = Z[s, :].T
        g += (zeros * p - ones * (1 - p)) * x
        H += (zeros + ones) * p * (1 - p) * x * x.T
    return float(exact.sqrt((g.T * exact.lu_solve(H, g))[0]))


@given(
    st.sampled_from(["random", "collinear", "sparse"]),
    st.integers(1, 8),
    st.integers(1, 3),
    st.integers(0, 10**6),
    st.sampled_from([1e-4, 1.0, 100.0]),
    st.sampled_from([1.0, 1e3, 1e5]),
    st.sampled_from([0.0, 1.0, 1e3]),
)
def test_it_reaches_the_minimum_from_anywhere(
    kind: str, t: int, d: int, seed: int, ridge: float, length: float, far: float
) -> None:
    rng = np.random.default_rng(seed)
    X = make_rows(kind, t, d, seed)
    X *= length * np.sqrt(ridge) / max(1.0, np.abs(X).max())
    counts = rng.integers(0, 5, size=(t, 2)).astype(np.float64)
    theta = far * rng.normal(size=d) / np.sqrt(ridge)
    steps = minimise(X, counts, ridge, theta)
    assert steps < 100
    # beyond the tolerance, the gradient's own rounding: ε times its largest terms, over the least curvature
    assert decrement(X, counts, ridge, theta) <= 1e-10 + 1e-15 * length * counts.sum()


@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_counts_stand_for_repeated_rows(ridge: float) -> None:
    X = make_rows("random", 6, 3, seed=0)
    counts = np.array([[3, 1], [0, 2], [1, 1], [4, 0], [0, 0], [2, 5]], dtype=np.float64)
    together, apart = np.zeros(3), np.zeros(3)
    minimise(X, counts, ridge, together)
    rows = [(x, label) for x, pair in zip(X, counts, strict=True) for label in (0, 1) for _ in range(int(pair[label]))]
    ones = np.eye(2)[[label for _, label in rows]]
    minimise(np.array([x for x, _ in rows]), ones, ridge, apart)
    assert_allclose(together, apart, atol=1e-12)  # both end within a decrement of 1e-10, and really far below it
