"""A learner as an MLflow model: its own file inside, a signature, and its loss and certificate as metrics.

No pickle is written: the model holds the learner's `.aioli` file, and loading it runs no code from it. Where aioli and
MLflow are installed, `mlflow.pyfunc.load_model` predicts; `load_model` gives the learner back, which goes on learning.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import aioli
from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.learners.protocol import AnyLearner, certifies, knows_classes, names_columns, require_any_learner
from aioli.learners.registry import restore_any_learner
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import read_snapshot

if TYPE_CHECKING:  # MLflow's types are not strict: these are the parts of it that are used
    mlflow: ModuleType
    Model: Any
    ModelSignature: Callable[..., object]
    ColSpec: Callable[..., object]
    Schema: Callable[[Sequence[object]], object]
    TensorSpec: Callable[..., object]
else:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # parts of MLflow warn of each other when they are loaded
            import mlflow
            import mlflow.pyfunc
            from mlflow.models import Model, ModelSignature
            from mlflow.types import ColSpec, Schema, TensorSpec
    except ImportError:
        raise ImportError("aioli.mlflow needs MLflow: pip install 'aioli-online[mlflow]'") from None

__all__ = ["load_model", "log_model", "metrics_of", "save_model", "signature_of"]

FILE = "learner.aioli"


def save_model(learner: object, path: str | os.PathLike[str], **options: object) -> None:
    """Write an MLflow model of the learner into a new folder; `options` are those of `mlflow.pyfunc.save_model`."""
    with tempfile.TemporaryDirectory() as folder:
        mlflow.pyfunc.save_model(os.fspath(path), **_parts(learner, folder), **options)


def log_model(learner: object, name: str = "model", **options: object) -> Any:
    """Log the learner to the active MLflow run, with its rows, loss and certificate as metrics; return the ModelInfo.

    `options` are those of `mlflow.pyfunc.log_model`, such as `registered_model_name`.
    """
    with tempfile.TemporaryDirectory() as folder:
        info = mlflow.pyfunc.log_model(name=name, **_parts(learner, folder), **options)
    mlflow.log_metrics(metrics_of(require_any_learner(learner)))
    return info


def load_model(uri: str | os.PathLike[str]) -> AnyLearner:
    """Return the learner of an MLflow model, by its folder or its URI; it goes on bit for bit the same."""
    folder = Path(mlflow.artifacts.download_artifacts(os.fspath(uri)))
    flavour = Model.load(str(folder)).flavors["python_function"]
    if flavour.get("loader_module") != "aioli.mlflow":
        raise ParameterRefused.unlike("uri", str(uri), "that of a model that aioli.mlflow wrote")
    return restore_any_learner(read_snapshot(folder / flavour["data"]))


def metrics_of(learner: AnyLearner) -> dict[str, float]:
    """Return rows, mean log loss and certificate, in nats, as far as the learner has them."""
    found = {"rows": float(learner.rounds)}
    if learner.rounds:
        found["log_loss"] = learner.loss / learner.rounds
        if not knows_classes(learner) and certifies(learner):
            found["certificate"] = float(learner.certificate())
    return found


def signature_of(learner: AnyLearner) -> object:
    """Return what goes in and comes out: the columns by their names where they have any, else a matrix of numbers."""
    if learner.n_features_ is None:
        raise CapabilityMissing(f"{type(learner).__name__} has learned from no row yet; its columns are not known")
    names = learner.feature_names_ if names_columns(learner) else None
    if names is None:
        inputs = [TensorSpec(np.dtype(np.float64), (-1, learner.n_features_))]
    else:
        inputs = [ColSpec("double", name) for name in names]
    shape = (-1, len(learner.classes_)) if knows_classes(learner) else (-1,)
    return ModelSignature(Schema(inputs), Schema([TensorSpec(np.dtype(np.float64), shape)]))


def _parts(learner: object, folder: str) -> dict[str, object]:
    """Return the arguments of `mlflow.pyfunc` that make the model, and write the learner's file into a folder."""
    given = require_any_learner(learner)
    if not isinstance(given, Remembering):
        raise CapabilityMissing(f"{type(given).__name__} has no file of its own, and cannot be an MLflow model")
    file = Path(folder) / FILE
    given.save(file)
    return {
        "loader_module": "aioli.mlflow",
        "data_path": str(file),
        "signature": signature_of(given),
        "pip_requirements": [f"aioli-online=={aioli.__version__}"],
    }


class _Predicting:
    """What MLflow calls: probabilities of class 1, or one column a class."""

    def __init__(self, learner: AnyLearner) -> None:
        self.learner = learner

    def predict(self, rows: object, params: object = None) -> Vector | Matrix:  # noqa: ARG002  (MLflow's signature)
        """Return each row's probabilities; frames have the learner's columns in any order."""
        return self.learner.predict_many(rows)


def _load_pyfunc(path: str) -> _Predicting:
    """Return what predicts, from the learner's file: MLflow calls this by its name."""
    return _Predicting(restore_any_learner(read_snapshot(path)))
