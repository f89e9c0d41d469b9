"""Reads models of other libraries, to play beside Auto's experts, from files: joblib, which runs code, and ONNX."""

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np

from aioli.errors import AioliError
from aioli.learners.auto.guests import Probabilities
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["guest_from"]

JOBLIB = (".joblib", ".pkl", ".pickle")


def guest_from(path: str, trusted: bool) -> object:
    """Return the model of a file: anything with `predict_proba`, or a function from rows to probabilities.

    A joblib file runs code of whoever made it, so it is loaded only where that is `trusted`. An ONNX file holds numbers
    and a graph of known operations, and runs none.
    """
    ending = Path(path).suffix.lower()
    if ending not in (*JOBLIB, ".onnx"):
        raise AioliError(f"--guest {path}: is neither a .joblib nor an .onnx file; save the model as one of them")
    if ending in JOBLIB and not trusted:
        raise AioliError(
            f"--guest {path}: a joblib file runs code of whoever made it when it is loaded; give --trust if you trust "
            "them, or save the model as ONNX, which runs none"
        )
    if not Path(path).is_file():
        raise AioliError(f"--guest {path}: there is no such file")
    return _joblib_model(path) if ending in JOBLIB else _onnx_function(path)


def _joblib_model(path: str) -> object:
    model: object = _needed("joblib", "joblib", path).load(path)
    if not callable(getattr(model, "predict_proba", None)):  # whatever the file held: no type says it
        raise AioliError(f"--guest {path}: holds a {type(model).__name__}, which has no predict_proba")
    return model


def _onnx_function(path: str) -> Probabilities:
    runtime = _needed("onnxruntime", "'aioli-online[onnx]'", path)
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    try:
        session = runtime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has its own kinds, and no common one
        raise AioliError(f"--guest {path}: is no ONNX model that can be run: {error}".splitlines()[0]) from error
    name = session.get_inputs()[0].name

    def probabilities(X: Matrix) -> Vector:
        said = session.run(None, {name: X.astype(np.float32)})[-1]  # a classifier's last output is its probabilities
        if isinstance(said, list):  # a dictionary a row, by label
            said = [[row[label] for label in sorted(row)] for row in said]
        p = np.asarray(said, dtype=np.float64)
        return p[:, -1] if p.ndim == 2 and p.shape[1] <= 2 else p

    probabilities.__name__ = Path(path).stem
    return probabilities


def _needed(package: str, install: str, path: str) -> ModuleType:
    if importlib.util.find_spec(package) is None:
        raise AioliError(f"--guest {path}: needs {package}: pip install {install}")
    return importlib.import_module(package)
