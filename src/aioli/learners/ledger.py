"""The ledger of a learner's announcements: which still wait for their label, so that a label is learned once."""

import secrets
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import AnnouncementRefused
from aioli.learners.announcements import Announcement, Announcements, Delayed, Numbers
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot

__all__ = ["Ledger"]

BITS = tuple(1 << place for place in range(8))
_make = tuple.__new__  # a NamedTuple's own way is a call longer, and an announcement is made a row
TRIM = 1024  # bytes of bits kept before the first look at the oldest


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

    def settle_last(self, count: int) -> None:
        """Mark the last `count` announcements as having had their labels."""
        begin, end = self.issued - count - self._first, self.issued - self._first
        octets = slice(begin >> 3, (end + 7) >> 3)
        bits = int.from_bytes(self._settled[octets], "little") | ((1 << count) - 1) << (begin & 7)
        self._settled[octets] = bits.to_bytes(octets.stop - octets.start, "little")

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
