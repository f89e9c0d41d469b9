"""Boosted trees as a player of many classes: what they say after some rounds and after all, mixed into one voice."""

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
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

        scores = np.empty((1, self.mixture.experts, self.classes))

        def play() -> None:
            if len(X) == 1:
                self.boosted.play_row(X, codes, weights, scores)
                write_log_probabilities(scores, said)
            else:
                write_log_probabilities(self.boosted.play(X, codes, weights), said)
            combine()
            np.log(announced, out=own)

        return play

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that consults, again and again, about the one row that X holds."""
        scores = np.empty((1, self.mixture.experts, self.classes))
        said = np.empty((self.mixture.experts, 1, self.classes))
        announced, announce = self.mixture.prepared_announce(said)
        own = out[:, : self.classes]

        def consult() -> None:
            self.boosted.consult_into(X, scores)
            write_log_probabilities(scores, said)
            announce()
            np.log(announced, out=own)

        return consult

    def consult(self, X: Matrix, out: Matrix) -> None:
        """Write the logarithms of the probabilities of rows, each as if it came next; changes nothing."""
        said = np.empty((self.mixture.experts, len(X), self.classes))
        write_log_probabilities(self.boosted.consult(X), said)
        np.log(self.mixture.announce(said), out=out[:, : self.classes])

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:
        """Hear of columns whose missing numbers are marked, as `BoostedState` does."""
        self.boosted.mark_gaps(gaps)

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


@compiled("void(f8[:,:,::1],f8[:,:,::1])", uncounted=True)
def write_log_probabilities(scores: Cube, out: Cube) -> None:
    """Write the logarithms of the probabilities, by stage, row and class; all alike before the first model. O(K) each.

    The scores are by row, stage and class: NaN before the first model.
    """
    rows, stages, classes = scores.shape
    for t in range(rows):
        for stage in range(stages):
            z, log_p = scores[t, stage], out[stage, t]
            top, total = z[0], 0.0
            for k in range(classes):
                top = max(top, z[k])
            for k in range(classes):
                total += math.exp(z[k] - top)
            whole = top + math.log(total)
            for k in range(classes):
                log_p[k] = -math.log(classes) if math.isnan(whole) else z[k] - whole
