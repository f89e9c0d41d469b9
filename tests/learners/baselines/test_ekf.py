"""The extended Kalman filter against the textbook's and AIOLI's formulas."""

import math

import numpy as np
import pytest
from baseline_games import (
    assert_parameter_must_be_positive,
)
from numpy.testing import assert_allclose
from support import game, make_labels, make_rows

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.baselines.ekf import EKF
from aioli.states.dense.numpy_reference import play_rows
from aioli.states.dense.state import State


@pytest.mark.parametrize("kind", ["random", "collinear", "repeated", "sparse"])
@pytest.mark.parametrize("ridge", [0.01, 3.0])
def test_it_is_the_kalman_filter_of_the_linearised_model(kind: str, ridge: float) -> None:
    X = make_rows(kind, 80, 3, seed=11)
    y = make_labels(X, seed=11)
    learner = EKF(ridge, intercept=False)
    mean, covariance = np.zeros(3), np.eye(3) / (2.0 * ridge)
    for x, label in zip(X, y, strict=True):
        p = 1.0 / (1.0 + math.exp(-mean @ x))
        assert_allclose(learner.learn(x, label), p, rtol=1e-8)
        noise = p * (1.0 - p)  # the label's variance, which is also the slope of its expectation
        gain = covariance @ x * noise / (noise**2 * (x @ covariance @ x) + noise)
        mean = mean + gain * (label - p)
        covariance = covariance - np.outer(gain, noise * covariance @ x)


def test_it_is_aiolis_round_without_hedge_and_with_the_whole_curvature() -> None:
    X = make_rows("random", 100, 3, seed=12)
    y = make_labels(X, seed=12)
    z = np.full(100, math.nan)
    play_rows(State(game(ridge=0.1, regulariser=0.0, curvature="full"), 3), X, y, np.ones(100), z)
    assert_allclose(EKF(ridge=0.1, intercept=False).learn_many(X, y), 1.0 / (1.0 + np.exp(-z)), rtol=1e-10)


def test_it_is_nearly_the_best_where_the_model_is_right() -> None:
    rng = np.random.default_rng(13)
    X = rng.normal(size=(2000, 3))
    y = (X @ [1.0, -1.0, 0.5] + rng.logistic(size=2000) > 0).astype(float)
    learner = EKF(ridge=0.5, intercept=False)
    learner.learn_many(X, y)
    regret = learner.loss - best_in_ball(X, y, 10.0, intercept=False).loss
    assert regret < 1.5 * 3 / 2 * math.log(2000)  # (d/2) log n is what no method can be much below


def test_rows_at_the_edge_of_its_reach_keep_it_finite() -> None:
    learner = EKF(ridge=1e-4, intercept=False)
    X = make_rows("collinear", 50, 3, seed=14)
    X *= 0.99e6 / np.linalg.norm(X, axis=1).max()
    for x in X:
        assert 0.0 <= learner.learn(x, float(learner.predict(x) <= 0.5)) <= 1.0
    with pytest.raises(ValueError, match="longer than 1e\\+06"):
        learner.learn([1.1e6, 0.0, 0.0], 1)


def test_parameters_are_shown_and_must_be_positive() -> None:
    assert_parameter_must_be_positive(EKF, "ridge")
    assert repr(EKF(0.5)) == "EKF(ridge=0.5, intercept=True)"
