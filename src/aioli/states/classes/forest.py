"""A forest as a player of many classes: its trees and what they say together, mixed and stacked into one voice."""

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.mixture import ClassMixture
from aioli.states.forest.kinds import MEMBERS
from aioli.states.forest.single_row import prepared_consult, prepared_play
from aioli.states.forest.state import ForestState

__all__ = ["ClassForestState"]

WHOLE = 8.0  # rows of one class up to which a leaf is not split: among many classes, most leaves have one for long


class ClassForestState:
    """Plays the trees of `ForestState` on rows as they are, and combines its members as `ClassMixture` does.

    What it writes may have places behind those of its classes, which it leaves as they are: for a class that stands for
    all that nobody has seen, of which trees say nothing. It would cost them 1 to 3 % of their loss.

    Parameters
    ----------
    width, classes
        How many columns a row has, and how many classes there are.
    trees
        How many trees.
    """

    def __init__(self, width: int, classes: int, trees: int) -> None:
        self.forest = ForestState(width, classes, trees, WHOLE)
        self.mixture = ClassMixture(np.ones(len(MEMBERS) + 1), classes)

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return self.forest.width

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.forest.classes

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return self.forest.trees

    def play(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        """Play the rows in order; `out` receives the logarithms of the probabilities before each label."""
        self.prepared(X, codes, weights, out)()

    def prepared(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the rows that these arrays hold."""
        said = np.empty((len(MEMBERS), len(X), self.classes))
        announced, combine = self.mixture.prepared(said, codes, weights)
        own = out[:, : self.classes]

        def play_trees() -> None:
            said[...] = self.forest.play(X, codes, weights).transpose(1, 0, 2)

        if len(X) == 1:  # by member and row is then by row and member
            by_row = said.reshape(1, len(MEMBERS), self.classes)
            play_trees = prepared_play(self.forest, X, codes, weights, by_row)

        def play() -> None:
            play_trees()
            combine()
            np.log(announced, out=own)

        return play

    def consult(self, X: Matrix, out: Matrix) -> None:
        """Write the logarithms of the probabilities of rows, each as if it came next; changes nothing."""
        np.log(self.mixture.announce(_by_member(self.forest.consult(X))), out=out[:, : self.forest.classes])

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that consults, again and again, about the one row that X holds."""
        said = np.empty((len(MEMBERS), 1, self.classes))
        consult_trees = prepared_consult(self.forest, X, said.reshape(1, len(MEMBERS), self.classes))
        announced, announce = self.mixture.prepared_announce(said)
        own = out[:, : self.classes]

        def consult() -> None:
            consult_trees()
            announce()
            np.log(announced, out=own)

        return consult

    def grown(self, width: int, _places: NDArray[np.int64]) -> Self:
        """Return the state of wider rows, new columns being behind those so far, and always 0 until now."""
        larger = type(self).restore(self.snapshot())
        larger.forest = larger.forest.grown(width - self.width)
        return larger

    def add_class(self) -> None:
        """Make room for one further class, which no row has had."""
        self.forest = self.forest.with_class()
        self.mixture.add_class()

    def snapshot(self) -> Snapshot:
        """Return the trees and their mixture."""
        parts = {"forest": self.forest.snapshot(), "mixture": self.mixture.snapshot()}
        return Snapshot("ClassForestState", parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("ClassForestState")
        forest, mixture = ForestState.restore(given.part("forest"), WHOLE), ClassMixture.restore(given.part("mixture"))
        if mixture.experts != len(MEMBERS) or mixture.classes != forest.classes:
            raise SnapshotRefused(f"in a {given.kind}, trees of {forest.classes} classes came with another mixture")
        made = cls(0, 0, 1)
        made.forest, made.mixture = forest, mixture
        return made


def _by_member(said: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each member says, by member, row and class, of what is by row, member and class."""
    return np.ascontiguousarray(said.transpose(1, 0, 2))
