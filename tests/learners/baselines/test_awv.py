"""The forecaster of Azoury, Vovk and Warmuth against the normal equations, and its regret against its bound."""

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
from support import KINDS, make_labels, make_rows

from aioli.learners.baselines.awv import AWV
from aioli.numerics.compiling import Matrix, Vector


def forecasts(X: Matrix, signs: Vector, ridge: float) -> Vector:
    """ŷ of every row, from the normal equations, each solved afresh with its own row in the matrix."""
    said = []
    for t in range(len(X)):
        A = ridge * np.eye(X.shape[1]) + X[: t + 1].T @ X[: t + 1]
        said.append(float(X[t] @ np.linalg.solve(A, X[:t].T @ signs[:t])))
    return np.array(said)


@pytest.mark.parametrize("kind", ["random", "collinear", "repeated", "sparse"])
@pytest.mark.parametrize("ridge", [0.01, 3.0])
def test_it_is_the_ridge_forecast_with_the_present_row_in_the_matrix(kind: str, ridge: float) -> None:
    X = make_rows(kind, 60, 3, seed=10)
    y = make_labels(X, seed=10)
    learner = AWV(ridge, intercept=False)
    expected = forecasts(X, 2.0 * y - 1.0, ridge)
    p = learner.learn_many(X, y)
    assert_allclose(2.0 * p - 1.0, np.clip(expected, -0.999, 0.999), atol=1e-10)
    assert_allclose(learner.square_loss, ((2.0 * y - 1.0 - expected) ** 2).sum(), rtol=1e-10)


def test_a_forecast_beyond_the_labels_is_cut_before_it_is_a_probability() -> None:
    learner = AWV(ridge=1e-6, intercept=False)
    learner.learn_many([[1.0]] * 10, [1] * 10)
    assert_allclose(learner.predict([3.0]), 0.9995, rtol=1e-12)
    assert_allclose(learner.predict([-3.0]), 0.0005, rtol=1e-12)
    loss, square_loss = learner.loss, learner.square_loss
    learner.learn([3.0], 0)
    assert_allclose(learner.loss - loss, -math.log(0.0005), rtol=1e-9)
    forecast = 3.0 * 10.0 / (1e-6 + 10.0 + 9.0)
    assert_allclose(learner.square_loss - square_loss, (forecast + 1.0) ** 2, rtol=1e-9)


@given(
    st.sampled_from(KINDS),
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([1e-3, 1.0, 30.0]),
    st.sampled_from([0.2, 3.0]),
)
def test_square_regret_is_at_most_the_bound(
    kind: str, n: int, d: int, seed: int, adversarial: bool, ridge: float, R: float
) -> None:
    X = rows_within(R, kind, n, d, seed)
    learner = AWV(ridge, intercept=False)
    y = play(learner, X, make_labels(X, seed), adversarial)
    signs = 2.0 * y - 1.0
    # the θ of the smallest sum of square losses and λ‖θ‖² is the one for which the bound is hardest to keep
    theta = np.linalg.solve(ridge * np.eye(d) + X.T @ X, X.T @ signs)
    norm = max(float(np.linalg.norm(theta)), 1e-12)
    regret = learner.square_loss - float(((signs - X @ theta) ** 2).sum())
    assert regret <= learner.square_regret_bound(norm) + 1e-9  # rounding in sums of up to a hundred


def test_the_bound_is_nearly_reached_by_rows_that_each_bring_a_new_direction() -> None:
    X = np.tile(np.eye(4), (50, 1))
    learner = AWV(intercept=False)
    y = play(learner, X, np.ones(200), adversarial=True)
    theta = np.linalg.solve(np.eye(4) + X.T @ X, X.T @ (2.0 * y - 1.0))
    regret = learner.square_loss - float(((2.0 * y - 1.0 - X @ theta) ** 2).sum()) - float(theta @ theta)
    bound = learner.square_regret_bound(1.0) - 1.0
    assert_allclose(bound, 4 * math.log(51.0))
    assert 0.5 * bound < regret < bound


def test_parameters_are_shown_and_must_be_positive() -> None:
    assert_parameter_must_be_positive(AWV, "ridge")
    assert repr(AWV(0.5)) == "AWV(ridge=0.5, intercept=True)"
    assert AWV().square_regret_bound(3.0) == 0.0
    with pytest.raises(ValueError, match="radius is -1"):
        AWV().square_regret_bound(-1.0)
