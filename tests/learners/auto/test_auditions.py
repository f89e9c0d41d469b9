"""Who of the companions retires, given what all of them and each alone have saved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.errors import SnapshotRefused
from aioli.learners.auto import auditions
from aioli.learners.auto.auditions import Auditions
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot

HEARD = np.zeros(3)
LOSS = 0.4  # of the whole in every row


def played(gains: Vector, own: Matrix | None = None, late: int | None = None, loss: float = LOSS) -> Auditions:
    """Play an audition of two companions over so many rows, at the end of which a review is due."""
    made = Auditions([[1], [2]])
    for first in range(0, len(gains), auditions.REVIEW):
        part = slice(first, first + auditions.REVIEW)
        g = gains[part]
        losses, one = np.full(len(g), loss), np.ones(len(g))
        delays = None if late is None else np.full(len(g), float(late))
        made.count_gains(losses, g, None if own is None else own[:, part], one, delays)
        made.count(losses, one, 0 if late is None else len(g))
    assert made.due
    return made


def leaving(made: Auditions, alone_known: bool = True) -> list[int]:
    return made.retiring([True, True], [False, False], HEARD, alone_known)


def test_companions_that_plainly_bring_nothing_retire_after_a_thousand_rows() -> None:
    rows = auditions.LEAST
    assert leaving(played(np.zeros(rows), np.zeros((2, rows)))) == [0, 1]
    assert leaving(played(np.zeros(rows // 2), np.zeros((2, rows // 2)))) == []
    assert leaving(played(np.full(rows, 0.9 * LOSS / 100.0))) == [0, 1]  # less than 1 % of the loss
    assert leaving(played(np.full(rows, 1.1 * LOSS / 100.0)), alone_known=False) == []


def test_a_companion_retires_alone_where_the_whole_would_lose_nothing_without_it() -> None:
    gains, own = np.full(auditions.LEAST, 0.05), np.zeros((2, auditions.LEAST))
    own[1] = 0.05
    assert leaving(played(gains, own)) == [0]
    own[0] = 1.1 * LOSS / 100.0
    assert leaving(played(gains, own)) == []
    own[1] = 0.0
    assert leaving(played(gains, own)) == [1]


def test_of_two_companions_that_say_the_same_one_retires() -> None:
    gains, own = np.full(auditions.LEAST, 0.05), np.zeros((2, auditions.LEAST))
    assert len(leaving(played(gains, own))) == 1


def test_where_one_leaves_anyway_nobody_else_retires_for_saving_nothing_at_the_same_review() -> None:
    made = played(np.full(auditions.LEAST, 0.05), np.zeros((2, auditions.LEAST)))
    assert made.retiring([True, True], [False, True], HEARD, True) == [1]


def test_who_has_retired_does_not_retire_again() -> None:
    rows = auditions.LEAST
    assert played(np.zeros(rows)).retiring([True, False], [False, False], HEARD, True) == [0]
    own = np.array([np.full(rows, 0.05), np.zeros(rows)])
    assert played(np.full(rows, 0.05), own).retiring([True, False], [False, False], np.ones(3), True) == []


def test_companions_stay_where_the_rows_have_not_decided(rng: np.random.Generator) -> None:
    noisy = rng.normal(scale=0.5, size=auditions.LEAST)
    noisy -= noisy[auditions.SETTLED :].mean()
    assert leaving(played(noisy, np.array([noisy, noisy]))) == []
    assert leaving(played(np.tile(noisy, 2) + 0.05, np.tile(noisy, (2, 2)))) == []  # helpful together


def test_where_rows_are_nearly_certain_nobody_retires_before_the_whole_has_lost_nats_that_tell() -> None:
    rows = 20 * auditions.LEAST
    nothing = np.zeros(rows)
    certain = auditions.TELLING / rows
    assert leaving(played(nothing, np.zeros((2, rows)), loss=0.9 * certain)) == []
    assert leaving(played(nothing, np.zeros((2, rows)), loss=1.2 * certain)) == [0, 1]


def test_companions_that_cost_retire_when_the_rows_have_decided(rng: np.random.Generator) -> None:
    noisy = rng.normal(scale=0.5, size=4 * auditions.LEAST)
    noisy -= noisy.mean() + 0.1
    assert leaving(played(noisy, np.array([noisy, noisy]))) == [0, 1]
    assert leaving(played(noisy + 0.3, np.array([noisy + 0.3, noisy]))) == [1]


def test_the_first_rows_are_no_evidence() -> None:
    rows = np.arange(auditions.LEAST)
    costly = np.where(rows < auditions.SETTLED, -1.0, 0.05)
    assert leaving(played(costly, np.array([costly, costly]))) == []
    early = np.where(rows < auditions.SETTLED, 1.0, 0.0)
    assert leaving(played(early, np.array([early, early]))) == [0, 1]


def test_rows_whose_labels_come_late_are_observed_together(rng: np.random.Generator) -> None:
    rows = 500
    first = np.full(2 * rows, -0.1)
    assert leaving(played(first)) == [0, 1]
    assert leaving(played(first, late=rows - 1), alone_known=False) == []  # one sum says nothing of others
    means = [0.0, -0.3, 0.2, -0.3, 0.2, -0.3, 0.2, -0.1]
    batches = np.repeat(means, rows)  # a row is as its batch is: as many observations as batches
    assert leaving(played(batches)) == [0, 1]
    assert leaving(played(batches, late=rows - 1), alone_known=False) == []
    noisy = rng.normal(scale=0.5, size=8 * rows)
    assert leaving(played(noisy - noisy.mean() - 0.1, late=9), alone_known=False) == [0, 1]


def test_with_late_labels_nobody_retires_alone() -> None:
    gains, own = np.full(auditions.LEAST, 0.05), np.zeros((2, auditions.LEAST))
    assert leaving(played(gains, own), alone_known=False) == []
    made = played(gains, own + 0.05)
    made.forget_own()
    assert not made.own.any()


def test_with_late_labels_companions_stay_that_save_less() -> None:
    for part, alone_known, left in ((0.5, True, [0, 1]), (0.5, False, []), (0.1, False, [0, 1])):
        gains = np.full(auditions.LEAST, part * LOSS / 100.0)
        assert leaving(played(gains, late=None if alone_known else 9), alone_known) == left


def test_late_rows_are_observed_alike_however_they_come(rng: np.random.Generator) -> None:
    gains, lost, one = rng.normal(size=900), rng.exponential(size=900), np.ones(900)
    at_once, one_by_one = Auditions([[1]]), Auditions([[1]])
    late = np.tile(np.arange(30.0), 30)  # of batches of 30 rows
    for made in (at_once, one_by_one):
        made.count(np.zeros(auditions.SETTLED), np.ones(auditions.SETTLED))
    at_once.count_gains(lost, gains, None, one, late)
    for t in range(900):
        row = slice(t, t + 1)
        one_by_one.count_gains(lost[row], gains[row], None, one[row], late[row])
    assert at_once.totals[auditions.LATE_SUMS] == 29.0  # the first row is by itself
    assert_allclose(at_once.totals, one_by_one.totals, rtol=1e-12, atol=1e-10)  # sums of 900 numbers in another order


def test_what_each_companion_saves_is_weighed_as_rows_are(rng: np.random.Generator) -> None:
    lost, gains, own = rng.exponential(size=600), rng.normal(size=600), rng.normal(size=(2, 600))
    weights = rng.uniform(0.5, 2.0, size=600)
    made = Auditions([[1], [2]])
    made.count_gains(lost, gains, own, weights)
    since = slice(auditions.SETTLED, None)
    w = weights[since]
    assert_allclose(made.own, np.stack([own[:, since] @ w, own[:, since] ** 2 @ w**2], axis=1))
    expected = {
        auditions.SEEN: float(len(w)),
        auditions.GAINED: w @ gains[since],
        auditions.SQUARES: w**2 @ gains[since] ** 2,
        auditions.AT_STAKE: w @ lost[since],
    }
    assert_allclose(made.totals[np.array(list(expected))], np.array(list(expected.values())))


def test_a_companion_that_was_dismissed_retires_at_any_review() -> None:
    made = played(np.full(auditions.REVIEW, 0.1))
    assert made.retiring([True, True], [False, True], HEARD, False) == [1]


def test_a_companion_without_influence_at_two_reviews_running_retires() -> None:
    rows = auditions.LEAST
    made, unheard = played(np.full(rows, 0.1)), np.array([0.0, 1.0, 0.0])
    assert made.retiring([True, True], [False, False], unheard, False) == []
    assert made.retiring([True, True], [False, False], HEARD, False) == []  # heard in between
    assert made.retiring([True, True], [False, False], unheard, False) == []
    assert made.retiring([True, True], [False, False], unheard, False) == [0]


def look(made: Auditions, loss: float) -> bool:
    """Count rows of this loss up to the next look; return whether those who have retired begin anew."""
    more = auditions.REST * auditions.REVIEW - made.rounds % (auditions.REST * auditions.REVIEW)
    made.count(np.full(more, loss), np.ones(more))
    assert made.look_due
    return made.look()


def test_those_who_retired_begin_anew_when_the_loss_rises() -> None:
    made = played(np.zeros(auditions.LEAST))
    assert leaving(made) == [0, 1]
    for loss, anew in ((LOSS, False), (1.4 * LOSS, False), (2.2 * LOSS, True)):
        assert look(made, loss) is anew


def test_those_who_retired_begin_anew_when_rows_have_become_many_times_as_many() -> None:
    made = played(np.zeros(auditions.LEAST))
    leaving(made)
    while made.rounds < auditions.AGAIN * auditions.LEAST - auditions.REST * auditions.REVIEW:
        assert not look(made, LOSS)
    assert look(made, LOSS)


def test_a_new_audition_knows_nothing_of_the_one_before() -> None:
    rows = auditions.REST * auditions.REVIEW
    made = played(np.zeros(rows), np.zeros((2, rows)))
    assert leaving(made) == [0, 1]
    made.begin()
    assert not made.totals[auditions.EVIDENCE].any()
    assert not made.own.any()
    for review in range(auditions.LEAST // auditions.REVIEW):
        assert review == 0 or leaving(made) == []  # not before a thousand rows, however little they save
        count = auditions.REVIEW
        made.count_gains(np.full(count, LOSS), np.zeros(count), np.zeros((2, count)), np.ones(count))
        made.count(np.full(count, LOSS), np.ones(count))
    assert leaving(made) == [0, 1]


def test_what_was_counted_comes_back_from_a_file(rng: np.random.Generator) -> None:
    made, again = played(rng.normal(size=1000), rng.normal(size=(2, 1000))), Auditions([[1], [2]])
    made.silent[:] = [1.0, 0.0]
    again.recall(Snapshot("BendingEnsemble", arrays=made.arrays()))
    for own, other in zip(again.arrays().values(), made.arrays().values(), strict=True):
        assert_array_equal(own, other)


@pytest.mark.parametrize("size", sorted(auditions.EARLIER))
def test_of_a_file_from_before_each_companions_worth_was_counted_the_evidence_begins_anew(size: int) -> None:
    made = played(np.zeros(auditions.LEAST), np.ones((2, auditions.LEAST)))
    totals = np.zeros(size)
    totals[[0, 1, 2, 6, 7]] = [7000.0, 3000.0, 5.0, 1000.0, 4000.0]
    made.recall(Snapshot("BendingEnsemble", arrays={"totals": totals, "losses": np.ones(3), "silent": np.zeros(2)}))
    assert (made.rounds, made.loss, made.any_late) == (7000, 3000.0, True)
    assert made.totals[auditions.RETIRED] == 4000.0
    assert made.totals[auditions.BEGUN] == 7000.0
    assert not made.totals[auditions.EVIDENCE].any()
    assert not made.own.any()


@pytest.mark.parametrize(
    "damage",
    [{"totals": np.zeros(7)}, {"own": np.zeros((3, 2))}, {"silent": np.zeros(3)}, {"own": np.zeros(4)}],
)
def test_a_file_of_other_counts_is_refused(damage: dict[str, Vector]) -> None:
    made = Auditions([[1], [2]])
    with pytest.raises(SnapshotRefused):
        made.recall(Snapshot("BendingEnsemble", arrays=made.arrays() | damage))
