"""Wraps River, Vowpal Wabbit and scikit-learn, untuned: each predicts a row's probability, then learns the row.

They play as their own users would run them. Of a file with columns, River and Vowpal Wabbit are given the rows as they
are: River scales numbers and one-hot encodes words, Vowpal Wabbit hashes names and words. scikit-learn is given encoded
rows, and scales them, as are all of sparse files and of late labels: by the numbers of their columns. A column that has
not come yet has been 0 so far; to River's scaler, it was not there.
"""

import importlib
import pkgutil
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import repeat
from numbers import Number
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from aioli.evaluate.comparison import Peer
from aioli.numerics.compiling import Vector
from aioli.streams.files.table import Features
from aioli.streams.raw_rows import RawRow

__all__ = [
    "LIBRARIES",
    "River",
    "ScikitLearn",
    "VowpalWabbit",
    "example_text",
    "peers_of",
    "raw_text",
    "rows_as_dicts",
    "unchecked",
]

LIBRARIES = {"river": "River", "vw": "Vowpal Wabbit", "sklearn": "scikit-learn"}
CLASSES = [0.0, 1.0]
NO_NAME = re.compile(r"[\s:|]")  # what a name may not have in Vowpal Wabbit's text


def peers_of(library: str, in_csr: bool) -> dict[str, Peer]:
    """Return the peers of a library, by name, fresh; ImportError where it is not installed.

    Sparse rows are scaled by their largest entries, as both libraries advise: to subtract means would fill them.
    """
    if library == "river":
        return {"River": River(), "River scaled": River("MaxAbsScaler" if in_csr else "StandardScaler")}
    if library == "vw":
        return {"VW": VowpalWabbit(), "VW --coin": VowpalWabbit("--coin"), "VW --ftrl": VowpalWabbit("--ftrl")}
    return {"sklearn SGD": ScikitLearn()}


class RiverModel(Protocol):
    """A classifier of River, or a pipeline that ends with one."""

    def predict_proba_one(self, x: object) -> dict[bool, float]:
        """Return the probability of each label."""

    def learn_one(self, x: object, y: bool, **weight: float) -> object:
        """Learn from a row."""


class River:
    """`LogisticRegression`, behind a scaler of `river.preprocessing` if one is named. O(d) a row.

    Parameters
    ----------
    scaler
        Its name, or nothing.
    optimizer, settings
        The name of one of `river.optim`, and its arguments; nothing for River's default.
    """

    def __init__(self, scaler: str = "", optimizer: str = "", *settings: float) -> None:
        given = [pkgutil.resolve_name(f"river.optim:{optimizer}")(*settings)] if optimizer else []
        self._regression = importlib.import_module("river.linear_model").LogisticRegression(*given)
        self._scaler, self._model = scaler, self._regression
        if scaler:
            self._model = pkgutil.resolve_name(f"river.preprocessing:{scaler}")() | self._model
        self._usual: RiverModel | None = None

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[float]:
        """See `Peer`."""
        return _announced(self._model, rows_as_dicts(X), y, weights)

    def announce_raw(self, rows: Sequence[RawRow], y: Vector, weights: Vector | None = None) -> Iterator[float]:
        """See `RawPeer`: the usual pipeline, numbers scaled where a scaler is named, and words one-hot encoded."""
        if self._usual is None:
            select = importlib.import_module("river.compose").SelectType
            prepare = importlib.import_module("river.preprocessing")
            numbers = select(Number)
            if self._scaler:
                numbers = numbers | pkgutil.resolve_name(f"river.preprocessing:{self._scaler}")()
            words = select(str) | prepare.OneHotEncoder(drop_zeros=True)
            self._usual = (numbers + words) | self._regression
        return _announced(self._usual, iter(rows), y, weights)

    def predict(self, X: Features) -> Iterator[float]:
        """See `LatePeer`."""
        for row in rows_as_dicts(X):
            yield self._model.predict_proba_one(row)[True]

    def learn(self, X: Features, y: Vector, weights: Vector | None = None) -> None:
        """See `LatePeer`."""
        stakes: Iterator[dict[str, float]] = repeat({}) if weights is None else ({"w": w} for w in weights.tolist())
        for row, label, stake in zip(rows_as_dicts(X), y.tolist(), stakes, strict=False):
            self._model.learn_one(row, bool(label), **stake)

    def close(self) -> None:
        """Do nothing: it holds nothing."""


class VowpalWabbit:
    """Vowpal Wabbit in this process, with logistic loss and link. O(entries that are not 0) a row.

    Its `learn` predicts first and keeps what it said, so that no row is gone through twice.

    Parameters
    ----------
    options
        Further options of its command.
    """

    def __init__(self, options: str = "") -> None:
        self.workspace = importlib.import_module("vowpalwabbit").Workspace(
            f"--quiet --no_stdin --loss_function logistic --link logistic {options}"
        )

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[float]:
        """See `Peer`."""
        stakes = repeat(1.0) if weights is None else weights.tolist()
        labelled = zip(rows_as_dicts(X), y.tolist(), stakes, strict=False)
        return self._announced(example_text(*each) for each in labelled)

    def announce_raw(self, rows: Sequence[RawRow], y: Vector, weights: Vector | None = None) -> Iterator[float]:
        """See `RawPeer`: names and words as they are, which it hashes."""
        stakes = repeat(1.0) if weights is None else weights.tolist()
        return self._announced(raw_text(*each) for each in zip(rows, y.tolist(), stakes, strict=False))

    def _announced(self, texts: Iterable[str]) -> Iterator[float]:
        model = self.workspace
        for text in texts:
            example = model.parse(text)
            model.learn(example)
            p = example.get_simplelabel_prediction()
            model.finish_example(example)
            yield p

    def predict(self, X: Features) -> Iterator[float]:
        """See `LatePeer`."""
        for row in rows_as_dicts(X):
            yield self.workspace.predict(example_text(row, 1.0).lstrip("1 "))  # without a label

    def learn(self, X: Features, y: Vector, weights: Vector | None = None) -> None:
        """See `LatePeer`."""
        deque(self.announce(X, y, weights), maxlen=0)

    def close(self) -> None:
        """Free its memory and its log."""
        if not self.workspace.finished:
            self.workspace.finish()


class ScikitLearn:
    """`SGDClassifier(loss="log_loss")` behind a scaler of `sklearn.preprocessing`, both by `partial_fit`. O(d) a row.

    The scaler is `MaxAbsScaler` if the first rows are sparse, as those of a file with many categories are, and
    `StandardScaler` otherwise. Neither it nor the classifier takes columns that come later, so they are made wider by
    hand: a column that was 0 so far has a mean, a variance, a largest entry and a weight of 0, and a scale of 1.
    """

    def __init__(self) -> None:
        self._scalers = importlib.import_module("sklearn.preprocessing")
        self._scaler: Any = None
        self._model = importlib.import_module("sklearn.linear_model").SGDClassifier(loss="log_loss", random_state=0)
        self._started = False

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[float]:
        """See `Peer`."""
        X = self._widened(X)
        with unchecked():
            for t in range(len(y)):
                row = self._scaler.partial_fit(X[t : t + 1]).transform(X[t : t + 1])
                p = float(self._model.predict_proba(row)[0, 1]) if self._started else 0.5
                stake = None if weights is None else weights[t : t + 1]
                self._model.partial_fit(row, y[t : t + 1], classes=CLASSES, sample_weight=stake)
                self._started = True
                yield p

    def predict(self, X: Features) -> Iterator[float]:
        """See `LatePeer`. The scaler, which takes no label, learns the rows as they come."""
        X = self._widened(X)
        with unchecked():
            for t in range(X.shape[0]):
                row = self._scaler.partial_fit(X[t : t + 1]).transform(X[t : t + 1])
                yield float(self._model.predict_proba(row)[0, 1]) if self._started else 0.5

    def learn(self, X: Features, y: Vector, weights: Vector | None = None) -> None:
        """See `LatePeer`."""
        X = self._widened(X)
        with unchecked():
            for t in range(len(y)):
                row, stake = self._scaler.transform(X[t : t + 1]), None if weights is None else weights[t : t + 1]
                self._model.partial_fit(row, y[t : t + 1], classes=CLASSES, sample_weight=stake)
                self._started = True

    def close(self) -> None:
        """Do nothing: it holds nothing."""

    def _widened(self, X: Features) -> Features:
        """Return the rows as it takes them, once it is as wide as they are."""
        if self._scaler is None:
            dense = isinstance(X, np.ndarray)
            self._scaler = self._scalers.StandardScaler() if dense else self._scalers.MaxAbsScaler()
        self._widen(X.shape[1])
        if isinstance(X, np.ndarray):
            return X
        if "with_mean" in self._scaler.get_params():  # rows have become sparse: to subtract means would fill them
            self._scaler.set_params(with_mean=False)
        # it takes no larger numbers of columns than these
        return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)

    def _widen(self, width: int) -> None:
        fitted = vars(self._scaler)
        more = width - fitted.get("n_features_in_", width)
        if more <= 0:
            return
        for name in {"mean_", "var_", "max_abs_"} & fitted.keys():
            fitted[name] = np.append(fitted[name], np.zeros(more))
        self._scaler.scale_ = np.append(self._scaler.scale_, np.ones(more))
        self._scaler.n_features_in_ = width
        if self._started:
            self._model.coef_ = np.hstack([self._model.coef_, np.zeros((1, more))])
            self._model.n_features_in_ = width


def rows_as_dicts(X: Features) -> Iterator[dict[int, float]]:
    """Yield the rows by the numbers of their columns: all of a dense row, and what is there of a sparse one."""
    if isinstance(X, np.ndarray):
        for x in X:
            yield dict(enumerate(x.tolist()))
        return
    for begin, end in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True):
        yield dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))


def example_text(row: dict[int, float], label: float, weight: float = 1.0) -> str:
    """Return the row as Vowpal Wabbit reads it: columns by number, no zeros, nine digits for its single precision."""
    stake = "" if weight == 1.0 else f" {weight:.9g}"
    values = " ".join(f"{j}:{value:.9g}" for j, value in row.items() if value)
    return f"{1 if label else -1}{stake} | {values}"


def raw_text(row: RawRow, label: float, weight: float = 1.0) -> str:
    """Return the row as Vowpal Wabbit reads it, in the namespace f: numbers by name, and words behind theirs.

    >>> raw_text({"size: in m": 1.5, "colour": "dark red", "zero": 0.0}, 1.0)
    '1 |f size__in_m:1.5 colour=dark_red'
    """
    stake = "" if weight == 1.0 else f" {weight:.9g}"
    words = []
    for name, value in row.items():
        if isinstance(value, str):
            words.append(NO_NAME.sub("_", f"{name}={value}"))
        elif value:
            words.append(f"{NO_NAME.sub('_', name)}:{value:.9g}")
    return f"{1 if label else -1}{stake} |f {' '.join(words)}"


def _announced(model: RiverModel, rows: Iterator[object], y: Vector, weights: Vector | None) -> Iterator[float]:
    """Yield what a model of River says of each row before it learns it."""
    stakes: Iterator[dict[str, float]] = repeat({}) if weights is None else ({"w": w} for w in weights.tolist())
    for row, label, stake in zip(rows, y.tolist(), stakes, strict=False):
        p = model.predict_proba_one(row)[True]
        model.learn_one(row, bool(label), **stake)
        yield p


def unchecked() -> AbstractContextManager[object]:
    """Return a context in which scikit-learn does not check its input row by row, the greater part of what it takes."""
    within: AbstractContextManager[object] = importlib.import_module("sklearn").config_context(
        assume_finite=True, skip_parameter_validation=True
    )
    return within
