"""The game of late labels behind `Auto` for many classes: what announcements keep, and what is learned from them."""

from typing import Self

import numpy as np

from aioli.errors import UNCHANGED, AnnouncementRefused
from aioli.learners.classes.ensemble import ClassEnsemble
from aioli.learners.classes.experts import CLASS_EXPERTS, FIRST_TWO
from aioli.learners.classes.heard import Heard
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.late import COUNTED, EXPERTS, WHOLE, LateClassMixture

__all__ = ["LateGame"]

# Announcements in files know an expert by its place here: a new one stands at the end of CLASS_EXPERTS, and none goes.
NAMES = [expert.name for expert in (FIRST_TWO, *CLASS_EXPERTS)]
MOST_KEPT = 4096  # numbers of an announcement beyond which only the whole is kept: with a thousand classes, say

# an announcement's memory: which experts it holds, a bit each, and of how many classes; then the logarithms of what was
# announced, of the whole, of the shares of the classes, and of each of these experts in the order of their bits
HELD, CLASSES, FIRST = range(3)
SMALLEST, ROUNDED = -750.0, 1e-6  # the logarithm of a probability above 0 lies between these
FOREIGN = "the announcements are of another kind of learner" + UNCHANGED


class LateGame:
    """Weigh everybody in an ensemble by what was announced, from the first late label on.

    The ensemble itself is trained as if labels came in time (`states.classes.late`).
    """

    def __init__(self) -> None:
        self._mixture = LateClassMixture(NAMES)

    @property
    def awake(self) -> bool:
        """Whether a label has come late, so that this is the game that is played."""
        return self._mixture.awake

    def announce(self, ensemble: ClassEnsemble, X: Matrix, counts: Vector) -> tuple[Matrix, Matrix]:
        """Return the logarithms announced of rows, and what to remember of each.

        `counts` is how many rows of each class there were.
        """
        heard = self._of_few(ensemble.consult(X))
        whole, counted, Z = np.log(heard.whole), self._counted(counts, ensemble.classes), heard.Z
        places = self._mixture.places(heard.names)
        said = self._mixture.announce(whole, counted, places, Z) if self.awake else whole
        rows, classes = whole.shape
        memory = np.empty((rows, FIRST + (3 + len(Z)) * classes))
        memory[:, HELD], memory[:, CLASSES] = sum(1 << place - EXPERTS for place in places.tolist()), classes
        kept = memory[:, FIRST:].reshape(rows, -1, classes)
        kept[:, 0], kept[:, 1] = said, whole
        kept[:, 2] = np.log((counted + 0.5) / (counted.sum() + 0.5 * classes))
        kept[:, 3:] = Z[np.argsort(places)].transpose(1, 0, 2)
        return said, memory

    def predict(self, ensemble: ClassEnsemble, X: Matrix, counts: Vector) -> Matrix:
        """Return the logarithms that `announce` announces."""
        heard = self._of_few(ensemble.consult(X))
        given = np.log(heard.whole), self._counted(counts, ensemble.classes), self._mixture.places(heard.names), heard.Z
        return self._mixture.announce(*given)

    def play(self, ensemble: ClassEnsemble, X: Matrix, codes: Codes, weights: Vector, counts: Vector) -> Matrix:
        """Learn from rows in order, whose labels come in time; return the logarithms announced before each label."""
        parts: list[Matrix] = []
        known, first = self._counted(counts, ensemble.classes), 0
        for each in ensemble.played(X, codes, weights):
            heard = self._of_few(each)
            part = slice(first, first + len(heard.whole))
            given = np.log(heard.whole), known, self._mixture.places(heard.names), heard.Z
            parts.append(self._mixture.play(*given, codes[part], weights[part]))
            np.add.at(known, codes[part], weights[part])
            first = part.stop
        return np.concatenate(parts)

    def answer(self, memory: Matrix, codes: Codes, weights: Vector, delays: Vector) -> None:
        """Learn from labels, from what announcements remember; one that remembers nothing teaches nothing."""
        if memory.shape[1] <= FIRST or not (self.awake or delays.any()):
            return
        told = np.isfinite(memory[:, HELD])  # those announced before the first row remember nothing
        memory, codes, weights, delays = memory[told], codes[told], weights[told], delays[told]
        members = np.zeros((len(codes), EXPERTS + len(NAMES)))
        said = np.zeros(len(codes))
        kinds, kind_of = np.unique(memory[:, :FIRST], axis=0, return_inverse=True)
        if not ((kinds >= (0, 1)) & (kinds < (1 << len(NAMES), memory.shape[1]))).all():
            raise AnnouncementRefused(FOREIGN)
        for kind, (held, classes) in enumerate(kinds.astype(np.int64).tolist()):
            rows = np.flatnonzero(kind_of.reshape(-1) == kind)
            places = [EXPERTS + i for i in range(len(NAMES)) if held >> i & 1]
            if FIRST + (3 + len(places)) * classes > memory.shape[1]:
                raise AnnouncementRefused(FOREIGN)
            own = memory[rows, FIRST : FIRST + (3 + len(places)) * classes].reshape(len(rows), -1, classes)
            # a class that nobody had seen then stood behind those known
            of_label = own[np.arange(len(rows)), :, np.minimum(codes[rows], classes - 1)]
            members[rows] = of_label[:, 1][:, None]
            members[rows[:, None], np.array([WHOLE, COUNTED, *places])] = of_label[:, 1:]
            said[rows] = of_label[:, 0]
        if not ((said >= SMALLEST) & (said <= ROUNDED)).all() or not (members <= ROUNDED).all():
            raise AnnouncementRefused(FOREIGN)
        self._mixture.answer(said, members, weights, delays)

    def _of_few(self, heard: Heard) -> Heard:
        """Return what is heard, without the experts where classes are so many that announcements would be large."""
        few = (3 + len(heard.names)) * heard.whole.shape[1] <= MOST_KEPT
        return heard if few else Heard(heard.whole, [], heard.below[:0], heard.above[:1])

    @staticmethod
    def _counted(counts: Vector, classes: int) -> Vector:
        """Return the rows of each class, and none of the one that stands for all unseen, where it has a place."""
        return np.pad(counts, (0, classes - counts.size))

    def snapshot(self) -> Snapshot:
        """Return what the mixture remembers."""
        return self._mixture.snapshot()

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal game."""
        made = cls()
        made._mixture = LateClassMixture.restore(snapshot, NAMES)
        return made
