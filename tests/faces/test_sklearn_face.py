"""scikit-learn's face: its own checks, the learner's own probabilities, and every kind of input and label."""

import importlib
import io
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from face_streams import LABELS, LEARNERS, SAME, as_fit_plays, columns_of, probabilities_of, stream
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from thoroughness import in_full_or_quickly

from aioli import AIOLI, Auto
from aioli.learners.baselines.ogd import OGD
from aioli.numerics.logistic import sigmoid_many
from aioli.sklearn import AIOLIClassifier

base: Any = importlib.import_module("sklearn.base")
calibration: Any = importlib.import_module("sklearn.calibration")
datasets: Any = importlib.import_module("sklearn.datasets")
exceptions: Any = importlib.import_module("sklearn.exceptions")
joblib: Any = importlib.import_module("joblib")
model_selection: Any = importlib.import_module("sklearn.model_selection")
pandas: Any = importlib.import_module("pandas")
pipeline: Any = importlib.import_module("sklearn.pipeline")
polars: Any = importlib.import_module("polars")
preprocessing: Any = importlib.import_module("sklearn.preprocessing")
estimator_checks: Any = importlib.import_module("sklearn.utils.estimator_checks")

ORDER = "an online learner plays a heavy row once: to repeat it is not the same"
HEAVY = (
    "a row of weight 1000 is led to its label and no further: rows of the other class, weight 0.0001, keep their side"
)


def expected_failures(estimator: AIOLIClassifier) -> dict[str, str]:
    reasons = {f"check_sample_weight_equivalence_on_{kind}_data": ORDER for kind in ("dense", "sparse")}
    return reasons | ({"check_class_weight_classifiers": HEAVY} if isinstance(estimator.learner, AIOLI) else {})


def run_one_check(estimator: Any, check: Any) -> None:
    check(estimator)


test_scikit_learns_own_checks = estimator_checks.parametrize_with_checks(
    [AIOLIClassifier(), AIOLIClassifier(AIOLI()), AIOLIClassifier(average=in_full_or_quickly(8, 2))],
    expected_failed_checks=expected_failures,
)(run_one_check)


def test_class_weights_of_ten_do_what_the_check_asks_of_a_thousand() -> None:
    X, y = datasets.make_blobs(centers=2, random_state=0, cluster_std=20)
    train, test, labels, _ = model_selection.train_test_split(X, y, test_size=0.5, random_state=0)
    model = AIOLIClassifier(AIOLI(), class_weight={0: 10.0, 1: 1e-4}).fit(train, labels)
    assert (model.predict(test) == 0).mean() > 0.87


@pytest.mark.parametrize("name", LEARNERS)
def test_the_face_says_what_its_learner_says_row_by_row_and_at_once(name: str) -> None:
    X, y = stream()
    make = LEARNERS[name]
    announced = probabilities_of(make(), X, y)
    single = AIOLIClassifier(make()).partial_fit(X[:1], y[:1], classes=[0, 1])
    said = [0.5]
    for t in range(1, len(X)):
        said.append(single.predict_proba(X[t : t + 1])[0, 1])
        single.partial_fit(X[t : t + 1], y[t : t + 1])
    assert_allclose(said, announced, rtol=SAME)
    whole, direct = AIOLIClassifier(make(), orders=1, passes=1).fit(X, y), make()
    direct.learn_many(*as_fit_plays(X, y))
    assert_allclose(whole.predict_proba(X)[:, 1], direct.predict_many(X), rtol=SAME)
    assert whole.learner_.rounds == len(X)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", LABELS)
def test_any_two_labels_give_the_same_rows_that_sum_to_one(name: str, kind: str) -> None:
    X, y = stream()
    labels = np.array(LABELS[kind])
    model = AIOLIClassifier(LEARNERS[name]()).fit(X, labels[y.astype(int)])
    p = model.predict_proba(X)
    assert_array_equal(model.classes_, labels)
    assert_array_equal(p.sum(axis=1), 1.0)
    assert_array_equal(p, AIOLIClassifier(LEARNERS[name]()).fit(X, y).predict_proba(X))
    assert_array_equal(model.predict(X), labels[(p[:, 1] > 0.5).astype(int)])
    assert model.predict(X).dtype == labels.dtype


@pytest.mark.parametrize("learner", [AIOLI(), Auto(), OGD()])
def test_log_odds_log_probabilities_and_probabilities_agree(learner: Any) -> None:
    X, y = stream()
    model = AIOLIClassifier(learner).fit(X, y)
    z, p = model.decision_function(X), model.predict_proba(X)
    assert z.shape == (len(X),)
    assert_allclose(sigmoid_many(z), p[:, 1], rtol=1e-12)
    assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)
    assert_array_equal(model.predict(X), model.classes_[(z > 0).astype(int)])
    assert_allclose(model.decision_function(sparse.csr_array(X)), z, rtol=SAME, atol=SAME)


def test_log_odds_stay_finite_and_apart_where_the_probability_is_one() -> None:
    X = np.tile([[100.0], [-100.0]], (200, 1))
    model = AIOLIClassifier(AIOLI(radius=20.0)).fit(X, X[:, 0] > 0)
    sure = [[30.0], [50.0], [-50.0]]
    z = model.decision_function(sure)
    assert_array_equal(model.predict_proba(sure)[:2], [[0.0, 1.0]] * 2)
    assert 36.8 < z[0] < z[1] < np.inf  # beyond the log-odds of the float64 next to 1
    log_p = model.predict_log_proba(sure)
    assert_allclose(log_p[:, 0], [-z[0], -z[1], 0.0], atol=1e-16)
    assert_allclose(log_p[:, 1], [0.0, 0.0, z[2]], atol=1e-16)


def test_frames_and_sparse_rows_are_what_numpy_is() -> None:
    X, y = stream()
    X[np.abs(X) < 0.5] = 0.0
    names = columns_of(X)
    expected = AIOLIClassifier().fit(X, y).predict_proba(X)
    for given in (sparse.csr_matrix(X), sparse.csr_array(X), sparse.csc_array(X), np.asfortranarray(X), X.tolist()):
        assert_array_equal(AIOLIClassifier().fit(given, y).predict_proba(given), expected)
    for frame, labels in (
        (pandas.DataFrame(X, columns=names), pandas.Series(y)),
        (polars.DataFrame(X, schema=names), polars.Series(y)),
    ):
        model = AIOLIClassifier().fit(frame, labels)
        assert_array_equal(model.predict_proba(frame), expected)
        assert_array_equal(model.feature_names_in_, names)
        assert isinstance(model.learner_, Auto)
        assert model.learner_.feature_names_ == names
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame[names[::-1]])
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(frame[["x01", "x00", "x02", "x03"]], labels)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_pickled_copied_or_dumped_model_goes_on_equal(name: str) -> None:
    X, y = stream()
    model = AIOLIClassifier(LEARNERS[name](), class_weight={1: 2.0}).fit(X[:60], y[:60])
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(file)]
    model.partial_fit(X[60:], y[60:])
    for copied in copies:
        assert_array_equal(copied.partial_fit(X[60:], y[60:]).predict_proba(X), model.predict_proba(X))
    unfitted = base.clone(model)
    assert not hasattr(unfitted, "learner_")
    assert_array_equal(unfitted.fit(X, y).predict_proba(X), base.clone(unfitted).fit(X, y).predict_proba(X))


def test_fitting_starts_afresh_and_the_given_learner_stays_a_template() -> None:
    X, y = stream()
    template = AIOLI()
    model = AIOLIClassifier(template).fit(X, y).fit(X[:, :2], y)
    assert template.rounds == 0
    assert model.n_features_in_ == 2
    assert_array_equal(model.predict_proba(X[:, :2]), AIOLIClassifier(AIOLI()).fit(X[:, :2], y).predict_proba(X[:, :2]))
    given = {"learner": template, **dict.fromkeys(["class_weight", "average", "orders", "passes", "batch_models"])}
    assert model.get_params(deep=False) == given


def test_pipelines_searches_and_displays_take_it() -> None:
    X, y = stream(n=90)
    choices = [AIOLI(radius=1.0), AIOLI(radius=4.0)]
    search = model_selection.GridSearchCV(AIOLIClassifier(), {"learner": choices}, scoring="neg_log_loss", cv=3).fit(
        X, y
    )
    by_hand = [
        model_selection.cross_val_score(AIOLIClassifier(choice), X, y, scoring="neg_log_loss", cv=3).mean()
        for choice in choices
    ]
    assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert by_hand[0] != by_hand[1]
    assert search.best_params_["learner"] is choices[int(np.argmax(by_hand))]
    scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), AIOLIClassifier(AIOLI())).fit(X, y)
    importlib.import_module("matplotlib").use("Agg")
    display = calibration.CalibrationDisplay.from_estimator(scaled, X, y, n_bins=3)
    assert_array_equal(display.y_prob, scaled.predict_proba(X)[:, 1])
    importlib.import_module("matplotlib.pyplot").close("all")


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_weigh(name: str) -> None:
    X, y = stream()
    make = LEARNERS[name]
    n = len(y)

    def fitted(sample_weight: object = None, class_weight: Any = None, rows: Any = slice(None)) -> Any:
        model = AIOLIClassifier(make(), class_weight=class_weight, orders=1, passes=1)
        return model.fit(X[rows], y[rows], sample_weight=sample_weight).predict_proba(X)

    plain = fitted()
    assert_array_equal(fitted(np.ones(n)), plain)
    assert_array_equal(fitted(1.0), plain)
    assert np.abs(fitted(np.full(n, 2.0)) - plain).max() > 1e-3
    alternate = np.arange(n) % 2
    assert_array_equal(fitted(alternate), fitted(rows=alternate == 1))
    assert_array_equal(fitted(class_weight={1: 3.0}), fitted(np.where(y == 1, 3.0, 1.0)))
    assert_array_equal(fitted(alternate, {0: 2.0, 1: 0.5}), fitted(alternate * np.where(y == 1, 0.5, 2.0)))
    share = y.mean()
    assert_allclose(
        fitted(class_weight="balanced"), fitted(np.where(y == 1, 0.5 / share, 0.5 / (1 - share))), rtol=1e-9
    )
    assert_allclose(fitted(alternate, "balanced"), fitted(None, "balanced", alternate == 1), rtol=1e-9)
    direct = make()
    direct.learn_many(*as_fit_plays(X, y, np.where(y == 1, 3.0, 1.0)))
    assert_allclose(fitted(class_weight={1: 3.0})[:, 1], direct.predict_many(X), rtol=SAME)
    streamed = AIOLIClassifier(make()).partial_fit(X, y, classes=[0, 1])
    before = streamed.predict_proba(X)
    assert_array_equal(streamed.partial_fit(X, y, sample_weight=np.zeros(n)).predict_proba(X), before)


def test_a_first_batch_of_one_class_is_enough_when_the_classes_are_named() -> None:
    X, y = stream()
    labels = np.where(y == 1, "yes", "no")
    order = np.argsort(labels, kind="stable")
    model = AIOLIClassifier().partial_fit(X[order[:10]], labels[order[:10]], classes=["yes", "no"])
    assert_array_equal(model.classes_, ["no", "yes"])
    assert set(labels[order[:10]]) == {"no"}
    assert (model.predict(X[order[:10]]) == "no").all()
    model.partial_fit(X[order[10:]], labels[order[10:]])
    assert model.learner_.rounds == len(X)


def test_coefficients_are_those_of_a_learner_that_has_them() -> None:
    X, y = stream()
    model = AIOLIClassifier(AIOLI()).fit(X, y)
    assert isinstance(model.learner_, AIOLI)
    assert_array_equal(np.concatenate([model.intercept_, model.coef_[0]]), model.learner_.coefficients_)
    assert model.coef_.shape == (1, X.shape[1])
    without = AIOLIClassifier(AIOLI(intercept=False)).fit(X, y)
    assert_array_equal(without.intercept_, [0.0])
    assert isinstance(without.learner_, AIOLI)
    assert_array_equal(without.coef_[0], without.learner_.coefficients_)
    with pytest.raises(AttributeError, match="Auto has no one coefficient a column"):
        AIOLIClassifier().fit(X, y).coef_  # noqa: B018, the property is what raises
    with pytest.raises(exceptions.NotFittedError):
        AIOLIClassifier(AIOLI()).coef_  # noqa: B018  (as above)


def refused(model: AIOLIClassifier, message: str, method: str, *args: Any, **kwargs: Any) -> None:
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(*args, **kwargs)
    assert pickle.dumps(model) == before


def test_what_is_refused_says_why_and_leaves_no_trace() -> None:
    X, y = stream()
    long = np.vstack([X, [[1e200, 0.0, 0.0, 0.0]]])
    for model in (AIOLIClassifier(AIOLI()), AIOLIClassifier(AIOLI()).fit(X[:, :3], y)):
        refused(model, "one class, 1.0", "fit", X, np.ones(len(X)))
        refused(model, "zero for every row", "fit", X, y, np.zeros(len(X)))
        refused(model, "one class", "fit", X, y, y)
        refused(model, r"sample_weight.shape == \(3,\)", "fit", X, y, [1.0, 2.0, 3.0])
        refused(model, "Negative values", "fit", X, y, -np.ones(len(X)))
        refused(model, "row 120: .*longer than", "fit", long, np.append(y, 1.0))
        refused(model, "row 120: .*longer than", "fit", long, np.append(y, 1.0), np.append(np.arange(120.0), 1.0))
    only_two = "Only binary classification is supported. The type of the target is multiclass. Use Auto or AIOLI"
    for two in (AIOLIClassifier(OGD()), AIOLIClassifier(average=8)):
        refused(two, only_two, "fit", X, np.arange(len(X)) % 3)
        refused(two, only_two, "partial_fit", X, y, classes=[0, 1, 2])
    fresh = AIOLIClassifier()
    refused(fresh, "classes must be passed", "partial_fit", X, y)
    refused(fresh, "unseen labels", "partial_fit", X, y, classes=["a", "b"])
    known = AIOLIClassifier().partial_fit(X, y, classes=[0, 1])
    refused(known, "on the first call", "partial_fit", X, y, classes=[1, 2])
    refused(known, "unseen labels", "partial_fit", X, y + 1)
    refused(known, "4 features", "partial_fit", X[:, :3], y)
    refused(
        AIOLIClassifier(class_weight="balanced"), "not supported for partial_fit", "partial_fit", X, y, classes=[0, 1]
    )
    refused(AIOLIClassifier(class_weight={2: 1.0}), r"names \[2\]", "fit", X, y)
    refused(AIOLIClassifier(class_weight="fair"), "'balanced' or None", "fit", X, y)
    refused(AIOLIClassifier(OGD()), "OGD takes none", "fit", X, y, np.ones(len(X)))
    trained = AIOLI()
    trained.learn_many(X, y)
    refused(AIOLIClassifier(trained), "has learned from 120 rows", "fit", X, y)
    no_learners: list[Any] = [AIOLI, "AIOLI", 3]
    for nothing in no_learners:
        refused(AIOLIClassifier(nothing), "give a learner", "fit", X, y)


def test_without_scikit_learn_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    for module in ("aioli.sklearn", "aioli.sklearn_parts"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ImportError, match=r"pip install 'aioli-online\[sklearn\]'"):
        importlib.import_module("aioli.sklearn")
