"""The dictionary and its factor, and the state that is restricted to what is left of it."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import AIOLI
from aioli.learners.kernel.dictionary import KERNELS, Dictionary, restricted
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.curvature import tight_curvature_many
from aioli.numerics.logistic import softplus_many
from aioli.outcomes.two_classes import Tally
from aioli.states.certificate import running_certificate
from aioli.states.dense.state import State


def example(n: int, d: int = 2, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(2, size=n).astype(np.float64)


def dictionary_of(X: Matrix, kernel: str = "rbf") -> Dictionary:
    dictionary = Dictionary(X.shape[1], kernel)
    for x in X:
        f = dictionary.coordinates(x[None, :])[0]
        dictionary.add(x, f, float(1.0 - f @ f))
    return dictionary


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_coordinates_have_the_kernel_as_their_product(kernel: str) -> None:
    X, _ = example(12, d=3)
    dictionary = dictionary_of(X, kernel)
    F = dictionary.coordinates(X)
    assert_allclose(F @ F.T, KERNELS[kernel](X, X), atol=1e-10)
    assert_allclose(dictionary.redundancies(), 1.0 / np.diag(np.linalg.inv(KERNELS[kernel](X, X))), rtol=1e-6)


def test_the_next_coordinate_is_the_one_that_adding_gives() -> None:
    X, _ = example(12, d=3)
    dictionary = dictionary_of(X[:8])
    F = dictionary.coordinates(X)
    residual = float(1.0 - F[9] @ F[9])
    further = dictionary.next_coordinate(X, F, X[9], F[9], residual)
    dictionary.add(X[9], F[9], residual)
    assert_allclose(dictionary.coordinates(X), np.column_stack([F, further]), atol=1e-9)


@pytest.mark.parametrize("j", [0, 3, 7])
def test_dropping_a_point_leaves_the_factor_of_the_others(j: int) -> None:
    X, _ = example(8, d=3)
    dictionary = dictionary_of(X)
    dictionary.drop(j)
    left = np.delete(X, j, axis=0)
    assert_array_equal(dictionary.points, left)
    assert_array_equal(np.triu(dictionary.U, 1), 0.0)
    assert_allclose(dictionary.U @ KERNELS["rbf"](left, left) @ dictionary.U.T, np.eye(7), atol=1e-9)


# ---- the learner underneath, restricted


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("factored", [True, False])
@pytest.mark.parametrize("j", [0, 2, 4])
def test_a_restricted_state_is_that_of_rows_seen_so_from_the_beginning(j: int, factored: bool, intercept: bool) -> None:
    points, _ = example(5)
    X, y = example(60, seed=1)
    dictionary = dictionary_of(points)
    underneath = AIOLI(3.0, 0.2, 0.5, intercept=intercept)
    F = dictionary.coordinates(X)
    p = underneath.learn_many(F, y)
    state = underneath._state
    assert isinstance(state, State)
    if factored:
        state.factor()
    after = restricted(state, j, *dictionary.drop(j))
    seen = dictionary.coordinates(X)  # the projections of the same rows on what is left
    rows = np.column_stack([np.ones(len(X)), seen]) if intercept else seen
    z = np.log(p) - np.log1p(-p)
    # the curvature is of the row as it was played: C = B‖x‖ with its full length
    played = np.column_stack([np.ones(len(X)), F]) if intercept else F
    h = tight_curvature_many(z, 3.0 * np.linalg.norm(played, axis=1))
    A = 0.2 * np.eye(rows.shape[1]) + (rows * (0.5 * h)[:, None]).T @ rows
    b = rows.T @ (0.5 * (h * z + y - p))
    w = np.linalg.solve(A, b)
    assert_allclose(after.covariance(), np.linalg.inv(A), atol=1e-9)
    assert_allclose(after.w, w, atol=1e-9)
    losses = softplus_many(np.where(y == 1.0, -z, z))
    least = 0.2 * w @ w + np.sum(losses + (p - y) * (rows @ w - z) + 0.5 * h * (rows @ w - z) ** 2)
    assert_allclose(after.tally[Tally.REGRET], losses.sum() - least, rtol=1e-6)
    assert math.isinf(running_certificate(after).theorem)
