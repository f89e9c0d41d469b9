"""Announcements of many classes: probabilities of rows whose labels come later."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.learners.announcements import ABSENT, Announcements, Numbers
from aioli.numerics.compiling import Matrix
from aioli.snapshots.tree import Snapshot

__all__ = ["ClassAnnouncements", "LateClasses"]


@dataclass(frozen=True, eq=False)
class ClassAnnouncements:
    """The predictions of some rows, with all that learning their labels will need: keep it until the labels come.

    It is plain data: `snapshot` and pickle move it. `a[i]` are the announcements of one row, `a.of(rows)` of several,
    and `ClassAnnouncements.joined` puts them together in any order.

    Attributes
    ----------
    tickets
        The number of each announcement, and what a mixture must remember of it (`aioli.Announcements`).
    logits
        The logarithms of the probabilities announced, one column a class; -inf for classes that were not known then.
    """

    tickets: Announcements
    logits: Matrix

    def __len__(self) -> int:
        return len(self.tickets)

    def __getitem__(self, row: int) -> "ClassAnnouncements":
        return self.of(np.arange(len(self))[row : row + 1] if row >= 0 else np.arange(len(self))[row:][:1])

    def __iter__(self) -> "Iterator[ClassAnnouncements]":
        return (self[t] for t in range(len(self)))

    def of(self, rows: slice | Numbers) -> "ClassAnnouncements":
        """Return the announcements of some of the rows."""
        return ClassAnnouncements(self.tickets.of(rows), self.logits[rows])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Put announcements of one learner together, in this order; classes that came later are -inf before."""
        classes = max((part.logits.shape[1] for part in parts), default=0)
        wide = [np.pad(p.logits, ((0, 0), (0, classes - p.logits.shape[1])), constant_values=-np.inf) for p in parts]
        return cls(Announcements.joined([part.tickets for part in parts]), np.concatenate(wide))

    @property
    def probabilities(self) -> Matrix:
        """The probabilities announced, one row a row and one column a class."""
        return np.exp(self.logits)

    def snapshot(self) -> Snapshot:
        """Return its numbers as a snapshot."""
        logits = np.where(np.isinf(self.logits), -ABSENT, self.logits)
        return Snapshot("ClassAnnouncements", {}, {"logits": logits}, {"tickets": self.tickets.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal announcements from a snapshot."""
        given = snapshot.of("ClassAnnouncements")
        tickets = Announcements.restore(given.part("tickets"))
        logits = given.array("logits", (len(tickets), None))
        return cls(tickets, np.where(logits == -ABSENT, -np.inf, logits))


LateClasses = ClassAnnouncements | None
