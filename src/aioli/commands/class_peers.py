"""Wraps untuned learners of K classes of other libraries: each predicts a row's probabilities, then learns the row.

They are told how many classes there are; scaled columns are what their users give them.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from aioli.commands.peers import rows_as_dicts, unchecked
from aioli.numerics.compiling import Vector
from aioli.streams.files.table import Features

__all__ = [
    "CLASS_LIBRARIES",
    "BoostingRefitted",
    "ClassPeerBase",
    "Persistence",
    "RiverClasses",
    "ScikitLearnClasses",
    "VowpalWabbitClasses",
    "class_peers_of",
]

CLASS_LIBRARIES = {
    "river": "River",
    "vw": "Vowpal Wabbit",
    "sklearn": "scikit-learn",
    "forests": "River's forests",
    "boosting": "scikit-learn's boosting",
    "persistence": "persistence",
}
FIRST_FIT = 64  # rows before boosting is fitted for the first time


def class_peers_of(library: str, classes: int, in_csr: bool) -> Mapping[str, "ClassPeerBase"]:
    """Return the peers of a library, by name, fresh; ImportError where it is not installed."""
    scaler = "MaxAbsScaler" if in_csr else "StandardScaler"
    made: dict[str, Callable[[], dict[str, ClassPeerBase]]] = {
        "river": lambda: {
            "River softmax": RiverClasses(classes, "linear_model.SoftmaxRegression", scaler),
            "River OvR": RiverClasses(classes, "multiclass.OneVsRestClassifier", scaler),
            "River NB": RiverClasses(classes, "naive_bayes.GaussianNB"),
        },
        "forests": lambda: {
            "River ARF": RiverClasses(classes, "forest.ARFClassifier", seed=0),
            "River AMF": RiverClasses(classes, "forest.AMFClassifier", seed=0),
        },
        "vw": lambda: {
            "VW oaa": VowpalWabbitClasses(classes),
            "VW oaa --coin": VowpalWabbitClasses(classes, "--coin"),
        },
        "sklearn": lambda: {"sklearn SGD": ScikitLearnClasses(classes, scaler)},
        "boosting": lambda: {"boosting refitted": BoostingRefitted(classes)},
        "persistence": lambda: {"persistence": Persistence(classes)},
    }
    return made[library]()


class ClassPeerBase:
    """A learner of another library, of K classes, known by their numbers."""

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[Vector]:
        """Yield each row's probabilities, predicted before the row is learned, and once it has been."""
        raise NotImplementedError

    def close(self) -> None:
        """Free what the library holds: nothing, where a peer does not say otherwise."""

    @property
    def blank(self) -> Vector:
        """The probabilities of one who knows nothing."""
        return np.full(self.classes, 1.0 / self.classes)


class RiverClasses(ClassPeerBase):
    """A classifier of River, by its name, behind a scaler if one is named.

    Parameters
    ----------
    settings
        Its arguments. `OneVsRestClassifier` is given River's logistic regression.
    """

    def __init__(self, classes: int, name: str, scaler: str = "", **settings: object) -> None:
        super().__init__(classes)
        module, _, kind = name.partition(".")
        make = pkgutil.resolve_name(f"river.{module}:{kind}")
        inner = [importlib.import_module("river.linear_model").LogisticRegression()] if "OneVsRest" in kind else []
        self._model = make(*inner, **settings)
        if scaler:
            self._model = pkgutil.resolve_name(f"river.preprocessing:{scaler}")() | self._model

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[Vector]:  # noqa: ARG002  (a peer's signature)
        """See `ClassPeerBase`; not all of River's classifiers take weights, and none is given them."""
        model = self._model
        for row, label in zip(rows_as_dicts(X), y.astype(np.int64).tolist(), strict=True):
            said = model.predict_proba_one(row) or {}
            p = np.zeros(self.classes)
            for k, value in said.items():
                p[k] = value
            total = p.sum()
            model.learn_one(row, label)
            yield p / total if total > 0.0 and np.isfinite(total) else self.blank


class VowpalWabbitClasses(ClassPeerBase):
    """Vowpal Wabbit, one against all, with logistic loss and normalised probabilities.

    Parameters
    ----------
    options
        Further options of its command.
    """

    def __init__(self, classes: int, options: str = "") -> None:
        super().__init__(classes)
        self.workspace = importlib.import_module("vowpalwabbit").Workspace(
            f"--quiet --no_stdin --oaa {classes} --probabilities --loss_function logistic {options}"
        )

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[Vector]:
        """See `ClassPeerBase`. Its `learn` predicts first and keeps what it said."""
        model = self.workspace
        stakes = np.ones(len(y)) if weights is None else weights
        for row, label, stake in zip(rows_as_dicts(X), y.astype(np.int64).tolist(), stakes.tolist(), strict=True):
            values = " ".join(f"{j}:{value:.9g}" for j, value in row.items() if value)
            example = model.parse(f"{label + 1} {stake:.9g} | {values}")
            model.learn(example)
            p = np.array(example.get_scalars())
            model.finish_example(example)
            yield p / p.sum() if p.sum() > 0.0 else self.blank

    def close(self) -> None:
        """Free its memory and its log."""
        if not self.workspace.finished:
            self.workspace.finish()


class ScikitLearnClasses(ClassPeerBase):
    """`SGDClassifier(loss="log_loss")` behind a scaler, both by `partial_fit`; columns that come late are refused."""

    def __init__(self, classes: int, scaler: str = "StandardScaler") -> None:
        super().__init__(classes)
        self._scaler = pkgutil.resolve_name(f"sklearn.preprocessing:{scaler}")()
        self._model = importlib.import_module("sklearn.linear_model").SGDClassifier(loss="log_loss", random_state=0)
        self._started = False

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[Vector]:
        """See `ClassPeerBase`."""
        with unchecked():
            for t in range(len(y)):
                row = self._scaler.partial_fit(X[t : t + 1]).transform(X[t : t + 1])
                p = self._model.predict_proba(row)[0] if self._started else self.blank
                stake = None if weights is None else weights[t : t + 1]
                self._model.partial_fit(row, y[t : t + 1], classes=np.arange(self.classes), sample_weight=stake)
                self._started = True
                yield p


class BoostingRefitted(ClassPeerBase):
    """`HistGradientBoostingClassifier`, fitted to all rows so far whenever their number has doubled."""

    def __init__(self, classes: int) -> None:
        super().__init__(classes)
        self._make = importlib.import_module("sklearn.ensemble").HistGradientBoostingClassifier
        self._rows: list[Vector] = []
        self._labels: list[float] = []
        self._model: Any = None

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[Vector]:  # noqa: ARG002  (a peer's signature)
        """See `ClassPeerBase`. Until the first fit it says the shares of the classes so far."""
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        begin = 0
        while begin < len(y):
            due = max(FIRST_FIT, 1 << len(self._labels).bit_length())
            end = min(len(y), begin + due - len(self._labels))
            said = self._say(dense[begin:end], y[begin:end])
            self._rows += list(dense[begin:end])
            self._labels += y[begin:end].tolist()
            if len(self._labels) == due and len(set(self._labels)) > 1:
                width = max(len(row) for row in self._rows)
                past = np.array([np.pad(row, (0, width - len(row))) for row in self._rows])
                self._model = self._make(random_state=0).fit(past, np.array(self._labels))
            yield from said
            begin = end

    def _say(self, X: Vector, y: Vector) -> Vector:
        P = np.zeros((len(X), self.classes))
        if self._model is not None:
            P[:, self._model.classes_.astype(np.int64)] = self._model.predict_proba(X[:, : self._model.n_features_in_])
            return P
        counts = np.bincount(np.array(self._labels, dtype=np.int64), minlength=self.classes).astype(np.float64)
        for t, label in enumerate(y.astype(np.int64).tolist()):
            P[t] = (counts + 0.5) / (counts.sum() + 0.5 * self.classes)
            counts[label] += 1.0
        return P


class Persistence(ClassPeerBase):
    """Predicts the last label again: the baseline that every learner of an ordered stream must beat."""

    _last: int | None = None

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[Vector]:  # noqa: ARG002  (a peer's signature)
        """See `ClassPeerBase`."""
        for label in y.astype(np.int64).tolist():
            p = self.blank
            if self._last is not None:
                p = np.zeros(self.classes)
                p[self._last] = 1.0
            self._last = label
            yield p
