"""`fit` is a batch call: the order of its rows means nothing, and it is as good as batch estimators."""

import importlib
from typing import Any

import numpy as np
import pytest
from face_streams import stream
from numpy.testing import assert_array_equal
from scipy import sparse

from aioli import AIOLI, Auto
from aioli.learners.batch.any_order import plan_for
from aioli.sklearn import AIOLIClassifier

datasets: Any = importlib.import_module("sklearn.datasets")
linear_model: Any = importlib.import_module("sklearn.linear_model")
model_selection: Any = importlib.import_module("sklearn.model_selection")
pipeline: Any = importlib.import_module("sklearn.pipeline")
preprocessing: Any = importlib.import_module("sklearn.preprocessing")


@pytest.mark.parametrize("learner", [None, AIOLI()])
def test_any_order_of_the_rows_gives_the_same_model_bit_for_bit(learner: Any) -> None:
    X, y = stream()
    X[np.abs(X) < 0.4] = 0.0
    X[60:] = X[:60]  # rows that come twice, with other labels and other weights
    weights = 1.0 + np.arange(len(y)) % 3
    expected = AIOLIClassifier(learner).fit(X, y, weights).predict_proba(X)
    for order in (np.argsort(y, kind="stable"), np.argsort(X[:, 0]), np.arange(len(y))[::-1]):
        shuffled = AIOLIClassifier(learner).fit(X[order], y[order], weights[order])
        assert_array_equal(shuffled.predict_proba(X), expected)
        entries = AIOLIClassifier(learner).fit(sparse.csr_array(X[order]), y[order], weights[order])
        assert_array_equal(entries.predict_proba(X), expected)


def test_rows_that_come_in_groups_or_sorted_by_label_are_learned_as_well_as_by_a_batch_estimator() -> None:
    X, progress = datasets.load_diabetes(return_X_y=True)
    y = (progress > np.median(progress)).astype(int)
    order = np.argsort(y, kind="stable")
    groups = np.argsort(np.argsort(X[:, 8])) * 30 // len(y)  # a group is a range of a column
    scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    folds = [
        list(model_selection.StratifiedKFold(3).split(X[order], y[order])),
        list(model_selection.GroupKFold(3).split(X[order], y[order], groups[order])),
    ]
    for split in folds:
        ours, theirs = (
            -model_selection.cross_val_score(model, X[order], y[order], cv=split, scoring="neg_log_loss").mean()
            for model in (AIOLIClassifier(), scaled)
        )
        assert ours <= 1.02 * theirs


def test_several_orders_are_averaged_and_all_of_them_go_on() -> None:
    X, y = stream()
    model = AIOLIClassifier(orders=3, passes=2, batch_models=False).fit(X[:80], y[:80])
    assert [learner.rounds for learner in model.learners_] == [160] * 3
    assert model.learner_ is model.learners_[0]
    p = np.mean([learner.predict_many(X) for learner in model.learners_], axis=0)
    assert_array_equal(model.predict_proba(X)[:, 1], p)
    assert np.ptp([learner.predict(X[0]) for learner in model.learners_]) > 1e-4
    model.partial_fit(X[80:], y[80:])
    assert [learner.rounds for learner in model.learners_] == [200] * 3


def test_a_chosen_learner_is_taught_one_order_and_auto_several_where_rows_are_few() -> None:
    assert plan_for(AIOLI(), (500, 20)) == (1, 1)
    assert plan_for(Auto(), (500, 20)) == (4, 1)
    assert plan_for(Auto(), (10_000, 20)) == (2, 1)
    assert plan_for(Auto(), (50_000, 20)) == (1, 1)
    assert plan_for(Auto(), (10_000, 20), orders=1, passes=5) == (1, 5)
    X, y = stream()
    for name, model in {"orders": AIOLIClassifier(orders=0), "passes": AIOLIClassifier(passes=0)}.items():
        with pytest.raises(ValueError, match=f"{name} is 0"):
            model.fit(X, y)
