"""Announcements: predictions of rows whose labels come later, and the ledger of those that still wait for one.

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
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.errors import AnnouncementRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Announcement", "Announcements", "Delayed", "Late", "LateMany", "Ledger"]

Numbers = NDArray[np.int64]

ABSENT = 1e300  # stands in a file for the log-odds of an expert that had retired: files hold finite numbers
BITS = tuple(1 << place for place in range(8))
_make = tuple.__new__  # a NamedTuple's own way is a call longer, and an announcement is made a row
TRIM = 1024  # bytes of bits kept before the first look at the oldest


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
        The log-odds of a mixture's experts, and what else it needs (`states.mixture.late`), a row each; no columns for
        a learner that is no mixture.
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


class Ledger:
    """Numbers the announcements of one learner, and remembers which have had their label.

    One bit for each announcement since the oldest that still waits: a label is learned once.
    """

    def __init__(self) -> None:
        self.learner = 0  # until the first announcement
        self.issued = 0
        self._first = 0  # the oldest that may still wait, a multiple of eight
        self._settled = bytearray()  # a bit each, from `_first` on
        self._room = 0  # announcements for which there are bits
        self._trim_at = TRIM  # bytes at which to look whether the oldest have had their labels

    def issue_one(self, known: float, logit: float, memory: Vector | None = None) -> Announcement:
        """Make an announcement of these log-odds, `known` labels having been learned so far."""
        number = self.issued
        if self._room <= number:
            self._issue(1)
        else:
            self.issued = number + 1
        return _make(Announcement, (self.learner, number, int(known), logit, memory))

    def issue(self, count: int, known: int, logits: Vector, memory: Matrix) -> Announcements:
        """Make `count` announcements of these log-odds, `known` labels having been learned so far."""
        first = self._issue(count)
        return Announcements(self.learner, np.arange(first, first + count), np.full(count, known), logits, memory)

    def _issue(self, count: int) -> int:
        if not self.learner:
            self.learner = secrets.randbits(62) | 1
        first = self.issued
        self.issued += count
        missing = ((self.issued - self._first + 7) >> 3) - len(self._settled)
        if missing > 0:
            self._settled.extend(bytes(missing))
            if len(self._settled) >= self._trim_at:
                waiting = self._settled.lstrip(b"\xff")
                self._first += 8 * (len(self._settled) - len(waiting))
                self._settled = waiting
                self._trim_at = max(TRIM, 2 * len(waiting))
            self._room = self._first + 8 * len(self._settled)
        return first

    def settle_one(self, announced: Announcement) -> None:
        """Mark an announcement as having had its label; refuse one that is not this learner's or has had it already."""
        learner, number, _, _, _ = announced
        place = number - self._first
        if learner == self.learner and place >= 0 and number < self.issued:
            settled, bit = self._settled, BITS[place & 7]
            place >>= 3
            octet = settled[place]
            if not octet & bit:
                settled[place] = octet | bit
                return
        self.check(announced.row, 1)

    def reopen_one(self, announced: Announcement) -> None:
        """Take back `settle_one`: the row could not be learned."""
        place = announced.number - self._first
        self._settled[place >> 3] &= ~BITS[place & 7]

    def check(self, announced: Announcements, rows: int) -> None:
        """Refuse announcements that are not one a row, not this learner's, or have had their label."""
        if len(announced) != rows:
            raise AnnouncementRefused(
                f"{rows} rows came with {len(announced)} announcements; give one a row (nothing was learned)"
            )
        if announced.learner != self.learner:
            raise AnnouncementRefused(
                "the announcements are another learner's; learn from them where they were made (nothing was learned)"
            )
        numbers = announced.numbers
        if numbers.max(initial=-1) >= self.issued:
            raise AnnouncementRefused(
                f"announcement {numbers.max()} is still to come: this learner has made {self.issued}, so it was "
                "restored from a time before that announcement (nothing was learned)"
            )
        settled = numbers[self._is_settled(numbers)]
        if settled.size:
            raise AnnouncementRefused(f"announcement {settled[0]} has had its label already (nothing was learned)")
        if (np.diff(numbers) > 0).all():  # as they were made: no look for twins
            return
        distinct, counts = np.unique(numbers, return_counts=True)
        if distinct.size < numbers.size:
            twice = distinct[np.argmax(counts)]
            raise AnnouncementRefused(f"announcement {twice} came twice in one call (nothing was learned)")

    def settle(self, announced: Announcements) -> None:
        """Mark these announcements as having had their labels."""
        places = announced.numbers - self._first
        bits = np.left_shift(1, places & 7).astype(np.uint8)
        np.bitwise_or.at(np.frombuffer(self._settled, np.uint8), places >> 3, bits)

    def delayed(self, announced: Announcements, rounds: int) -> Delayed:
        """Return what was announced, with the delay of each label in rows, were these learned in order after `rounds`.

        A delay counts the rows announced since, and the labels learned since.
        """
        since = self.issued - announced.numbers - 1
        late = (since + (rounds + np.arange(len(announced)) - announced.known)).astype(np.float64)
        return Delayed(announced.logits, announced.memory, late)

    def late_one(self, announced: Announcement, rounds: float) -> float:
        """Return the delay of a label in rows, as `delayed` counts it."""
        return self.issued - announced.number - 1 + rounds - announced.known

    def withdraw(self, count: int) -> None:
        """Take back the last `count` announcements, which no caller has seen."""
        self.issued -= count

    def _is_settled(self, numbers: Numbers) -> NDArray[np.bool_]:
        places = np.maximum(numbers - self._first, 0)
        bits = (np.frombuffer(self._settled, np.uint8)[places >> 3] >> (places & 7)) & 1
        return np.asarray((numbers < self._first) | (bits == 1))

    def snapshot(self) -> Snapshot:
        """Return the counts, and a bit for each announcement from the oldest that waits, so equal ledgers are equal."""
        used = self._settled[: (self.issued - self._first + 7) // 8]
        waiting = used.lstrip(b"\xff")
        values = {"learner": self.learner, "issued": self.issued, "first": self._first + 8 * (len(used) - len(waiting))}
        return Snapshot("Ledger", values, {"settled": np.frombuffer(waiting, np.uint8).copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal ledger from a snapshot."""
        given = snapshot.of("Ledger")
        ledger = cls()
        ledger.learner, ledger.issued, ledger._first = (given.whole(name) for name in ("learner", "issued", "first"))
        used = (ledger.issued - ledger._first + 7) // 8
        ledger._settled = bytearray(given.octets("settled", (used,)).tobytes())
        ledger._room = ledger._first + 8 * used
        return ledger
