"""In onnxruntime an exported learner says what the learner says, on usual rows and on extreme ones."""

from typing import Any

import numpy as np
import pytest

from aioli import AIOLI, OGD, Auto, Forest, Wide
from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.learners.protocol import Learner, knows_classes
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.root import root_many

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from aioli.onnx import save_onnx, to_onnx  # noqa: E402  (after the skip)
from aioli.onnx.equation import root  # noqa: E402  (after the skip)
from aioli.onnx.graph import Graph  # noqa: E402  (after the skip)

ROUNDING = 1e-15  # of a probability: sums in another order, and a few ulp of the root


def run(model: Any, X: Matrix) -> list[Any]:
    answers: list[Any] = runtime.InferenceSession(model.SerializeToString()).run(None, {"X": X})
    return answers


def stream(rows: int, columns: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 4, columns)
    X[:, 0] = np.round(X[:, 0])  # a column that often stands still
    z = X @ (rng.normal(size=columns) / X.std(axis=0).clip(1e-9)) / np.sqrt(columns)
    return X, (z + rng.logistic(size=rows) > 0).astype(np.float64)


def extreme(X: Matrix, most: float) -> Matrix:
    rng = np.random.default_rng(1)
    spread = X.std(axis=0)
    far = [X[:20], rng.normal(size=(80, X.shape[1])) * spread, np.zeros((1, X.shape[1])), -X[:5] * 1e3, X[:5] * 1e30]
    rows = np.concatenate([*far, np.full((1, X.shape[1]), 1e-300)])
    return np.asarray(rows[np.linalg.norm(rows, axis=1) < most])


def test_six_steps_find_the_root_for_every_m_and_a() -> None:
    rng = np.random.default_rng(0)
    m = np.r_[rng.normal(size=4000) * 10.0 ** rng.uniform(-8, 8, 4000), 0.0, 1e-300, 1e300, -5.0]
    a = np.r_[10.0 ** rng.uniform(-10, 10, 4000), 5.0, 5.0, 1e150, 0.0]
    a[:1000] = np.abs(m[:1000]) * (1.0 + 10.0 ** rng.uniform(-8, 0, 1000))  # where m is near a
    graph = Graph()
    ends = [graph.constant([k], np.int64) for k in (0, 1, 2, 1)]
    first, second = (graph.add("Slice", "X", ends[k], ends[k + 1], ends[3]) for k in (0, 1))
    z = run(graph.call([("z", root(graph, first, second), ["rows", 1])], 2), np.column_stack([m, a]))[0][:, 0]
    np.testing.assert_allclose(z, root_many(m, a), rtol=2e-15, atol=0.0)


@pytest.mark.parametrize("columns", [1, 3, 70])
@pytest.mark.parametrize(
    "learner",
    [
        AIOLI(),
        AIOLI(radius=2.0, intercept=False, curvature="paper", forgetting=0.99),
        Auto(budget="fast"),
        Auto(experts=3),
    ],
    ids=["AIOLI", "AIOLI that forgets", "Auto", "Auto of three"],
)
def test_an_exported_learner_says_the_same(learner: Learner, columns: int) -> None:
    given = type(learner)(**learner.get_params(deep=False))  # type: ignore[attr-defined]  # those of this test have it
    X, y = stream(300, columns)
    given.learn_many(X, y)
    rows = extreme(X, 1e150 if isinstance(given, Auto) else 1e5)
    p, z = run(to_onnx(given), rows)
    np.testing.assert_allclose(p, given.predict_many(rows), rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(z, given.predict_logit_many(rows), rtol=1e-12, atol=1e-13)


def test_a_column_that_has_moved_once_is_rescaled_as_auto_does() -> None:
    X, y = stream(40, 2)
    X[:, 1] = 0.0
    X[20, 1] = 1e9
    learner = Auto(budget="fast")
    learner.learn_many(X, y)
    rows = np.array([[1.0, 0.0], [1.0, 3.0], [1.0, 1e9], [1.0, 1e12], [1.0, -7e8]])
    np.testing.assert_allclose(run(to_onnx(learner), rows)[0], learner.predict_many(rows), rtol=0.0, atol=ROUNDING)


def test_one_class_against_the_rest_keeps_the_escape() -> None:
    X, _ = stream(300, 4)
    labels = np.random.default_rng(0).choice(["ant", "bee", "cat"], 300)
    learner = AIOLI(classes="any", structure="one_vs_rest")
    learner.learn_many(X / X.std(axis=0), labels)
    rows = X[:50] / X.std(axis=0)
    (P,) = run(to_onnx(learner), rows)
    np.testing.assert_allclose(P, learner.predict_many(rows), rtol=0.0, atol=ROUNDING)


def test_a_scaler_and_a_classifier_become_one_model(tmp_path: Any) -> None:
    pytest.importorskip("skl2onnx")
    pipelines = pytest.importorskip("sklearn.pipeline")
    scalers = pytest.importorskip("sklearn.preprocessing")
    from aioli.sklearn import AIOLIClassifier

    X, y = stream(300, 3)
    pipeline = pipelines.make_pipeline(scalers.StandardScaler(), AIOLIClassifier(AIOLI(), orders=2))
    pipeline.fit(X, np.where(y == 1.0, "yes", "no"))
    save_onnx(pipeline, tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    label, P = session.run(["label", "probabilities"], {"X": X})
    assert label.tolist() == pipeline.predict(X).tolist()
    np.testing.assert_allclose(P, pipeline.predict_proba(X), rtol=0.0, atol=ROUNDING)


def test_a_classifier_of_numbered_classes_has_numbers_for_labels() -> None:
    pytest.importorskip("sklearn")
    from aioli.sklearn import AIOLIClassifier

    X, y = stream(200, 3)
    model = AIOLIClassifier(AIOLI(radius=2.0), orders=1).fit(X / X.std(axis=0), 3 * y.astype(int))
    label, P = run(to_onnx(model), X / X.std(axis=0))
    assert label.tolist() == model.predict(X / X.std(axis=0)).tolist()
    np.testing.assert_allclose(P, model.predict_proba(X / X.std(axis=0)), rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (Auto(), "companions or guests play beside the linear experts"),
        (Forest(), "Forest cannot be exported to ONNX"),
        (OGD(), "OGD cannot be exported to ONNX"),
        (Wide(), "Wide cannot be exported to ONNX"),
        (AIOLI(classes=["a", "b", "c"]), "by an iteration that is no fixed graph"),
    ],
)
def test_what_cannot_be_exported_says_what_stands_in_the_way(learner: Any, reason: str) -> None:
    with pytest.raises(CapabilityMissing, match="has learned from no row yet"):
        to_onnx(learner)
    labels: list[Any] = ["a", "b", "c"] * 3 if knows_classes(learner) else [0, 1, 1] * 3
    learner.learn_many(np.eye(3).repeat(3, axis=0), labels)
    with pytest.raises(CapabilityMissing, match=reason):
        to_onnx(learner)


def test_auto_that_hears_late_labels_and_what_is_no_learner_are_refused() -> None:
    learner = Auto(budget="fast")
    X, y = stream(50, 2)
    learner.learn_many(X[:2], y[:2])
    with pytest.raises(CapabilityMissing, match="fewer than 3 rows"):
        to_onnx(learner)
    learner.learn_batch(X[2:], y[2:])
    with pytest.raises(CapabilityMissing, match="labels come late"):
        to_onnx(learner)
    with pytest.raises(ParameterRefused, match="give a learner"):
        to_onnx("AIOLI")
