"""scikit-learn's face on more than two classes."""

import importlib
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import AIOLI, Auto
from aioli.numerics.compiling import Matrix

pytest.importorskip("sklearn")
AIOLIClassifier: Any = importlib.import_module("aioli.sklearn").AIOLIClassifier

datasets: Any = importlib.import_module("sklearn.datasets")
model_selection: Any = importlib.import_module("sklearn.model_selection")
metrics: Any = importlib.import_module("sklearn.metrics")
NAMES = np.array(["rose", "lily", "iris"])


def flowers(rows: int = 150) -> tuple[Matrix, Any]:
    X, y = datasets.load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:rows]
    return X[order], NAMES[y[order]]


@pytest.mark.parametrize("learner", [None, AIOLI(radius=2.0), AIOLI(classes="any")])
def test_probabilities_logarithms_and_predictions_say_the_same(learner: Any) -> None:
    X, y = flowers()
    model = AIOLIClassifier(learner).fit(X[:100], y[:100])
    P = model.predict_proba(X)
    assert model.classes_.tolist() == ["iris", "lily", "rose"]
    assert P.shape == (150, 3)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(model.predict_log_proba(X), np.log(P), rtol=1e-9, atol=1e-12)
    assert_allclose(model.decision_function(X), np.log(P), rtol=1e-9, atol=1e-12)
    assert (model.predict(X) == model.classes_[P.argmax(axis=1)]).all()
    assert metrics.log_loss(y[100:], P[100:]) < 0.35
    assert set(model.learner_.classes_) == set(NAMES)


def test_partial_fit_is_the_learner_itself_row_by_row() -> None:
    X, y = flowers(60)
    direct = AIOLI(classes=["iris", "lily", "rose"])
    model = AIOLIClassifier(AIOLI()).partial_fit(X[:1], y[:1], classes=NAMES)
    direct.learn(X[0], y[0])
    for t in range(1, len(X)):
        assert_allclose(model.predict_proba(X[t : t + 1])[0], direct.learn(X[t], y[t]), rtol=1e-9)
        model.partial_fit(X[t : t + 1], y[t : t + 1])


def test_the_order_of_the_rows_of_fit_does_not_matter() -> None:
    X, y = flowers()
    order = np.argsort(y, kind="stable")
    shuffled, in_order = AIOLIClassifier().fit(X, y), AIOLIClassifier().fit(X[order], y[order])
    assert np.array_equal(shuffled.predict_proba(X), in_order.predict_proba(X))


def test_class_weights_and_coefficients_are_by_class() -> None:
    X, y = flowers()
    plain = AIOLIClassifier(AIOLI()).fit(X, y)
    heavy = AIOLIClassifier(AIOLI(), class_weight={"lily": 10.0}).fit(X, y)
    balanced = AIOLIClassifier(AIOLI(), class_weight="balanced").fit(X, y)
    place = plain.classes_.tolist().index("lily")
    own = y == "lily"
    assert heavy.predict_proba(X)[own, place].mean() > plain.predict_proba(X)[own, place].mean() + 0.01
    assert_allclose(balanced.predict_proba(X), plain.predict_proba(X), rtol=1e-9)  # each came as often as the others
    assert plain.coef_.shape == (3, 4)
    assert plain.intercept_.shape == (3,)
    assert_allclose(plain.coef_.sum(axis=0), 0.0, atol=1e-9)


def test_a_template_that_declared_other_classes_is_refused() -> None:
    X, y = flowers()
    with pytest.raises(ValueError, match="the learner was made for the classes"):
        AIOLIClassifier(AIOLI(classes=["rose", "tulip"])).fit(X, y)
    assert AIOLIClassifier(Auto(classes=["rose", "lily", "iris"])).fit(X, y).score(X, y) > 0.9


def test_cross_validation_and_search_take_it() -> None:
    X, y = flowers()
    scores = model_selection.cross_val_score(AIOLIClassifier(AIOLI(radius=8.0)), X, y, cv=3, scoring="neg_log_loss")
    assert scores.min() > -0.5
