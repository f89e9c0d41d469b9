"""Announcements as data, and the ledger: which were made, and which have had their labels."""

import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aioli import AIOLI
from aioli.errors import AnnouncementRefused, SnapshotRefused
from aioli.learners.announcements import Announcement, Announcements
from aioli.learners.ledger import TRIM, Ledger
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.snapshots.tree import Snapshot


def issue(ledger: Ledger, count: int) -> Announcements:
    return ledger.issue(count, 0, np.zeros(count), np.empty((count, 0)))


def test_labels_in_any_order_are_settled_once() -> None:
    rng = np.random.default_rng(0)
    ledger, waiting, had = Ledger(), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for _ in range(300):
        made = issue(ledger, int(rng.integers(1, 100)))
        waiting = rng.permutation(np.concatenate([waiting, made.numbers]))
        some = int(rng.integers(0, len(waiting) + 1))
        now, waiting = waiting[:some], waiting[some:]
        chosen = Announcements(ledger.learner, now, np.zeros_like(now), np.zeros(len(now)), np.empty((len(now), 0)))
        ledger.check(chosen, len(now))
        ledger.settle(chosen)
        had = np.concatenate([had, now])
        for number in rng.choice(had, min(5, len(had))):
            with pytest.raises(AnnouncementRefused, match=f"announcement {number} has had its label"):
                ledger.check(Announcement(ledger.learner, int(number), 0, 0.0).row, 1)
        for number in waiting[:5]:
            ledger.check(Announcement(ledger.learner, int(number), 0, 0.0).row, 1)


def test_millions_of_announcements_take_bounded_memory_where_labels_come() -> None:
    ledger, size = Ledger(), 1000
    previous = issue(ledger, size)
    for _ in range(3000):
        latest = issue(ledger, size)
        ledger.settle(previous)
        previous = latest
        assert len(ledger._settled) <= 2 * TRIM
    assert ledger.issued == 3_001_000
    assert len(to_bytes(ledger.snapshot())) < 4 * TRIM
    with pytest.raises(AnnouncementRefused, match="announcement 0 has had its label"):
        ledger.check(Announcement(ledger.learner, 0, 0, 0.0).row, 1)


def test_one_label_that_never_comes_costs_a_bit_for_each_announcement_since() -> None:
    ledger = Ledger()
    issue(ledger, 1)
    for _ in range(100):
        ledger.settle(issue(ledger, 10_000))
    assert 125_000 <= len(ledger._settled) <= 126_000


def test_a_snapshot_says_the_same_whenever_the_bits_were_trimmed() -> None:
    ledger = Ledger()
    for t in range(40):
        waiting = issue(ledger, 5000)
        if t % 7:
            ledger.settle(waiting)
        again = Ledger.restore(from_bytes(to_bytes(ledger.snapshot())))
        assert to_bytes(again.snapshot()) == to_bytes(ledger.snapshot())
        again.issue(9, 0, np.zeros(9), np.empty((9, 0)))
        issue(ledger, 9)
        assert to_bytes(again.snapshot()) == to_bytes(ledger.snapshot())


def test_the_last_announcements_are_settled_as_any_others_are() -> None:
    together, apart = Ledger(), Ledger()
    for count in [1, 7, 8, 0, 9, 500, 3, 20_000, 16]:
        issue(together, 3)  # these wait
        issue(together, count)
        together.settle_last(count)
        issue(apart, 3)
        apart.settle(issue(apart, count))
        for one, other in zip(together.snapshot().arrays.values(), apart.snapshot().arrays.values(), strict=True):
            assert_array_equal(one, other)


def test_how_late_a_label_is_counts_rows_announced_and_labels_learned_since() -> None:
    ledger = Ledger()
    first = ledger.issue(2, 5, np.zeros(2), np.empty((2, 0)))
    issue(ledger, 3)
    assert_array_equal(ledger.delayed(first, 9).late, [4.0 + 4.0, 3.0 + 5.0])
    in_time = ledger.issue(1, 9, np.zeros(1), np.empty((1, 0)))
    assert_array_equal(ledger.delayed(in_time, 9).late, [0.0])


def test_announcements_are_put_together_taken_apart_and_kept() -> None:
    ledger = Ledger()
    memory = np.array([[1.0, math.nan], [2.0, 3.0]])
    pair = ledger.issue(2, 0, np.array([0.5, -0.5]), memory)
    single = ledger.issue_one(1, 2.0)
    joined = Announcements.joined([single, pair.of(np.array([1, 0]))])
    assert_array_equal(joined.numbers, [2, 1, 0])
    assert_array_equal(joined.known, [1, 0, 0])
    assert_array_equal(joined.logits, [2.0, -0.5, 0.5])
    assert_array_equal(joined.memory, [[math.nan, math.nan], [2.0, 3.0], [1.0, math.nan]])
    assert [ticket.number for ticket in joined] == [2, 1, 0]
    assert joined.bytes == 3 * 8 * 5
    for again in (Announcements.restore(joined.snapshot()), pickle.loads(pickle.dumps(joined))):
        for name in ("numbers", "known", "logits", "memory"):
            assert_array_equal(getattr(again, name), getattr(joined, name))
    with pytest.raises(AnnouncementRefused, match="3 announcements came for one"):
        Announcement.restore(joined.snapshot())
    with pytest.raises(AnnouncementRefused, match="announcements of 2 learners"):
        Announcements.joined([single, AIOLI().announce([1.0])])
    with pytest.raises(SnapshotRefused):
        Ledger.restore(Snapshot("Ledger", {"learner": 1, "issued": 9, "first": 0}, {"settled": np.zeros(1, np.uint8)}))
