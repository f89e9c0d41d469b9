"""Guests: models of other libraries that play beside Auto's experts, as they are or refitted as rows come."""

import copy
import importlib.util
import math
import pkgutil
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from aioli.errors import CapabilityMissing, ParameterRefused, SnapshotRefused
from aioli.learners.auto.companions import Companion
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.threads import call_within, one_thread_each
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["GuestCompanion", "batch_guests", "guests_of"]

FIRST = 64  # rows before a guest is fitted for the first time
KEPT = 20_000  # rows that it is fitted on at the most: the newest
GROWTH = {"doubling": 2.0, "quarter": 1.25}  # by how much rows must have grown for the next fit
SURE = 1e-4  # a guest's probability is believed no further than this
PATIENCE = 300.0  # seconds that one call of a guest of the user's may take

Probabilities = Callable[[Matrix], object]
Result = TypeVar("Result")


@runtime_checkable
class Estimator(Protocol):
    """A classifier as scikit-learn has them."""

    def fit(self, X: Matrix, y: Vector) -> object:
        """Fit the model to rows and labels."""

    def predict_proba(self, X: Matrix) -> Matrix:
        """Return the probability of each class for each row."""


class GuestCompanion(Companion):
    """A model with `predict_proba`, or a function from rows to probabilities, heard by its log-odds.

    A guest that raises, returns what is no probability a row, or has not answered after five minutes is dismissed with
    a warning: from then on it says log-odds of 0, and the ensemble retires it.

    Parameters
    ----------
    name
        What `weights_` and warnings call it.
    model
        The model or function.
    refit
        When a copy of the model is fitted to the newest 20,000 rows: "doubling", "quarter" (whenever rows have grown by
        so much), or every so many rows; None where it plays as it is.
    """

    in_callers_thread = True

    def __init__(self, name: str, model: object, refit: str | int | None) -> None:
        self.names = (f"guest: {name}",)
        self.name = name
        self.model = model
        self.refit = _checked(refit, model)
        self.dismissed = False
        self._playing: object | None = model if refit is None else None
        self._fitted_width: int | None = None
        self._rows: Matrix = np.empty((0, 0))
        self._labels: Vector = np.empty(0)
        self._seen = 0
        self._fitted = 0  # how many rows had come at the last fit

    def consult(self, X: Matrix) -> Matrix:
        """Return the log-odds of each row, as if it came next: 0 before the first fit."""
        said = np.zeros(len(X))
        if self._playing is not None and not self.dismissed:
            try:
                with one_thread_each():
                    p = self._call(self._probabilities, X if self._fitted_width is None else X[:, : self._fitted_width])
                said = np.log(p) - np.log1p(-p)
            except Exception as error:  # a guest's own code may raise anything; the game goes on without it
                self._dismiss(f"{type(error).__name__}: {error}")
        return said[:, None]

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Return the log-odds of each row before its label; fit the model whenever that is due."""
        del weights
        said = np.zeros((len(X), 1))
        first = 0
        while first < len(X):
            due = len(X) if self.refit is None else self._due() - self._seen
            part = slice(first, min(len(X), first + due))
            said[part] = self.consult(X[part])
            self._keep(X[part], y[part])
            first = part.stop
            if self.refit is not None and self._seen == self._due():
                self._fit(self._seen)
        return said

    def grow(self, columns: int) -> None:
        """Make room for new columns, which the model sees once it is fitted again."""
        if self._playing is not None and self._fitted_width is None:
            self._fitted_width = self._rows.shape[1] or None
        self._rows = np.concatenate([self._rows, np.zeros((len(self._rows), columns))], axis=1)

    def snapshot(self) -> Snapshot:
        """Refuse where the guest is the user's own; the rows kept and when it was fitted, for one of `batch_guests`."""
        if self.name not in batch_names() or self.refit != "quarter":
            raise CapabilityMissing(
                f"guest {self.name} is no part of aioli, so a learner that hears it cannot be saved"
            )
        values: dict[str, Plain] = {"name": self.name, "dismissed": self.dismissed}
        values |= {"seen": self._seen, "fitted": self._fitted}
        values["fitted_width"] = 0 if self._fitted_width is None else self._fitted_width
        return Snapshot("GuestCompanion", values, {"rows": self._rows.copy(), "labels": self._labels.copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal guest: the model is fitted again to the rows that it was fitted to."""
        given = snapshot.of("GuestCompanion")
        name = given.text("name")
        if name not in batch_names():
            raise SnapshotRefused(f"in a GuestCompanion, the guest is {name!r}; known are {', '.join(batch_names())}")
        guest = cls(name, _make(name), "quarter")
        rows = given.array("rows", (None, None))
        guest._rows, guest._labels = rows.copy(), given.array("labels", (len(rows),)).copy()
        guest._seen, guest.dismissed = given.whole("seen"), given.flag("dismissed")
        fitted, width = given.whole("fitted"), given.whole("fitted_width")
        if fitted > guest._seen or guest._seen - fitted > len(rows) or width > rows.shape[1]:
            raise SnapshotRefused("in a GuestCompanion, the rows are not those that it was fitted to")
        if fitted and not guest.dismissed:
            guest._fit(fitted, width or None)
        return guest

    def recalled(self, snapshot: Snapshot) -> Self:
        """Return an equal guest."""
        return self.restore(snapshot)

    # ---- within

    def _due(self) -> int:
        """Return at how many rows the next fit is due."""
        if isinstance(self.refit, int):
            return self._fitted + self.refit if self._fitted else max(FIRST, self.refit)
        assert self.refit is not None
        return max(FIRST, math.ceil(self._fitted * GROWTH[self.refit]))

    def _keep(self, X: Matrix, y: Vector) -> None:
        self._seen += len(X)
        if self.refit is None:
            return
        known = self._rows if self._rows.size else np.empty((0, X.shape[1]))
        # the rows of the last fit stay until the next one: a guest that is restored is fitted to them again
        oldest = max(0, len(known) - KEPT - (self._seen - len(X) - self._fitted))
        self._rows = np.concatenate([known[oldest:], X])
        self._labels = np.concatenate([self._labels[oldest:], y])

    def _fit(self, seen: int, width: int | None = None) -> None:
        """Fit a copy of the model to the newest rows of the first `seen`."""
        last = len(self._rows) - (self._seen - seen)
        part = slice(max(0, last - KEPT), last)
        rows, labels = self._rows[part, : width or self._rows.shape[1]], self._labels[part]
        self._fitted = seen
        self._fitted_width = rows.shape[1]
        if labels.min() == labels.max():
            return
        model = copy.deepcopy(self.model)
        assert isinstance(model, Estimator)
        try:
            with warnings.catch_warnings(), one_thread_each():
                warnings.simplefilter("ignore")
                self._call(model.fit, rows, labels.astype(np.int64))
        except Exception as error:  # as in `consult`
            self._dismiss(f"{type(error).__name__}: {error}")
            return
        self._playing = model

    def _call(self, function: Callable[..., Result], *given: Matrix | Vector) -> Result:
        """Return what a function of the guest's returns; one of the user's own is not waited for without end."""
        if self.name in batch_names():
            return function(*given)
        return call_within(PATIENCE, function, *given)

    def _probabilities(self, X: Matrix) -> Vector:
        """Return the model's probability that the label is 1; refuse what is none."""
        model = self._playing
        said = np.asarray(model.predict_proba(X) if isinstance(model, Estimator) else model(X), np.float64)  # type: ignore[operator]  # a function, being no estimator
        p = said[:, 1] if said.ndim == 2 and said.shape[1] == 2 else said
        if p.shape != (len(X),):
            raise ValueError(f"{len(X)} rows got probabilities of shape {said.shape}")
        if not ((p >= 0.0) & (p <= 1.0)).all():
            raise ValueError("it said what is no probability")
        return np.clip(p, SURE, 1.0 - SURE)

    def _dismiss(self, reason: str) -> None:
        self.dismissed = True
        warnings.warn(f"guest {self.name} is dismissed, and the game goes on without it: {reason}", stacklevel=2)


def guests_of(models: Sequence[object], refit: str | int | None) -> list[GuestCompanion]:
    """Return the companions of models, named by their classes, or as functions are; equal names have a number."""
    kinds = [model.__name__ if isinstance(model, FunctionType) else type(model).__name__ for model in models]
    names = [kind if kinds.count(kind) == 1 else f"{kind} {i + 1}" for i, kind in enumerate(kinds)]
    return [GuestCompanion(name, model, refit) for name, model in zip(names, models, strict=True)]


def batch_guests() -> list[GuestCompanion]:
    """Return scikit-learn's boosting and forests, refitted whenever rows have grown by a quarter; none without it."""
    if importlib.util.find_spec("sklearn") is None:
        return []
    return [GuestCompanion(name, _make(name), "quarter") for name in batch_names()]


def batch_names() -> tuple[str, ...]:
    """Return the names of the guests that the budget "best" brings."""
    return ("HistGradientBoostingClassifier", "RandomForestClassifier", "ExtraTreesClassifier")


def _make(name: str) -> object:
    settings = {"random_state": 0} if name.startswith("Hist") else {"random_state": 0, "n_estimators": 50, "n_jobs": 1}
    made: object = pkgutil.resolve_name(f"sklearn.ensemble:{name}")(**settings)
    return made


def _checked(refit: object, model: object) -> str | int | None:
    """Return when to fit, or a refusal."""
    whole = isinstance(refit, int) and not isinstance(refit, bool) and refit >= 1
    if not (refit is None or whole or (isinstance(refit, str) and refit in GROWTH)):
        raise ParameterRefused.unlike("refit", refit, '"doubling", "quarter", a whole number of rows, or None')
    if not isinstance(model, Estimator) and (refit is not None or not callable(model)):
        wanted = "models with fit and predict_proba" if refit is not None else "models with predict_proba, or functions"
        raise ParameterRefused.unlike("guests", model, wanted)
    return refit  # type: ignore[return-value]  # checked above
