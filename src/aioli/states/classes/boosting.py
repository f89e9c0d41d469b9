"""Boosted trees as a player of many classes: what they say after some rounds and after all, mixed into one voice."""

from collections.abc import Callable
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Snapshot
from aioli.states.boosting.fitting import Boosting
from aioli.states.boosting.state import BoostedState
from aioli.states.classes.mixture import ClassMixture

__all__ = ["ClassBoostedState"]


class ClassBoostedState:
    """Plays the trees of `BoostedState` on rows as they are, and combines its stages as `ClassMixture` does.

    What it writes may have places behind those of its classes, which it leaves as they are: for a class that stands for
    all that nobody has seen, of which trees say nothing.

    Parameters
    ----------
    how
        How models are fitted, and when.
    width, classes
        How many columns a row has, and how many classes there are.
    """

    def __init__(self, how: Boosting, width: int, classes: int) -> None:
        self.boosted = BoostedState(how, width, classes)
        self.mixture = ClassMixture(np.ones(len(how.stages) + 1), classes)

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return self.boosted.width

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.boosted.outputs

    def play(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        """Play the rows in order; `out` receives the logarithms of the probabilities before each label."""
        self.prepared(X, codes, weights, out)()

    def prepared(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the rows that these arrays hold."""
        said = np.empty((self.mixture.experts, len(X), self.classes))
        announced, combine = self.mixture.prepared(said, codes, weights)
        own = out[:, : self.classes]

        def play() -> None:
            said[...] = _log_probabilities(self.boosted.play(X, codes, weights))
            combine()
            np.log(announced, out=own)

        return play

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that consults, again and again, about the one row that X holds."""
        return partial(self.consult, X, out)

    def consult(self, X: Matrix, out: Matrix) -> None:
        """Write the logarithms of the probabilities of rows, each as if it came next; changes nothing."""
        said = _log_probabilities(self.boosted.consult(X))
        np.log(self.mixture.announce(said), out=out[:, : self.classes])

    def grown(self, width: int, _places: NDArray[np.int64]) -> Self:
        """Return the state of wider rows, new columns being behind those so far, and always 0 until now."""
        larger = type(self).restore(self.snapshot(), self.boosted.how)
        larger.boosted = larger.boosted.grown(width - self.width)
        return larger

    def add_class(self) -> None:
        """Make room for one further class, which no row has had."""
        self.boosted = self.boosted.with_class()
        self.mixture.add_class()

    def snapshot(self) -> Snapshot:
        """Return the trees and their mixture."""
        parts = {"boosted": self.boosted.snapshot(), "mixture": self.mixture.snapshot()}
        return Snapshot("ClassBoostedState", parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot, how: Boosting) -> Self:
        """Make an equal state, whose models are fitted so."""
        given = snapshot.of("ClassBoostedState")
        boosted, mixture = BoostedState.restore(given.part("boosted"), how), ClassMixture.restore(given.part("mixture"))
        if mixture.experts != len(how.stages) or mixture.classes != boosted.outputs:
            raise SnapshotRefused(f"in a {given.kind}, trees of {boosted.outputs} classes came with another mixture")
        made = cls(how, 0, 1)
        made.boosted, made.mixture = boosted, mixture
        return made


def _log_probabilities(scores: Cube) -> Cube:
    """Return the logarithms of the probabilities, by stage, row and class; all classes alike before the first model."""
    z = np.nan_to_num(scores.transpose(1, 0, 2))
    z -= z.max(axis=2, keepdims=True)
    z -= np.log(np.exp(z).sum(axis=2, keepdims=True))
    return np.ascontiguousarray(z)
