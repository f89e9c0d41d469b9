"""The peers, untuned: each a function that says every row's probability before it is shown the row's label.

Rows come raw. Each peer scales them as its own documentation does: River and scikit-learn by their own running
standardisation, Vowpal Wabbit by its normalised updates, and BayesianGLM, which has none and no intercept either, by
the running standardisation of this benchmark and a column of ones.
"""

import importlib
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager

from aioli.numerics.compiling import Matrix, Vector
from benchmarks.tuned import standardised, with_intercept

__all__ = ["bayesian_glm", "river", "sklearn_sgd", "vowpal_wabbit"]


def river(X: Matrix, y: Vector, optimizer: str, *settings: float) -> Iterator[float]:
    """River: `StandardScaler | LogisticRegression` with an optimizer of `river.optim`."""
    scaling = importlib.import_module("river.preprocessing")
    models = importlib.import_module("river.linear_model")
    optim = importlib.import_module("river.optim")
    model = scaling.StandardScaler() | models.LogisticRegression(getattr(optim, optimizer)(*settings))
    for x, label in zip(X, y, strict=True):
        row = dict(enumerate(x.tolist()))
        yield model.predict_proba_one(row)[True]
        model.learn_one(row, bool(label))


def vowpal_wabbit(X: Matrix, y: Vector, options: str) -> Iterator[float]:
    """Vowpal Wabbit, logistic loss and link, with further options; zeros are left out, as its format has it."""
    vw = importlib.import_module("vowpalwabbit")
    model = vw.Workspace(f"--quiet --loss_function logistic --link logistic {options}")
    for x, label in zip(X, y, strict=True):
        values = " ".join(f"{j}:{value:.9g}" for j, value in enumerate(x.tolist()) if value)
        example = model.parse(f"{1 if label else -1} | {values}")
        yield model.predict(example)
        model.learn(example)
        model.finish_example(example)
    model.finish()


def sklearn_sgd(X: Matrix, y: Vector) -> Iterator[float]:
    """scikit-learn: `SGDClassifier(loss="log_loss")` behind a `StandardScaler`, both by `partial_fit`."""
    scaler = importlib.import_module("sklearn.preprocessing").StandardScaler()
    model = importlib.import_module("sklearn.linear_model").SGDClassifier(loss="log_loss", random_state=0)
    with _unchecked():
        for t in range(len(y)):
            row = scaler.partial_fit(X[t : t + 1]).transform(X[t : t + 1])
            yield model.predict_proba(row)[0, 1] if t else 0.5
            model.partial_fit(row, y[t : t + 1], classes=[0.0, 1.0])


def bayesian_glm(X: Matrix, y: Vector, approximator: str) -> Iterator[float]:
    """bayesianbandits: `BayesianGLM` at its defaults with an approximator of the package."""
    package = importlib.import_module("bayesianbandits")
    model = package.BayesianGLM(approximator=getattr(package, approximator)())
    Z = with_intercept(standardised(X))
    with _unchecked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one a row: its five iterations did not always converge
        for t in range(len(y)):
            yield model.predict(Z[t : t + 1])[0]
            model.partial_fit(Z[t : t + 1], y[t : t + 1])


def _unchecked() -> AbstractContextManager[object]:
    """Within it, scikit-learn does not check its input row by row, the greater part of what it takes."""
    sklearn = importlib.import_module("sklearn")
    unchecked: AbstractContextManager[object] = sklearn.config_context(
        assume_finite=True, skip_parameter_validation=True
    )
    return unchecked
