"""Methods tuned in hindsight: the compiled loops are their formulas, and the grid is searched to its best."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid
from benchmarks import tuned
from benchmarks.scores import log_loss

ROWS = 60


def made(rng: np.random.Generator, rows: int = ROWS) -> tuple[Matrix, Vector]:
    X = rng.normal(size=(rows, 3)) * np.array([0.1, 1.0, 30.0]) + 2.0
    y: Vector = (X[:, 1] - 2.0 + rng.logistic(size=rows) > 0.0).astype(np.float64)
    return X, y


def descend(Z: Matrix, y: Vector, step: Callable[[int], float]) -> Vector:
    w, p = np.zeros(Z.shape[1]), np.zeros(len(y))
    for t, x in enumerate(Z):
        p[t] = sigmoid(float(w @ x))
        w += step(t + 1) * (y[t] - p[t]) * x
    return p


def adapt(Z: Matrix, y: Vector, step: float) -> Vector:
    w, G, p = np.zeros(Z.shape[1]), np.zeros(Z.shape[1]), np.zeros(len(y))
    for t, x in enumerate(Z):
        p[t] = sigmoid(float(w @ x))
        g = (p[t] - y[t]) * x
        G += g**2
        w -= step * np.divide(g, np.sqrt(G), out=np.zeros_like(g), where=G > 0.0)
    return p


def filter_by_inverting(Z: Matrix, y: Vector, variance: float) -> Vector:
    A, w, p = np.eye(Z.shape[1]) / variance, np.zeros(Z.shape[1]), np.zeros(len(y))
    for t, x in enumerate(Z):
        p[t] = sigmoid(float(w @ x))
        A += p[t] * (1.0 - p[t]) * np.outer(x, x)
        w += np.linalg.solve(A, x) * (y[t] - p[t])
    return p


@pytest.mark.parametrize("step", [0.01, 1.0])
def test_the_compiled_methods_are_their_formulas(step: float, rng: np.random.Generator) -> None:
    X, y = made(rng, rows=50)
    Z = tuned.with_intercept(tuned.standardised(X))
    rtol = 1e-11  # 50 rows of sums of 4 terms in another order, and by rank-one steps instead of solves
    assert_allclose(tuned.play_sgd(Z, y, step), descend(Z, y, lambda _: step), rtol=rtol)
    assert_allclose(tuned.play_sgd_sqrt(Z, y, step), descend(Z, y, lambda t: step / math.sqrt(t)), rtol=rtol)
    assert_allclose(tuned.play_adagrad(Z, y, step), adapt(Z, y, step), rtol=rtol)
    assert_allclose(tuned.play_ekf(Z, y, step), filter_by_inverting(Z, y, step), rtol=rtol)


def test_the_scalings_use_the_rows_so_far_and_the_row_itself(rng: np.random.Generator) -> None:
    X, _ = made(rng)
    X[:, 0] = 0.0
    for t in (1, 2, 30, ROWS):
        past = X[:t]
        spread = past.std(axis=0)
        centred = np.divide(X[t - 1] - past.mean(axis=0), spread, out=np.zeros(3), where=spread > 0.0)
        rms, top = np.sqrt((past**2).mean(axis=0)), np.abs(past).max(axis=0)
        # NumPy's two passes against a running sum: t roundings of a few ulp of the mean over the spread
        assert_allclose(tuned.standardised(X)[t - 1], centred, rtol=1e-11, atol=1e-11)
        assert_allclose(tuned.divided_by_rms(X)[t - 1, 1:], (X[t - 1] / np.where(rms, rms, 1.0))[1:], rtol=1e-12)
        assert_allclose(tuned.divided_by_maximum(X)[t - 1, 1:], (X[t - 1] / np.where(top, top, 1.0))[1:], rtol=1e-15)
    assert not tuned.divided_by_rms(X)[:, 0].any()


def test_tuned_is_the_best_of_the_grid(rng: np.random.Generator) -> None:
    X, y = made(rng)
    best, note = tuned.best_in_hindsight(tuned.play_sgd, "step", X, y)
    losses = {
        f"step {step:.3g}, {name}": log_loss(tuned.play_sgd(tuned.with_intercept(scale(X)), y, float(step)), y)
        for name, scale in tuned.SCALINGS.items()
        for step in tuned.STEPS["step"]
    }
    assert len(losses) == 39
    assert log_loss(best, y) == min(losses.values()) == losses[note]
