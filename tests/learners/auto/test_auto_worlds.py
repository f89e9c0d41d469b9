"""Auto in worlds that bend, that turn around, and whose columns have long tails."""

import numpy as np
from auto_memory import ensemble_of

from aioli import AIOLI, Auto


def test_it_bends_where_a_linear_model_cannot() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (np.hypot(*X.T) < 1.2).astype(float)
    learner, linear = Auto(), AIOLI()
    learner.learn_many(X, y)
    linear.learn_many(X, y)
    assert learner.loss < 0.3 * linear.loss


def test_it_follows_a_world_that_turns_around_again_and_again() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    theta = np.where(np.arange(6000)[:, None] // 600 % 2, 1.0, -1.0) * [2.0, -2.0, 1.0]
    y = (np.sum(X * theta, axis=1) + rng.logistic(size=6000) > 0).astype(float)
    learner, static = Auto(), AIOLI()
    learner.learn_many(X, y)
    static.learn_many(X, y)
    assert learner.loss < 0.75 * static.loss


def test_it_follows_a_bent_world_that_turns_around() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    inside = (np.hypot(*X.T) < 1.2).astype(float)
    y = np.where(np.arange(6000) // 1500 % 2, 1.0 - inside, inside)
    usual, fast = Auto(), Auto(budget="fast")
    usual.learn_many(X, y)
    fast.learn_many(X, y)
    assert usual.loss < 0.75 * fast.loss


def test_bold_rows_come_as_often_as_announced_where_columns_have_long_tails() -> None:
    deviations = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.exp(1.5 * rng.normal(size=(10_000, 4)))
        z = -2.5 + 0.8 * np.tanh(np.log(X[:, 0])) + 0.45 * np.log(X[:, 1]) + 0.6 * (X[:, 2] > 3.0)
        y = (z + rng.logistic(size=len(X)) > 0.0).astype(float)
        p = Auto().learn_many(X, y)
        bold = p > 0.4
        assert bold.sum() > 10
        deviations.append((p - y)[bold].sum() / np.sqrt((p * (1.0 - p))[bold].sum()))
    assert np.mean(deviations) < 2.5  # a world alone may be a deviation off by chance


def test_any_shape_of_a_column_is_learned() -> None:
    rng = np.random.default_rng(0)
    X = np.exp(2.0 * rng.normal(size=(3000, 3)))
    shape = np.sin(1.5 * np.log(X[:, 0])) * 3.0 + np.where(X[:, 1] > 1.0, 2.0, -2.0)
    y = (shape + rng.logistic(size=3000) > 0).astype(float)
    usual, fast = Auto(), Auto(budget="fast")
    usual.learn_many(X, y)
    fast.learn_many(X, y)
    assert usual.loss < 0.85 * fast.loss
    shares = ensemble_of(usual).weights_
    assert max(shares, key=lambda name: shares[name]) == "online Bayes on the ramp view, λ = 0.1"
