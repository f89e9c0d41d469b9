"""Models of a batch at once: maximum likelihood, classes of normally distributed rows, and their shares."""

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
from face_streams import stream
from numpy.testing import assert_allclose, assert_array_equal

from aioli import AIOLI
from aioli.learners.batch.batch_models import BatchModels, is_affordable
from aioli.learners.batch.gaussian_classes import MEAN_ROWS, PRIOR_ROWS, GaussianClasses, _log_posterior, _models
from aioli.learners.batch.left_out import spread_over_folds
from aioli.learners.batch.linear_models import STRENGTHS, LinearModels
from aioli.numerics.helmert import helmert
from aioli.sklearn import AIOLIClassifier

datasets: Any = importlib.import_module("sklearn.datasets")
linear_model: Any = importlib.import_module("sklearn.linear_model")
pipeline: Any = importlib.import_module("sklearn.pipeline")
preprocessing: Any = importlib.import_module("sklearn.preprocessing")
stats: Any = importlib.import_module("scipy.stats")


@pytest.mark.parametrize("classes", [2, 3])
def test_each_strength_is_scikit_learns_model_of_that_strength(classes: int) -> None:
    X, y = datasets.load_iris(return_X_y=True)
    y = np.minimum(y, classes - 1)
    weights = np.tile([1.0, 2.0], len(y) // 2)
    part, left_out = LinearModels.fitted(X, y, classes, weights, spread_over_folds(y))
    Z = part.columns.standardised(X)
    for V, strength in zip(part.coefficients, part.strengths, strict=True):
        # two contrasts of two classes have half the penalty of their difference
        model = linear_model.LogisticRegression(C=strength * (2 if classes == 2 else 1), tol=1e-10, max_iter=10_000)
        expected = model.fit(Z, y, weights).predict_log_proba(Z)
        logits = np.column_stack([np.ones(len(Z)), Z]) @ V @ helmert(classes).T
        found = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
        assert_allclose(found, expected, atol=0.02)  # scikit-learn's solver stops at gradients, ours at the minimum
    assert_allclose(part.shares.sum(), 1.0)
    assert ((left_out > 0.0) & (left_out <= 1.0)).all()
    assert_allclose(np.exp(part.log_probabilities(X)).sum(axis=1), 1.0)


def test_shares_are_of_those_whom_rows_left_out_speak_for() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    models = [BatchModels.fitted(X, y, 3, None, np.full(len(y), said)) for said in (0.01, 0.9, 0.999999)]
    learners = [model.shares[0] for model in models]
    assert learners[0] < 1e-3
    assert learners[2] > 0.999
    assert learners[0] < learners[1] < learners[2]
    assert_allclose([model.shares.sum() for model in models], 1.0)
    # of two families, the one that the law of the rows is of has nearly all
    rng = np.random.default_rng(0)
    wide = np.concatenate([rng.normal(size=(60, 2)), 4.0 * rng.normal(size=(60, 2))])
    spread = BatchModels.fitted(wide, np.repeat([0, 1], 60), 2, None, np.full(120, 0.5)).shares
    assert spread[2] > 0.95


def test_a_class_is_students_distribution_of_its_rows() -> None:
    rng = np.random.default_rng(1)
    Z, codes = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)), np.repeat([0, 1, 2], [10, 12, 18])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    common, own = (_models(Z, codes, 3, np.ones(40))[PRIOR_ROWS.index(prior)] for prior in (np.inf, 1.0))
    for k in range(3):
        rows = Z[codes == k]
        n, d = rows.shape
        root = np.linalg.inv(common[k].whitening)
        sigma = root @ root.T * (40 - 3 - d + 1) / (40 - 3) / (1.0 + 1.0 / (n + MEAN_ROWS))
        scatter = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
        f = n + 1  # n + d rows, in d columns
        scale = (1.0 + 1.0 / (n + MEAN_ROWS)) * (scatter + d * sigma) / f
        law = stats.multivariate_t(rows.mean(axis=0) * n / (n + MEAN_ROWS), scale, f)
        assert_allclose(own[k].log_density(Z) - 0.5 * d * np.log(np.pi), law.logpdf(Z), rtol=1e-10)


def test_classes_of_one_row_or_of_constant_columns_are_fitted_too() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(30, 2)), np.ones(30), np.repeat([0.0, 1.0, 2.0], [1, 9, 20])])
    y = np.repeat([0, 1, 2], [1, 9, 20])
    part, left_out = GaussianClasses.fitted(X, y, 3, np.full(30, 0.1), spread_over_folds(y))
    assert ((left_out > 0.0) & (left_out <= 1.0)).all()
    P = np.exp(part.log_probabilities(X))
    assert_allclose(P.sum(axis=1), 1.0)
    assert np.isfinite(_log_posterior(part.models[0], X)).all()


def test_columns_that_repeat_each_other_are_fitted_at_any_weight() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    twice, y = np.column_stack([X, X]), (X[:, 0] > 0.3).astype(np.int64)
    for weight in (1e-3, 1.0, 1e6, 1e9):
        part, left_out = GaussianClasses.fitted(twice, y, 2, np.full(200, weight), spread_over_folds(y))
        assert ((left_out > 0.0) & (left_out <= 1.0)).all()
        assert np.isfinite(part.log_probabilities(twice)).all()


def test_a_row_far_from_all_others_has_probabilities() -> None:
    X, y = stream()
    model = AIOLIClassifier(orders=1).fit(X[:80] * 1e-160, y[:80])
    P = model.predict_proba(np.full((1, X.shape[1]), 1e140))
    assert_allclose(P.sum(), 1.0)


def test_what_is_said_is_the_mean_by_shares_until_the_stream_goes_on() -> None:
    X, y = stream()
    model = AIOLIClassifier(orders=1).fit(X[:80], y[:80])
    part = model.batch_models_
    assert part is not None
    assert part.shares[0] > 0.0
    assert part.shares[1:].max() > 0.0
    assert set(part.linear.strengths) <= set(STRENGTHS)
    said = [
        model.learner_.predict_many(X),
        *(np.exp(f.log_probabilities(X)[:, 1]) for f in (part.linear, part.gaussian)),
    ]
    expected = part.shares @ said
    assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    assert_allclose(np.exp(model.predict_log_proba(X)[:, 1]), expected, rtol=1e-12)
    assert_allclose(model.decision_function(X), np.log(expected) - np.log1p(-expected), atol=1e-9)
    assert_array_equal(model.predict(X), model.classes_[(model.predict_proba(X)[:, 1] > 0.5).astype(int)])
    model.partial_fit(X[80:], y[80:])
    assert model.batch_models_ is None
    assert_array_equal(model.predict_proba(X)[:, 1], model.learner_.predict_many(X))


def test_who_asks_for_it_has_it_with_any_learner_and_large_batches_have_none() -> None:
    X, y = stream()
    assert AIOLIClassifier(AIOLI()).fit(X, y).batch_models_ is None
    assert AIOLIClassifier(AIOLI(), batch_models=True).fit(X, y).batch_models_ is not None
    assert AIOLIClassifier(batch_models=False).fit(X, y).batch_models_ is None
    assert not is_affordable(9, 3, 2)
    assert not is_affordable(10_000, 100, 2)


def test_few_rows_are_told_apart_as_well_as_by_cross_validated_maximum_likelihood() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    held = np.arange(len(y)) % 5 == 0
    losses = []
    scaled = pipeline.make_pipeline(
        preprocessing.StandardScaler(), linear_model.LogisticRegressionCV(scoring="neg_log_loss", max_iter=1000)
    )
    for model in (AIOLIClassifier(orders=2), AIOLIClassifier(orders=2, batch_models=False), scaled):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of how to ask for no L1 penalty: versions differ
            model.fit(X[~held], y[~held])
        losses.append(-model.predict_log_proba(X[held])[np.arange(held.sum()), y[held]].mean())
    assert losses[0] < 0.9 * losses[1]
    assert losses[0] < 1.02 * losses[2]
