"""Announcements: predictions of rows whose labels come later, with all that learning the labels will need.

>>> from aioli import AIOLI
>>> learner = AIOLI()
>>> announced = learner.announce([1.0, 2.0])
>>> announced.probability
0.5
>>> learner.learn([1.0, 2.0], 1, announced=announced)
0.5
>>> learner.learn([1.0, 2.0], 1, announced=announced)
Traceback (most recent call last):
    ...
aioli.errors.AnnouncementRefused: announcement 0 has had its label already (nothing was learned)
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.errors import AnnouncementRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Announcement", "Announcements", "Delayed", "Late", "LateMany", "Numbers"]

Numbers = NDArray[np.int64]

ABSENT = 1e300  # stands in a file for the log-odds of an expert that had retired: files hold finite numbers


@dataclass(frozen=True, eq=False)
class Announcements:
    """The predictions of some rows, with all that learning their labels will need: keep it until the labels come.

    It is plain data, eight bytes a number: `snapshot` and pickle move it, also to another process, and it stays valid
    when the learner has been saved and loaded, has grown, or has lost experts since. `a[i]` is one row's, `a.of(rows)`
    are several rows', and `Announcements.joined` puts them together in any order.

    Attributes
    ----------
    learner
        The number that the learner of these announcements goes by.
    numbers
        The number of each announcement, counted from 0.
    known
        How many labels the learner knew when the row was announced.
    logits
        The log-odds announced.
    memory
        The log-odds of a mixture's experts, and what else it needs (`states.mixture.late`), a row each; of many classes
        the logarithms of probabilities (`learners.classes.late_game`); no columns for a learner that is no mixture.
    """

    learner: int
    numbers: Numbers
    known: Numbers
    logits: Vector
    memory: Matrix

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, row: int) -> "Announcement":
        memory = self.memory[row] if self.memory.shape[1] else None
        return Announcement(self.learner, self.numbers.item(row), self.known.item(row), self.logits.item(row), memory)

    def __iter__(self) -> "Iterator[Announcement]":
        return (self[t] for t in range(len(self)))

    def of(self, rows: slice | Numbers) -> "Announcements":
        """Return the announcements of some of the rows."""
        parts = self.numbers[rows], self.known[rows], self.logits[rows], self.memory[rows]
        return Announcements(self.learner, *parts)

    @property
    def probabilities(self) -> Vector:
        """The probabilities announced."""
        return sigmoid_many(self.logits)

    @property
    def bytes(self) -> int:
        """The size of the arrays, in bytes."""
        return self.numbers.nbytes + self.known.nbytes + self.logits.nbytes + self.memory.nbytes

    @classmethod
    def joined(cls, parts: "Sequence[Announcements | Announcement]") -> Self:
        """Put announcements of one learner together, in this order."""
        several = [part.row if isinstance(part, Announcement) else part for part in parts]
        learners = {part.learner for part in several}
        if len(learners) != 1:
            raise AnnouncementRefused(f"announcements of {len(learners)} learners cannot be put together")
        numbers = np.concatenate([part.numbers for part in several])
        known = np.concatenate([part.known for part in several])
        logits = np.concatenate([part.logits for part in several])
        widest = max(part.memory.shape[1] for part in several)
        memory = np.full((sum(map(len, several)), widest), math.nan)
        first = 0
        for part in several:
            memory[first : first + len(part), : part.memory.shape[1]] = part.memory
            first += len(part)
        return cls(learners.pop(), numbers, known, logits, memory)

    def snapshot(self) -> Snapshot:
        """Return its numbers as a snapshot."""
        arrays: dict[str, Array] = {"numbers": self.numbers.copy(), "known": self.known.copy()}
        arrays |= {"logits": self.logits.copy(), "memory": np.nan_to_num(self.memory, nan=ABSENT)}
        return Snapshot("Announcements", {"learner": self.learner}, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal announcements from a snapshot."""
        given = snapshot.of("Announcements")
        numbers = given.integers("numbers", (None,))
        rows = len(numbers)
        known, logits = given.integers("known", (rows,)), given.array("logits", (rows,))
        memory = given.array("memory", (rows, None))
        return cls(given.whole("learner"), numbers, known, logits, np.where(memory == ABSENT, np.nan, memory))


class Announcement(NamedTuple):
    """The prediction of one row, with all that learning its label will need: keep it until the label comes."""

    learner: int
    number: int
    known: int
    logit: float
    memory: Vector | None = None

    @property
    def probability(self) -> float:
        """The probability announced."""
        return sigmoid(self.logit)

    @property
    def row(self) -> Announcements:
        """This announcement as `Announcements` of one row."""
        memory = np.empty((1, 0)) if self.memory is None else self.memory[None, :]
        numbers, known = np.array([self.number]), np.array([self.known])
        return Announcements(self.learner, numbers, known, np.array([self.logit]), memory)

    def snapshot(self) -> Snapshot:
        """Return its numbers as a snapshot."""
        return self.row.snapshot()

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal announcement from a snapshot."""
        row = Announcements.restore(snapshot)
        if len(row) != 1:
            raise AnnouncementRefused(f"{len(row)} announcements came for one")
        return cls(*row[0])


Late: TypeAlias = (
    Announcement | None
)  # what was announced for a row whose label comes late; None where it comes at once
LateMany: TypeAlias = Announcements | None


class Delayed(NamedTuple):
    """The announced log-odds and the delays with which a learner learns late labels, one a row.

    Attributes
    ----------
    logits
        The log-odds announced; NaN where a row comes in time.
    memory
        As in `Announcements`; no columns where only log-odds were kept.
    late
        How many rows late each label is.
    """

    logits: Vector
    memory: Matrix
    late: Vector

    @classmethod
    def by_logits(cls, logits: Vector) -> Self:
        """Make it from log-odds alone, with no memory and no delay."""
        return cls(logits, np.empty((len(logits), 0)), np.zeros(len(logits)))

    def of(self, rows: slice) -> Self:
        """Return the log-odds, memory and delays of a slice of the rows."""
        return type(self)(self.logits[rows], self.memory[rows], self.late[rows])
