"""Follow the regularised leader against SciPy, and its regret against its bound."""

import math

import numpy as np
import pytest
from baseline_games import (
    assert_parameter_must_be_positive,
    play,
    rows_within,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from support import KINDS, make_labels, make_rows

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.baselines.ftrl import FTRL
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many


def leader(X: Matrix, y: Vector, ridge: float) -> Vector:
    """argmin Σℓ + λ‖θ‖² by SciPy."""

    def objective(theta: Vector) -> float:
        z = X @ theta
        return float(np.logaddexp(0.0, z).sum() - y @ z + ridge * theta @ theta)

    def gradient(theta: Vector) -> Vector:
        return np.asarray(X.T @ (sigmoid_many(X @ theta) - y) + 2.0 * ridge * theta)

    def hessian(theta: Vector) -> Matrix:
        p = sigmoid_many(X @ theta)
        return np.asarray((X * (p * (1.0 - p))[:, None]).T @ X + 2.0 * ridge * np.eye(theta.size))

    start = np.zeros(X.shape[1])
    found = minimize(objective, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-9})
    return np.asarray(found.x)


@pytest.mark.parametrize("kind", ["random", "collinear", "repeated", "sparse"])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_every_prediction_is_the_leaders(kind: str, ridge: float) -> None:
    X = make_rows(kind, 40, 3, seed=6)
    y = make_labels(X, seed=6)
    learner = FTRL(ridge, intercept=False)
    for t in range(len(X)):
        expected = leader(X[:t], y[:t], ridge) @ X[t] if t else 0.0
        assert_allclose(learner.learn(X[t], y[t]), 1.0 / (1.0 + math.exp(-expected)), atol=1e-7)  # SciPy's gtol


def test_identical_rows_are_stored_once() -> None:
    X = make_rows("repeated", 500, 3, seed=7)
    learner = FTRL(intercept=False)
    learner.learn_many(X, make_labels(X, seed=7))
    assert len(learner._places) == len(np.unique(X, axis=0)) == 3
    assert learner._counts.sum() == 500


@given(
    st.sampled_from(KINDS),
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([0.01, 1.0, 30.0]),
    st.sampled_from([0.2, 3.0]),
)
def test_regret_is_at_most_the_bound_and_that_at_most_the_theorems(
    kind: str, n: int, d: int, seed: int, adversarial: bool, ridge: float, R: float
) -> None:
    X = rows_within(R, kind, n, d, seed)
    y = make_labels(X, seed)
    learner = FTRL(ridge, intercept=False)
    farthest = 0.0
    for t, x in enumerate(X):
        y[t : t + 1] = play(learner, x[None, :], y[t : t + 1], adversarial)
        farthest = max(farthest, float(np.linalg.norm(learner._theta)))
    inverse = 2.0 + 2.0 * math.cosh(R * farthest)
    theorem = 0.5 * d * inverse * math.log1p(n * R**2 / (2.0 * d * ridge * inverse))
    for radius in (0.5, 5.0):
        bound = learner.regret_bound(radius)
        regret = learner.loss - best_in_ball(X, y, radius, intercept=False).loss
        assert regret <= bound + 1e-8  # the hindsight's own tolerance
        assert bound <= ridge * radius**2 + theorem + 1e-8


def test_the_bound_is_the_regret_where_the_best_of_the_ball_is_the_leader() -> None:
    X = make_rows("random", 100, 2, seed=8)
    learner = FTRL(ridge=0.5, intercept=False)
    assert learner.regret_bound(2.0) == 2.0  # λB²
    y = make_labels(X, seed=8)
    learner.learn_many(X, y)
    theta = leader(X, y, 0.5)
    regret = learner.loss - float(np.logaddexp(0.0, X @ theta).sum() - y @ X @ theta)
    assert_allclose(learner.regret_bound(float(np.linalg.norm(theta))), regret, rtol=1e-10)


def test_a_row_that_would_cost_the_minimum_its_digits_is_refused() -> None:
    learner = FTRL(ridge=1e-4, intercept=False)
    learner.learn([9e3], 1)
    with pytest.raises(ValueError, match="longer than 10000"):
        learner.learn([1.1e4], 1)
    assert learner.rounds == 1


def test_parameters_are_shown_and_must_be_positive() -> None:
    assert_parameter_must_be_positive(FTRL, "ridge")
    assert repr(FTRL()) == "FTRL(ridge=1.0, intercept=True)"
    with pytest.raises(ValueError, match="radius is 0"):
        FTRL().regret_bound(0)
