"""The learner that knew two classes, as an expert among many classes: nothing that it has learned is lost."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.learners.named_rows import TakesNamedRows
from aioli.learners.protocol import Grows, Saves, Weighs
from aioli.learners.registry import restore_learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Snapshot

__all__ = ["FirstTwoState", "TwoClasses"]


class TwoClasses(Grows, Saves, Weighs, Protocol):
    """A learner of two classes that weighs rows, grows and saves."""


class FirstTwoState:
    r"""Plays the game of the first two classes on, and gives each class besides its share of the rows.

    Where n rows have come, $n_k$ of class k, $p_k = (n_k + \tfrac12)/(n + \tfrac K2)$ for a later class; the first two
    share the rest as the learner of two classes says, and it learns from their rows alone.
    """

    def __init__(self, two: TwoClasses, classes: int) -> None:
        self.two = two
        self.counts: Vector = np.zeros(classes)
        self.counts[0] = two.rounds  # of both together

    @classmethod
    def copied(cls, two: TwoClasses) -> Self:
        """Return the state of a learner that has just known two classes, which stays as it is."""
        copied = copy.deepcopy(two)
        if isinstance(copied, TakesNamedRows):
            copied.forget_encoding()
        return cls(copied, 2)

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return self.two.n_features_ or 0

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.counts.size

    def prepared(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the rows that these arrays hold."""
        return partial(self.play, X, codes, weights, out)

    def play(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        """Play the rows in order; `out` receives the logarithms of the probabilities before each label."""
        mine = codes < 2
        first = 0
        for last in [*(np.flatnonzero(~mine) + 1).tolist(), len(X)]:  # what is said of a row knows those before it
            rows = slice(first, last)
            own = mine[rows]
            z = np.empty(last - first)
            known = np.flatnonzero(own)
            if known.size:
                part = X[rows][known]
                p = self.two.learn_many(part, codes[rows][known].astype(np.float64), weights[rows][known])
                z[known] = np.log(p) - np.log1p(-p)
            if not own.all():
                z[-1] = self.two.predict_logit(X[last - 1])
            self._write(z, codes[rows], out[rows])
            first = last

    def consult(self, X: Matrix, out: Matrix) -> None:
        """Write the logarithms of the probabilities of rows, each as if it came next; changes nothing."""
        later = self._later(self.counts[None])
        out[...] = _divided(self.two.predict_logit_many(X), np.repeat(later, len(X), axis=0))

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that consults, again and again, about the rows that X holds."""
        return partial(self.consult, X, out)

    def grown(self, width: int, _places: NDArray[np.int64]) -> Self:
        """Return the state of wider rows."""
        larger = type(self).restore(self.snapshot())
        larger.two.grow(width - self.width)
        return larger

    def add_class(self) -> None:
        """Make room for one further class."""
        self.counts = np.append(self.counts, 0.0)

    def snapshot(self) -> Snapshot:
        """Return the learner of two classes, and the counts."""
        return Snapshot("FirstTwoState", arrays={"counts": self.counts.copy()}, parts={"two": self.two.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("FirstTwoState")
        counts = given.array("counts", (None,))
        if counts.size < 2 or not (counts >= 0.0).all():
            raise SnapshotRefused(f"in a FirstTwoState, the counts are {counts.tolist()}")
        made = cls(cast(TwoClasses, restore_learner(given.part("two", "Auto"))), counts.size)
        made.counts[...] = counts
        return made

    def _write(self, z: Vector, codes: Codes, out: Matrix) -> None:
        """Write what is said of rows whose log-odds between the first two are z, and count their classes."""
        came = np.zeros((len(z) + 1, self.classes))
        came[np.arange(1, len(z) + 1), np.where(codes < 2, 0, codes)] = 1.0
        before = self.counts + np.cumsum(came, axis=0)
        self.counts = before[-1]
        out[...] = _divided(z, self._later(before[:-1]))

    def _later(self, counts: Matrix) -> Matrix:
        """Return the probabilities of the classes behind the first two."""
        return np.asarray((counts[:, 2:] + 0.5) / (counts.sum(axis=1, keepdims=True) + 0.5 * self.classes))


def _divided(z: Vector, later: Matrix) -> Matrix:
    """Return the logarithms of the probabilities of all classes: what the later ones leave, the first two share."""
    left = np.log1p(-later.sum(axis=1))
    return np.column_stack([left - softplus_many(z), left - softplus_many(-z), np.log(later)])
