"""Many classes whose labels come a batch at a time: log loss of what was announced before the first label of a batch.

`python -m benchmarks.class_delays --streams FOLDER` plays streams of more than two classes in batches of 10 to 2,000
rows: `Auto`, the same with its late labels learned as if they had come in time, the shares of the classes so far,
River's softmax regression and scikit-learn's SGD, both behind scalers.
"""

import argparse
import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from aioli import ClassAuto
from aioli.learners.classes.late_game import LateGame
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from benchmarks.class_streams import class_stream_names, load_class_stream
from benchmarks.table import Table, as_text

__all__ = ["main"]

BATCHES = (10, 100, 500, 2000)
LEAST = 1e-3  # as which a smaller probability counts, for everybody alike


class Player(Protocol):
    """A learner of codes 0, 1, … in batches."""

    def predict(self, X: Matrix) -> Matrix:
        """Return the probabilities of the classes, for rows of which no label is known."""

    def learn(self, X: Matrix, codes: Codes) -> None:
        """Learn from the labels of the rows predicted last."""


class Auto:
    """`Auto` with its classes declared; `as_in_time` learns late labels as if they had come in time."""

    def __init__(self, classes: int, as_in_time: bool = False) -> None:
        self.learner = ClassAuto(classes=list(range(classes)))
        if as_in_time:
            self.learner._late_game = _LearnsNothing()

    def predict(self, X: Matrix) -> Matrix:
        """Announce the rows."""
        self.announced = self.learner.announce_many(X)
        return self.announced.probabilities

    def learn(self, X: Matrix, codes: Codes) -> None:
        """Learn from what was announced."""
        self.learner.learn_many(X, codes, announced=self.announced)


class _LearnsNothing(LateGame):
    def answer(self, *_: object) -> None:
        """Learn nothing from announcements."""


class Shares:
    """The shares of the classes so far."""

    def __init__(self, classes: int) -> None:
        self.counts: Vector = np.full(classes, 0.5)

    def predict(self, X: Matrix) -> Matrix:
        """Return them for each row."""
        return np.tile(self.counts / self.counts.sum(), (len(X), 1))

    def learn(self, X: Matrix, codes: Codes) -> None:
        """Count the labels."""
        del X
        self.counts += np.bincount(codes, minlength=self.counts.size)


class RiverSoftmax:
    """River's softmax regression behind its scaler."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        scaler = importlib.import_module("river.preprocessing").StandardScaler()
        self.model = scaler | importlib.import_module("river.linear_model").SoftmaxRegression()

    def predict(self, X: Matrix) -> Matrix:
        """Ask it row by row."""
        said = [self.model.predict_proba_one(row) for row in _dictionaries(X)]
        return np.array([[p.get(k, 0.0 if p else 1.0 / self.classes) for k in range(self.classes)] for p in said])

    def learn(self, X: Matrix, codes: Codes) -> None:
        """Teach it row by row."""
        for row, code in zip(_dictionaries(X), codes.tolist(), strict=True):
            self.model.learn_one(row, code)


class ScaledSGD:
    """scikit-learn's SGD on the log loss behind its scaler."""

    def __init__(self, classes: int) -> None:
        self.classes, self.begun = classes, False
        self.scaler = importlib.import_module("sklearn.preprocessing").StandardScaler()
        self.model = importlib.import_module("sklearn.linear_model").SGDClassifier(loss="log_loss", random_state=0)

    def predict(self, X: Matrix) -> Matrix:
        """Ask it, once it has seen a batch."""
        if not self.begun:
            return np.full((len(X), self.classes), 1.0 / self.classes)
        return np.asarray(self.model.predict_proba(self.scaler.transform(X)))

    def learn(self, X: Matrix, codes: Codes) -> None:
        """Teach it the batch."""
        self.scaler.partial_fit(X)
        self.model.partial_fit(self.scaler.transform(X), codes, classes=np.arange(self.classes))
        self.begun = True


PLAYERS: dict[str, Callable[[int], Player]] = {
    "Auto": Auto,
    "as if in time": lambda classes: Auto(classes, as_in_time=True),
    "class shares": Shares,
    "River softmax": RiverSoftmax,
    "scaled SGD": ScaledSGD,
}


def _dictionaries(X: Matrix) -> Iterator[dict[int, float]]:
    return (dict(enumerate(row)) for row in X.tolist())


def loss_of(player: Player, X: Matrix, codes: Codes, batch: int) -> float:
    """Return the mean log loss of what a player announced."""
    total = 0.0
    for first in range(0, len(codes), batch):
        rows = np.ascontiguousarray(X[first : first + batch])
        labels = codes[first : first + batch]
        said = player.predict(rows)[np.arange(len(rows)), labels]
        total -= float(np.log(np.clip(said, LEAST, 1.0 - LEAST)).sum())
        player.learn(rows, labels)
    return total / len(codes)


def main(arguments: Sequence[str] | None = None) -> None:
    """Play and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.class_delays", description=__doc__)
    parser.add_argument("--streams", type=Path, metavar="DIR", help="NAME.csv[.gz]")
    parser.add_argument("--rows", type=int, default=10_000, help="of each stream, from its beginning")
    parser.add_argument("--only", default="", metavar="NAME,…", help="these streams and no other")
    options = parser.parse_args(arguments)
    only = [name for name in options.only.split(",") if name]
    lines = []
    for name in class_stream_names(options.streams):
        found = load_class_stream(options.streams, name, options.rows) if not only or name in only else None
        if found is None:
            continue
        X, codes = found
        classes = int(codes.max()) + 1
        for batch in (size for size in BATCHES if 2 * size <= len(codes)):
            losses = [loss_of(make(classes), X, codes, batch) for make in PLAYERS.values()]
            lines.append((f"{name}, {classes} classes", f"{batch:,}", *(f"{loss:.4f}" for loss in losses)))
            print(*lines[-1], flush=True)
    notes = ["log loss of probabilities in [0.001, 0.999], announced before the first label of a batch"]
    print(as_text(Table("Many classes in batches", ("stream", "rows a batch", *PLAYERS), lines, notes)))


if __name__ == "__main__":
    main()
