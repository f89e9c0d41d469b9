"""The peers, untuned: each a function that says every row's probability before it is shown the row's label.

Rows come raw. Each peer scales them as its own documentation does: River and scikit-learn by their own running
standardisation, Vowpal Wabbit by its normalised updates, and BayesianGLM, which has none and no intercept either, by
the running standardisation of this benchmark and a column of ones.
"""

import importlib
import warnings
from collections.abc import Iterator
from contextlib import closing

from aioli.commands.peers import River, ScikitLearn, VowpalWabbit, unchecked
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.tuned import standardised, with_intercept

__all__ = ["bayesian_glm", "river", "sklearn_sgd", "vowpal_wabbit"]


def river(X: Matrix, y: Vector, optimizer: str, *settings: float) -> Iterator[float]:
    """River: `StandardScaler | LogisticRegression` with an optimizer of `river.optim`."""
    return River("StandardScaler", optimizer, *settings).announce(X, y)


def vowpal_wabbit(X: Matrix, y: Vector, options: str) -> Iterator[float]:
    """Vowpal Wabbit, logistic loss and link, with further options; zeros are left out, as its format has it."""
    with closing(VowpalWabbit(options)) as model:
        yield from model.announce(X, y)


def sklearn_sgd(X: Matrix, y: Vector) -> Iterator[float]:
    """scikit-learn: `SGDClassifier(loss="log_loss")` behind a `StandardScaler`, both by `partial_fit`."""
    return ScikitLearn().announce(X, y)


def bayesian_glm(X: Matrix, y: Vector, approximator: str) -> Iterator[float]:
    """bayesianbandits: `BayesianGLM` at its defaults with an approximator of the package."""
    package = importlib.import_module("bayesianbandits")
    model = package.BayesianGLM(approximator=getattr(package, approximator)())
    Z = with_intercept(standardised(X))
    with unchecked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one a row: its five iterations did not always converge
        for t in range(len(y)):
            yield model.predict(Z[t : t + 1])[0]
            model.partial_fit(Z[t : t + 1], y[t : t + 1])
