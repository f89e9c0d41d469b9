"""A learner that is logged to MLflow, or saved for it, predicts and goes on as before."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aioli import AIOLI
from aioli.errors import CapabilityMissing, ParameterRefused

pandas = pytest.importorskip("pandas")
with warnings.catch_warnings():  # MLflow warns of its own type hints
    warnings.simplefilter("ignore")
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.pyfunc")

from aioli.mlflow import load_model, log_model, save_model  # noqa: E402  (after the skip)

ROWS = np.random.default_rng(0).normal(size=(200, 2))
LABELS = (ROWS[:, 0] > 0).astype(np.float64)
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns of its own stores and of what it will drop


def taught() -> AIOLI:
    learner = AIOLI()
    learner.learn_many(ROWS, LABELS)
    return learner


@pytest.fixture
def tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())


@pytest.mark.usefixtures("tracking")
def test_a_logged_learner_predicts_the_same_and_its_certificate_is_a_metric() -> None:
    learner = taught()
    with mlflow.start_run() as run:
        info = log_model(learner)
    served = mlflow.pyfunc.load_model(info.model_uri)
    assert np.array_equal(served.predict(ROWS), learner.predict_many(ROWS))
    metrics = mlflow.get_run(run.info.run_id).data.metrics
    assert metrics["certificate"] == float(learner.certificate())
    assert metrics["log_loss"] == learner.loss / 200
    assert metrics["rows"] == 200.0


def test_a_saved_learner_goes_on_bit_for_bit(tmp_path: Path) -> None:
    learner = taught()
    save_model(learner, tmp_path / "model")
    again: Any = load_model(tmp_path / "model")
    assert again.learn([1.0, 2.0], 0) == learner.learn([1.0, 2.0], 0)
    assert again.certificate() == learner.certificate()


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    learner = taught()
    learner.feature_names_ = ["age", "price"]
    save_model(learner, tmp_path / "model")
    frame = pandas.DataFrame(ROWS, columns=["age", "price"])
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert np.array_equal(served.predict(frame[["price", "age"]]), learner.predict_many(ROWS))
    assert [column.name for column in served.metadata.signature.inputs.inputs] == ["age", "price"]


def test_many_classes_have_a_column_each(tmp_path: Path) -> None:
    learner = AIOLI(classes=["a", "b", "c"])
    learner.learn_many(ROWS[:30], ["a", "b", "c"] * 10)
    save_model(learner, tmp_path / "model")
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert np.array_equal(served.predict(ROWS), learner.predict_many(ROWS))


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CapabilityMissing, match="has learned from no row yet"):
        save_model(AIOLI(), tmp_path / "model")
    with pytest.raises(ParameterRefused, match="give a learner"):
        save_model("AIOLI", tmp_path / "model")
