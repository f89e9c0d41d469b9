"""Who plays streams with late labels: ours by their tickets, the base rate, and the untuned peers as they come.

River's scaler learns a row when the model does, as River's pipelines have it. scikit-learn's scaler has been shown a
row before the row is announced, since that takes no label. Vowpal Wabbit predicts a row's text and learns it later.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aioli import AIOLI, Auto
from aioli.commands.peers import CLASSES, VowpalWabbit, unchecked
from aioli.learners.announcements import Announcement, Announcements
from aioli.learners.base import ColumnLearner
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.states.mixture.late_loops import MEMORY
from benchmarks.late_labels import Contender, Delay, Stream
from benchmarks.scores import log_loss
from benchmarks.tuned import standardised

__all__ = ["CLIP", "CONTENDERS", "OURS", "PEERS", "SLOW", "Tickets", "base_rate", "best_expert"]

CLIP = 1e-3  # a certainty that proves wrong costs 6.9 nats: with labels 2,000 rows late, everyone is wrong at times


class Tickets:
    """Play a learner of aioli by its announcements, and remember what each of its experts announced."""

    def __init__(self, learner: ColumnLearner, X: Matrix, y: Vector) -> None:
        self.learner = learner
        self.experts: Matrix = np.empty((len(y), 0))  # log-odds, NaN once an expert has retired
        self._X, self._y, self._labels = X, y, y.astype(int).tolist()
        self._waiting: dict[int, Announcement] = {}
        self._group: tuple[slice, Announcements] | None = None

    def announce(self, rows: slice) -> Vector:
        """See `Contender`."""
        if rows.stop - rows.start == 1:
            ticket = self.learner.announce(self._X[rows.start])
            self._waiting[rows.start] = ticket
            self._remember(rows, ticket.memory)
            return np.array([ticket.probability])
        tickets = self.learner.announce_many(self._X[rows])
        self._group = rows, tickets
        self._remember(rows, tickets.memory)
        return tickets.probabilities

    def learn(self, rows: slice) -> None:
        """See `Contender`."""
        if self._group is not None and self._group[0] == rows:
            self.learner.learn_many(self._X[rows], self._y[rows], announced=self._group[1])
            return
        for t in range(rows.start, rows.stop):
            if self._group is not None and t < self._group[0].stop:
                ticket = self._group[1][t - self._group[0].start]
            else:
                ticket = self._waiting.pop(t)
            self.learner.learn(self._X[t], self._labels[t], announced=ticket)

    def close(self) -> None:
        """It holds nothing."""

    def _remember(self, rows: slice, memory: Matrix | Vector | None) -> None:
        count = 0 if memory is None else memory.shape[-1] - MEMORY
        if memory is None or count <= 0:
            return
        said = memory[..., :count]
        if isinstance(self.learner, Auto) and len(self.learner.weights_) < count:
            # a mixture of the linear experts as one and of companions, then those experts' own
            linear = len(self.learner._linear_experts.weights_) if self.learner._linear_experts else 0
            companions = len(self.learner.weights_) - linear
            said = np.concatenate([memory[..., -linear - MEMORY : -MEMORY], memory[..., 1 : 1 + companions]], axis=-1)
        if not self.experts.shape[1]:
            self.experts = np.full((len(self._y), said.shape[-1]), np.nan)
        self.experts[rows] = said


def best_expert(contender: Tickets, y: Vector) -> tuple[Vector, str]:
    """Return what the best of the experts that announced every row said, and its name; by log loss, in hindsight."""
    names = list(contender.learner.weights_) if isinstance(contender.learner, Auto) else []
    whole = [bool(np.isfinite(said).all()) for said in contender.experts.T]
    said = {
        name: sigmoid_many(p.copy())
        for name, p, stayed in zip(names, contender.experts.T, whole, strict=True)
        if stayed
    }
    best = min(said, key=lambda name: log_loss(said[name], y, CLIP))
    return said[best], best


def base_rate(y: Vector, delay: Delay) -> Vector:
    r"""$\frac{\text{ones} + 1/2}{\text{labels} + 1}$ of the labels known when each row is announced. O(n)."""
    known = delay.known(len(y))
    ones = np.concatenate([[0.0], np.cumsum(y)])[known.astype(int)]
    return np.asarray((ones + 0.5) / (known + 1.0))


class River:
    """Play a classifier of River, row by row."""

    def __init__(self, model: Any, stream: Stream) -> None:
        self._model, self._rows, self._labels = model, stream.dicts, stream.y.astype(bool).tolist()

    def announce(self, rows: slice) -> Vector:
        """See `Contender`."""
        said = [self._model.predict_proba_one(row) for row in self._rows[rows]]
        return np.array([p.get(True, 1.0 - p.get(False, 0.5)) for p in said])

    def learn(self, rows: slice) -> None:
        """See `Contender`."""
        for row, label in zip(self._rows[rows], self._labels[rows], strict=True):
            self._model.learn_one(row, label)

    def close(self) -> None:
        """It holds nothing."""


class Vowpal:
    """Play Vowpal Wabbit, with logistic loss and link: `predict` on a row's text, and `learn` on it with its label."""

    def __init__(self, options: str, stream: Stream) -> None:
        self._model = VowpalWabbit(options)
        self._texts, self._labels = stream.texts, ["1 " if label else "-1 " for label in stream.y]

    def announce(self, rows: slice) -> Vector:
        """See `Contender`."""
        return np.array([self._model.workspace.predict(text) for text in self._texts[rows]])

    def learn(self, rows: slice) -> None:
        """See `Contender`."""
        for text, label in zip(self._texts[rows], self._labels[rows], strict=True):
            self._model.workspace.learn(label + text)

    def close(self) -> None:
        """See `Contender`."""
        self._model.close()


class ScikitLearn:
    """Play `SGDClassifier(loss="log_loss")` behind a `StandardScaler`, both by `partial_fit` of what comes at once."""

    def __init__(self, stream: Stream) -> None:
        self._scaler = importlib.import_module("sklearn.preprocessing").StandardScaler()
        self._model = importlib.import_module("sklearn.linear_model").SGDClassifier(loss="log_loss", random_state=0)
        self._X, self._y = stream.X, stream.y
        self._started = False

    def announce(self, rows: slice) -> Vector:
        """See `Contender`."""
        with unchecked():
            Z = self._scaler.partial_fit(self._X[rows]).transform(self._X[rows])
            return np.asarray(self._model.predict_proba(Z)[:, 1]) if self._started else np.full(len(Z), 0.5)

    def learn(self, rows: slice) -> None:
        """See `Contender`."""
        if rows.stop > rows.start:
            with unchecked():
                Z = self._scaler.transform(self._X[rows])
                self._model.partial_fit(Z, self._y[rows], classes=CLASSES)
            self._started = True

    def close(self) -> None:
        """It holds nothing."""


@dataclass(frozen=True)
class Entry:
    """Name a contender that can be made for a stream, and the package that it needs."""

    make: Callable[[Stream], Contender]
    needs: str = "aioli"


def _river_sgd(optimizer: str, *settings: float) -> Entry:
    def make(stream: Stream) -> Contender:
        given = getattr(importlib.import_module("river.optim"), optimizer)(*settings)
        model = importlib.import_module("river.linear_model").LogisticRegression(given)
        return River(importlib.import_module("river.preprocessing").StandardScaler() | model, stream)

    return Entry(make, "river")


def _river_tree(module: str, name: str) -> Entry:
    return Entry(lambda stream: River(getattr(importlib.import_module(module), name)(seed=0), stream), "river")


OURS = {
    "auto": Entry(lambda stream: Tickets(Auto(), stream.X, stream.y)),
    "aioli": Entry(lambda stream: Tickets(AIOLI(), stream.X, stream.y)),
    "aioli-0.01": Entry(lambda stream: Tickets(AIOLI(ridge=0.01), standardised(stream.X), stream.y)),
}
PEERS = {
    "river-sgd-0.01": _river_sgd("SGD", 0.01),
    "river-sgd-0.1": _river_sgd("SGD", 0.1),
    "vw": Entry(lambda stream: Vowpal("", stream), "vowpalwabbit"),
    "vw-coin": Entry(lambda stream: Vowpal("--coin", stream), "vowpalwabbit"),
    "river-adagrad": _river_sgd("AdaGrad"),
    "sklearn-sgd": Entry(ScikitLearn, "sklearn"),
}
SLOW = {
    "river-hoeffding": _river_tree("river.tree", "HoeffdingAdaptiveTreeClassifier"),
    "river-forest": _river_tree("river.forest", "ARFClassifier"),
}
CONTENDERS: dict[str, Entry] = OURS | PEERS | SLOW
