"""Who of the companions retires, given what was gained."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.errors import SnapshotRefused
from aioli.learners.auto import auditions
from aioli.learners.auto.auditions import Auditions
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot

HEARD = np.zeros(3)


def played(
    gains: Vector, behind: tuple[float, float] = (1.2, 1.3), linear: float = 0.4, late: int | None = None
) -> Auditions:
    """Play an audition of so many rows, with reviews that retire nobody until the last, which is due."""
    made = Auditions([[1], [2]])
    for first in range(0, len(gains), auditions.REVIEW):
        g = gains[first : first + auditions.REVIEW]
        one, lost = np.ones(len(g)), np.full(len(g), linear)
        made.losses[:] = lost.sum() * np.array([1.0, *behind])
        made.count_gains(g, lost, one, None if late is None else np.full(len(g), float(late)))
        made.count(lost - g, one)
        if first + len(g) < len(gains):
            made.retiring([False, False], [False, False], HEARD)
    assert made.due(alone=False)
    return made


def leaving(made: Auditions) -> list[int]:
    return made.retiring([True, True], [False, False], HEARD)


def test_companions_that_plainly_bring_nothing_retire_at_the_first_review() -> None:
    assert leaving(played(np.zeros(auditions.REVIEW))) == [0, 1]
    assert leaving(played(np.zeros(auditions.REVIEW), behind=(1.2, 1.005))) == [0]  # the other is near


def test_a_companion_that_has_yet_to_decide_what_it_reads_may_be_farther_behind() -> None:
    for behind, retire in ((1.05, [0]), (1.2, [0, 1])):
        first = played(np.zeros(auditions.REVIEW), behind=(1.05, behind))
        assert first.retiring([True, True], [False, False], HEARD, [False, True]) == retire


def test_companions_stay_where_the_rows_have_not_decided(rng: np.random.Generator) -> None:
    noisy = rng.normal(scale=0.5, size=auditions.REVIEW)
    assert leaving(played(noisy)) == []
    assert leaving(played(np.tile(noisy, 2) + 0.05, behind=(1.5, 1.5))) == []  # behind alone, and helpful together


def test_companions_that_cost_retire_when_the_rows_have_decided(rng: np.random.Generator) -> None:
    noisy = rng.normal(scale=0.5, size=4 * auditions.REVIEW)
    assert leaving(played(noisy - noisy.mean() - 0.1, behind=(1.0, 1.0))) == [0, 1]
    assert leaving(played(noisy[: 2 * auditions.REVIEW] - 0.1, behind=(1.5, 1.05))) == [0]


def test_rows_whose_labels_come_late_are_observed_together(rng: np.random.Generator) -> None:
    batches = np.repeat([-0.3, 0.2, -0.2, 0.05], auditions.REVIEW)  # a row is as its batch is: four observations
    assert leaving(played(batches, behind=(1.0, 1.0))) == [0, 1]
    assert leaving(played(batches, behind=(1.0, 1.0), late=auditions.REVIEW - 1)) == []
    first = np.full(2 * auditions.REVIEW, -0.1)
    assert leaving(played(first, behind=(1.5, 1.5))) == [0, 1]
    assert leaving(played(first, behind=(1.5, 1.5), late=auditions.REVIEW - 1)) == []  # two say nothing of the others
    noisy = rng.normal(scale=0.5, size=4 * auditions.REVIEW)
    assert leaving(played(noisy - noisy.mean() - 0.1, behind=(1.0, 1.0), late=9)) == [0, 1]


def test_late_rows_are_observed_alike_however_they_come(rng: np.random.Generator) -> None:
    gains, lost, one = rng.normal(size=900), np.ones(900), np.ones(900)
    at_once, one_by_one = Auditions([[1]]), Auditions([[1]])
    late = np.full(900, 29.0)
    for made in (at_once, one_by_one):
        made.count(np.zeros(auditions.SETTLED), np.ones(auditions.SETTLED))
    at_once.count_gains(gains, lost, one, late)
    for t in range(900):
        row = slice(t, t + 1)
        one_by_one.count_gains(gains[row], lost[row], one[row], late[row])
    assert_allclose(at_once.totals, one_by_one.totals, rtol=1e-12, atol=1e-10)  # sums of 900 numbers in another order


def test_a_companion_that_was_dismissed_retires_and_one_without_influence_at_two_reviews() -> None:
    made = played(np.full(auditions.REVIEW, 0.1))
    assert made.retiring([True, True], [False, True], np.ones(3)) == [1]
    again = played(np.full(2 * auditions.REVIEW, 0.1))
    again.silent[:] = [1.0, 0.0]
    assert again.retiring([True, True], [False, False], np.ones(3)) == [0]


def test_they_begin_anew_when_the_loss_rises() -> None:
    made = played(np.zeros(auditions.REVIEW))
    leaving(made)
    rows = auditions.REST * auditions.REVIEW
    for loss, anew in ((0.4, False), (0.9, True)):
        more = made.rows_to_review(alone=True)
        made.count(np.full(more, loss), np.ones(more))
        made.losses[0] = loss * more
        assert made.due(alone=True)
        assert made.begins_anew() is anew
    assert made.rows_to_review(alone=True) == rows


def test_a_file_from_before_gains_were_counted_row_by_row_is_read() -> None:
    made = Auditions([[1], [2]])
    arrays = {"totals": np.arange(9.0), "losses": np.ones(3), "silent": np.zeros(2)}
    made.recall(Snapshot("BendingEnsemble", arrays=arrays))
    assert made.rounds == 0
    assert made.loss == 1.0
    assert not made.totals[auditions.EVIDENCE].any()
    row_by_row = np.arange(float(auditions.ROW_BY_ROW))
    made.recall(Snapshot("BendingEnsemble", arrays=arrays | {"totals": row_by_row}))
    assert made.totals[: row_by_row.size].tolist() == row_by_row.tolist()
    assert not made.totals[row_by_row.size :].any()
    with pytest.raises(SnapshotRefused):
        made.recall(Snapshot("BendingEnsemble", arrays=arrays | {"totals": np.zeros(7)}))
