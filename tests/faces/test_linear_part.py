"""The linear part of a batch: maximum likelihood with cross-validated penalties, and its share beside the learners."""

import importlib
from typing import Any

import numpy as np
import pytest
from face_streams import stream
from numpy.testing import assert_allclose, assert_array_equal

from aioli import AIOLI
from aioli.learners.batch.linear_part import STRENGTHS, LinearPart, is_affordable
from aioli.numerics.helmert import helmert
from aioli.sklearn import AIOLIClassifier

datasets: Any = importlib.import_module("sklearn.datasets")
linear_model: Any = importlib.import_module("sklearn.linear_model")


@pytest.mark.parametrize("classes", [2, 3])
def test_each_strength_is_scikit_learns_model_of_that_strength(classes: int) -> None:
    X, y = datasets.load_iris(return_X_y=True)
    y = np.minimum(y, classes - 1)
    weights = np.tile([1.0, 2.0], len(y) // 2)
    part = LinearPart.fitted(X, y, classes, weights, np.full(len(y), np.nan))
    Z = (X - part.centre) / part.scale
    for V, strength in zip(part.coefficients, part.strengths, strict=True):
        # two contrasts of two classes have half the penalty of their difference
        model = linear_model.LogisticRegression(C=strength * (2 if classes == 2 else 1), tol=1e-10, max_iter=10_000)
        expected = model.fit(Z, y, weights).predict_log_proba(Z)
        logits = np.column_stack([np.ones(len(Z)), Z]) @ V @ helmert(classes).T
        found = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
        assert_allclose(found, expected, atol=0.02)  # scikit-learn's solver stops at gradients, ours at the minimum
    assert_allclose(part.shares.sum(), 1.0)
    assert_allclose(np.exp(part.log_probabilities(X)).sum(axis=1), 1.0)


def test_its_share_is_that_of_whom_rows_left_out_speak_for() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    shares = [LinearPart.fitted(X, y, 3, None, np.full(len(y), said)).share for said in (0.01, 0.9, 0.999999)]
    assert shares[0] > 0.999
    assert shares[2] < 1e-3
    assert shares[0] > shares[1] > shares[2]


def test_what_is_said_is_the_mean_by_shares_until_the_stream_goes_on() -> None:
    X, y = stream()
    model = AIOLIClassifier(orders=1).fit(X[:80], y[:80])
    part = model.linear_
    assert part is not None
    assert 0.0 < part.share < 1.0
    assert set(part.strengths) <= set(STRENGTHS)
    alone = model.learner_.predict_many(X)
    expected = (1.0 - part.share) * alone + part.share * np.exp(part.log_probabilities(X)[:, 1])
    assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    assert_allclose(np.exp(model.predict_log_proba(X)[:, 1]), expected, rtol=1e-12)
    assert_allclose(model.decision_function(X), np.log(expected) - np.log1p(-expected), atol=1e-9)
    assert_array_equal(model.predict(X), model.classes_[(model.predict_proba(X)[:, 1] > 0.5).astype(int)])
    model.partial_fit(X[80:], y[80:])
    assert model.linear_ is None
    assert_array_equal(model.predict_proba(X)[:, 1], model.learner_.predict_many(X))


def test_who_asks_for_it_has_it_with_any_learner_and_large_batches_have_none() -> None:
    X, y = stream()
    assert AIOLIClassifier(AIOLI()).fit(X, y).linear_ is None
    assert AIOLIClassifier(AIOLI(), linear=True).fit(X, y).linear_ is not None
    assert AIOLIClassifier(linear=False).fit(X, y).linear_ is None
    assert not is_affordable(9, 3, 2)
    assert not is_affordable(10_000, 100, 2)


def test_few_rows_that_a_linear_model_tells_apart_are_told_apart() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    held = np.arange(len(y)) % 5 == 0
    losses = []
    for linear in (None, False):
        model = AIOLIClassifier(linear=linear, orders=2).fit(X[~held], y[~held])
        losses.append(-model.predict_log_proba(X[held])[np.arange(held.sum()), y[held]].mean())
    assert losses[0] < 0.95 * losses[1]
