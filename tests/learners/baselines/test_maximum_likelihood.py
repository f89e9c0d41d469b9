"""Regularised maximum likelihood against SciPy and scikit-learn."""

import importlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from support import KINDS, make_labels, make_rows

from aioli.learners.baselines.maximum_likelihood import MaximumLikelihood
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many


@pytest.mark.parametrize("ridge", [1e-4, 0.01, 1.0])
def test_coefficients_are_those_of_scipy(ridge: float) -> None:
    X = make_rows("random", 80, 4, seed=0)
    y = make_labels(X, seed=0)

    def objective(theta: Vector) -> float:
        return float(softplus_many(np.where(y > 0.5, -1.0, 1.0) * (X @ theta)).mean() + 0.5 * ridge * theta @ theta)

    def gradient(theta: Vector) -> Vector:
        return np.asarray(X.T @ (sigmoid_many(X @ theta) - y) / len(y) + ridge * theta)

    found = minimize(objective, np.zeros(4), jac=gradient, method="BFGS", options={"gtol": 1e-10})
    model = MaximumLikelihood(ridge, intercept=False).fit(X, y)
    assert_allclose(model.coefficients_, found.x, atol=1e-6)  # SciPy stops at a gradient of 1e-8 or so, and λ is 1e-4
    assert np.abs(gradient(model.coefficients_)).max() < 1e-12


def test_coefficients_are_those_of_scikit_learn() -> None:
    X = make_rows("random", 300, 5, seed=1)
    y = make_labels(X, seed=1)
    ridge = 0.05
    sklearn = importlib.import_module("sklearn.linear_model")
    theirs = sklearn.LogisticRegression(
        C=1.0 / (ridge * len(X)), fit_intercept=False, tol=1e-12, solver="newton-cholesky"
    )
    theirs.fit(X, y)
    ours = MaximumLikelihood(ridge, intercept=False).fit(X, y)
    assert_allclose(ours.coefficients_, theirs.coef_[0], atol=1e-9)
    assert_allclose(ours.predict_many(X), theirs.predict_proba(X)[:, 1], atol=1e-9)


@given(st.sampled_from(KINDS), st.integers(1, 60), st.integers(1, 5), st.integers(0, 10**6))
def test_the_gradient_vanishes_on_any_rows(kind: str, n: int, d: int, seed: int) -> None:
    X = make_rows(kind, n, d, seed)
    y = make_labels(X, seed)
    model = MaximumLikelihood().fit(X, y)
    Z = np.c_[np.ones(n), X]
    gradient = Z.T @ (sigmoid_many(Z @ model.coefficients_) - y) / n + model.ridge_ * model.coefficients_
    # Newton's decrement, in units of the whole loss, is below 1e-10, and no curvature is above R²/4 + λ ≤ R²
    assert np.abs(gradient).max() <= 1e-9 * np.linalg.norm(Z, axis=1).max()


def test_without_a_ridge_given_it_is_twice_the_squared_length_of_the_longest_row_over_n_plus_one() -> None:
    X = np.array([[3.0, 4.0], [0.0, 1.0], [1.0, 1.0]])
    assert_allclose(MaximumLikelihood(intercept=False).fit(X, [1, 0, 1]).ridge_, 50.0 / 4.0)
    assert_allclose(MaximumLikelihood(intercept=True).fit(X, [1, 0, 1]).ridge_, 52.0 / 4.0)
    nothing = MaximumLikelihood(intercept=False).fit(np.zeros((3, 2)), [1, 0, 1])
    assert_allclose(nothing.ridge_, 0.5)
    assert nothing.predict([1.0, 1.0]) == 0.5


def test_separable_rows_have_a_finite_answer() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = MaximumLikelihood(1e-6, intercept=False).fit(X, [0, 0, 1, 1])
    assert 5.0 < model.coefficients_[0] < 20.0
    assert model.predict([1.0]) > 0.99


def test_one_query_is_many_queries() -> None:
    X = make_rows("random", 50, 3, seed=2)
    model = MaximumLikelihood().fit(X, make_labels(X, seed=2))
    assert_allclose(model.predict_many(X), [model.predict(x) for x in X], rtol=1e-14)


def test_fitting_again_forgets() -> None:
    X = make_rows("random", 60, 3, seed=3)
    y = make_labels(X, seed=3)
    again = MaximumLikelihood().fit(X, y).fit(X[:20, :2], y[:20])
    assert np.array_equal(again.coefficients_, MaximumLikelihood().fit(X[:20, :2], y[:20]).coefficients_)
    assert again.n_features_ == 2


def test_before_fit_there_is_nothing_to_predict_with() -> None:
    model = MaximumLikelihood()
    for predict in (model.predict, model.predict_many):
        with pytest.raises(ValueError, match=r"MaximumLikelihood has not seen any rows yet; call fit\(X, y\) before"):
            predict([[1.0, 2.0]])
    assert model.n_features_ is None
    assert math.isnan(model.ridge_)
    assert model.coefficients_.size == 0


@pytest.mark.parametrize("ridge", [0.0, -1.0, math.inf, math.nan, "1"])
def test_a_ridge_that_cannot_be_is_refused(ridge: Any) -> None:
    with pytest.raises(ValueError, match=r"ridge is .*; it must be a finite number above 0"):
        MaximumLikelihood(ridge)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, math.nan], [0.0, 1.0]], [0, 1], "row 0: column 1 is nan"),
        ([[1.0, 1.0], [0.0, 1.0]], [0, 2], "row 1: the label is"),
        ([[1.0, 1.0], [0.0, 1.0]], [0, 1, 1], "2 rows came with labels of shape"),
        ([[1e120, 1.0], [0.0, 1.0]], [0, 1], "row 0: column 0 is 1e\\+120"),
        (np.empty((0, 2)), [], "an empty matrix"),
    ],
)
def test_refused_rows_leave_the_model_as_it_was(X: object, y: object, message: str) -> None:
    model = MaximumLikelihood().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    before = model.coefficients_.copy()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match="the row has 3 columns; this learner knows 2"):
        model.predict([1.0, 2.0, 3.0])
    assert np.array_equal(model.coefficients_, before)
