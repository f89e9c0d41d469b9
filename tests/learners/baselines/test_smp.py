"""SMP against its definition, minimised by SciPy, and against the promise that it was made for."""

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
from aioli.learners.baselines.smp import SMP
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many


def prediction_by_definition(X: Matrix, y: Vector, x: Vector, ridge: float) -> float:
    """Two fits by SciPy, then σ(±θ_yᵀx)·exp(-λ‖θ_y‖²/2), normalised."""
    Z = np.vstack([X, x])
    scores = []
    for label in (0.0, 1.0):
        sign = np.where(np.append(y, label) > 0.5, 1.0, -1.0)

        def objective(theta: Vector, sign: Vector = sign) -> float:
            return float(softplus_many(-sign * (Z @ theta)).mean() + 0.5 * ridge * theta @ theta)

        def gradient(theta: Vector, sign: Vector = sign) -> Vector:
            return np.asarray(-(sign * sigmoid_many(-sign * (Z @ theta))) @ Z / len(Z) + ridge * theta)

        theta = minimize(objective, np.zeros(x.size), jac=gradient, method="BFGS", options={"gtol": 1e-10}).x
        scores.append(float(sigmoid_many(sign[-1] * float(theta @ x))) * math.exp(-0.5 * ridge * float(theta @ theta)))
    return scores[1] / (scores[0] + scores[1])


@pytest.mark.parametrize("ridge", [0.003, 0.1, 2.0])
@pytest.mark.parametrize("n", [1, 5, 60])
def test_predictions_are_those_of_the_definition(n: int, ridge: float) -> None:
    X = make_rows("random", n, 3, seed=n)
    y = make_labels(X, seed=n)
    model = SMP(ridge, intercept=False).fit(X, y)
    for x in (*make_rows("random", 3, 3, seed=99), 20.0 * X[0], np.zeros(3)):
        assert_allclose(model.predict(x), prediction_by_definition(X, y, x, ridge), atol=1e-7)  # SciPy's precision


def test_the_row_that_asks_is_weighed_by_the_norm_as_well() -> None:
    """Without exp(-λ‖θ‖²/2) the answer would differ by far more than the precision above."""
    X, y, x, ridge = np.array([[1.0], [2.0]]), np.array([1.0, 1.0]), np.array([4.0]), 0.1
    with_norm = SMP(ridge, intercept=False).fit(X, y).predict(x)
    assert_allclose(with_norm, prediction_by_definition(X, y, x, ridge), atol=1e-7)
    thetas = [
        MaximumLikelihood(ridge, intercept=False).fit(np.vstack([X, x]), [1, 1, label]).coefficients_
        for label in (0, 1)
    ]
    zero, one = (float(sigmoid_many(sign * float(theta @ x))) for theta, sign in zip(thetas, (-1.0, 1.0), strict=True))
    assert abs(with_norm - one / (zero + one)) > 0.01


@given(st.sampled_from(KINDS), st.integers(1, 40), st.integers(1, 4), st.integers(0, 10**6))
def test_probabilities_of_both_labels_add_up_on_any_rows(kind: str, n: int, d: int, seed: int) -> None:
    X = make_rows(kind, n, d, seed)
    y = make_labels(X, seed)
    model, mirror = SMP().fit(X, y), SMP().fit(X, 1.0 - y)
    queries = X[:5]
    p = model.predict_many(queries)
    assert ((p > 0.0) & (p < 1.0)).all()
    assert_allclose(p + mirror.predict_many(queries), 1.0, atol=1e-8)


def test_it_is_less_sure_than_maximum_likelihood_where_rows_are_few() -> None:
    X, y = np.array([[1.0], [1.2], [0.8]]), [1, 1, 1]
    likely, improper = MaximumLikelihood(0.01).fit(X, y), SMP(0.01).fit(X, y)
    for x in ([1.0], [30.0]):
        assert 0.5 < improper.predict(x) < likely.predict(x)
    assert likely.predict([30.0]) > 0.999999
    assert improper.predict([-30.0]) > 0.1


def test_it_is_maximum_likelihood_where_rows_are_many() -> None:
    X = make_rows("random", 4000, 2, seed=4)
    y = make_labels(X, seed=4)
    difference = SMP().fit(X, y).predict_many(X[:20]) - MaximumLikelihood().fit(X, y).predict_many(X[:20])
    assert 0.0 < np.abs(difference).max() < 5.0 / len(X) * np.linalg.norm(X[:20], axis=1).max() ** 2


def test_on_the_lower_bound_s_law_its_risk_is_below_that_of_maximum_likelihood() -> None:
    """Few rows, one in twenty of which decides: the proper estimator pays dearly for the side that it did not see."""
    rng = np.random.default_rng(0)
    risks = np.zeros(2)
    rows, chance = np.array([[1.0], [0.05]]), np.array([0.05, 0.95])
    for _ in range(20):
        first = rng.random(30) < chance[0]
        X, y = np.where(first, 1.0, 0.05)[:, None] * 20.0, first.astype(float)
        for k, model in enumerate((MaximumLikelihood(1e-4, intercept=False), SMP(1e-4, intercept=False))):
            p = model.fit(X, y).predict_many(20.0 * rows)
            risks[k] -= (chance[0] * math.log(p[0]) + chance[1] * math.log(1.0 - p[1])) / 20.0
    assert risks[1] < risks[0]


def test_one_query_is_many_queries_and_changes_nothing() -> None:
    X = make_rows("random", 40, 3, seed=5)
    model = SMP().fit(X, make_labels(X, seed=5))
    many = model.predict_many(X)
    assert np.array_equal(many, [model.predict(x) for x in X])
    assert np.array_equal(many, model.predict_many(X))


def test_a_query_too_long_for_float64_is_refused_and_the_next_one_answered() -> None:
    model = SMP(1e-3).fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    before = model.predict([1.5])
    with pytest.raises(ValueError, match=r"a ridge of 0\.001 is too small for float64 beside rows of length 1e\+30"):
        model.predict([1e30])
    assert model.predict([1.5]) == before


def test_before_fit_there_is_nothing_to_predict_with() -> None:
    with pytest.raises(ValueError, match=r"SMP has not seen any rows yet; call fit\(X, y\) before"):
        SMP().predict([1.0])


@pytest.mark.parametrize("ridge", [0.0, -1.0, math.nan, "1"])
def test_a_ridge_that_cannot_be_is_refused(ridge: Any) -> None:
    with pytest.raises(ValueError, match=r"ridge is .*; it must be a finite number above 0"):
        SMP(ridge)


@pytest.mark.parametrize(("X", "y"), [([[math.nan]], [1]), ([[1.0]], [3]), ([[1.0], [2.0]], [1])])
def test_refused_rows_leave_the_model_as_it_was(X: object, y: object) -> None:
    model = SMP().fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    before = model.predict([1.5])
    with pytest.raises(ValueError, match="nothing was learned"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="column 0 is inf"):
        model.predict([math.inf])
    assert model.predict([1.5]) == before
