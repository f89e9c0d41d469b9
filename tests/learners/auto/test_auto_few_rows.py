"""Auto's short ways for one row and for few, while companions play: the same game as of many rows, but for rounding."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto
from aioli.errors import AnnouncementRefused, LabelRefused, RowRefused
from aioli.learners.auto import auditions
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import log_loss_many

ROUNDING = 1e-9  # experts and companions round apart where rows come in other numbers at a time


def crossed(rows: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X, (np.sin(2.0 * X[:, 0]) * np.cos(3.0 * X[:, 1]) > 0.0).astype(np.float64)


def counted(learner: Auto) -> list[Vector]:
    assert isinstance(learner._player, BendingEnsemble)
    made = learner._player._mixed._auditions
    return [made.totals, made.own.ravel()]


def late_game(X: Matrix, y: Vector, delay: int, as_lists: bool) -> tuple[Auto, Vector]:
    """Play rows whose labels are so many rows late; lists go through the border, arrays by the short way."""
    learner, waiting, said = Auto(), [], []
    for t, x in enumerate(X):
        waiting.append(learner.announce(x.tolist() if as_lists else x))
        if t >= delay:
            row = X[t - delay]
            said.append(learner.learn(row.tolist() if as_lists else row, y[t - delay], announced=waiting[t - delay]))
    return learner, np.array(said)


@pytest.mark.parametrize("delay", [0, 6])
def test_one_announced_row_by_the_short_way_is_one_through_the_border(
    monkeypatch: pytest.MonkeyPatch, delay: int
) -> None:
    monkeypatch.setattr(auditions, "REVIEW", 64)
    X, y = crossed(auditions.SETTLED + 120)  # behind the first of them rows are evidence
    short, said = late_game(X, y, delay, as_lists=False)
    long, expected = late_game(X, y, delay, as_lists=True)
    assert_array_equal(said, expected)
    assert short.loss == long.loss
    assert float(short.certificate()) == float(long.certificate())
    for own, other in zip(counted(short), counted(long), strict=True):
        assert_array_equal(own, other)
    totals, own = counted(short)
    assert totals[auditions.SEEN] == (0.0 if delay else 120.0)
    assert own.any() == (delay == 0)


@pytest.mark.parametrize("few", [1, 3, 16])
def test_groups_of_announced_rows_are_announced_and_learned_as_one_by_one(few: int) -> None:
    X, y = crossed(240)
    whole, grouped = Auto(), Auto()
    for learner in (whole, grouped):
        learner.learn_many(X[:160], y[:160])
    tickets = whole.announce_many(X[160:])
    parts = [slice(first, first + few) for first in range(160, 240, few)]
    groups = [grouped.announce_many(X[part]) for part in parts]
    assert_allclose(np.concatenate([group.probabilities for group in groups]), tickets.probabilities, atol=ROUNDING)
    whole.learn_many(X[160:], y[160:], announced=tickets)
    for part, group in zip(parts, groups, strict=True):
        grouped.learn_many(X[part], y[part], announced=group)
    assert_allclose(grouped.predict_many(X[:20]), whole.predict_many(X[:20]), atol=ROUNDING)


def test_a_refused_row_or_label_changes_nothing_on_the_short_way() -> None:
    X, y = crossed(120)
    learner = Auto()
    learner.learn_many(X, y)
    ticket = learner.announce(X[0])
    bad = X[1].copy()
    bad[1] = np.nan
    before = learner.predict(X[2])
    with pytest.raises(RowRefused):
        learner.learn(bad, 1, announced=ticket)
    with pytest.raises(LabelRefused):
        learner.learn(X[0], 7, announced=ticket)
    with pytest.raises(AnnouncementRefused):
        learner.learn(X[0], 1, announced=Auto().announce(X[0]))
    assert learner.predict(X[2]) == before
    assert learner.learn(X[0], 1, announced=ticket) == ticket.probability
    with pytest.raises(AnnouncementRefused, match="already"):
        learner.learn(X[0], 1, announced=ticket)


@pytest.mark.parametrize("budget", ["fast", "usual"])
def test_another_learners_announcement_is_refused_by_one_that_has_announced_nothing(budget: str) -> None:
    X, y = crossed(40)
    learner, other = Auto(budget=budget), Auto(budget=budget)
    for each in (learner, other):
        each.learn_many(X, y)
    with pytest.raises(AnnouncementRefused):
        learner.learn(X[0], 1, announced=other.announce(X[0]))
    assert learner.rounds == 40


def test_rows_of_any_width_may_be_announced_one_by_one_before_the_first_label() -> None:
    rng = np.random.default_rng(0)
    learner = Auto()
    tickets = [learner.announce(rng.normal(size=width)) for width in (3, 400, 2, 3)]
    assert [ticket.probability for ticket in tickets] == [0.5] * 4
    x = rng.normal(size=3)
    learner.learn(x, 1)
    assert learner.n_features_ == 3
    assert learner.predict(x) > 0.5


def first_column(X: Matrix) -> Vector:
    """Play as a guest: what cannot be saved is copied part by part."""
    return np.asarray(1.0 / (1.0 + np.exp(-X[:, 0])))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
@pytest.mark.parametrize("guests", [(), (first_column,)])
def test_a_copy_made_between_single_rows_shares_nothing_with_its_original(
    again: Callable[[Auto], Auto], guests: tuple[object, ...]
) -> None:
    X, y = crossed(90)
    learner, alone = Auto(guests=guests), Auto(guests=guests)
    for x, label in zip(X[:50], y[:50], strict=True):
        learner.learn(x, label)
        alone.learn(x, label)
    copied = again(learner)
    for x, label in zip(X[70:], y[70:], strict=True):
        copied.learn(x, label)
    said = [learner.learn(x, label) for x, label in zip(X[50:], y[50:], strict=True)]
    assert said == [alone.learn(x, label) for x, label in zip(X[50:], y[50:], strict=True)]


def test_one_row_is_counted_as_many_are() -> None:
    rng = np.random.default_rng(0)
    one, many = (auditions.Auditions([[1, 2], [3]]) for _ in range(2))
    for each in (one, many):
        each.totals[auditions.ROUNDS] = auditions.SETTLED - 2  # the first two are counted, but no evidence yet
    ones = np.ones(1)
    for delay in [0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 1.0, 0.0, 3.0]:
        (linear, in_time, said), without = rng.normal(size=3), rng.normal(size=0 if delay else 2)
        label = float(rng.integers(2))
        loss, alone = log_loss_many(np.array([linear, in_time, said]), label * np.ones(3)), without[:, None]
        one.count_row(without, label, linear, in_time, said, delay > 0.0, delay)
        own = None if delay else log_loss_many(alone, np.array([label])) - loss[1]
        many.count_gains(loss[2:], loss[:1] - loss[2:], own, ones, np.array([delay]))
        many.count(loss[2:], ones, late=delay > 0.0)
    assert one.totals[auditions.LATE_SUMS] == 2.0  # a row in time ends a sum that is open
    assert_allclose(one.totals, many.totals, rtol=1e-14)
    assert_allclose(one.own, many.own, rtol=1e-14)
    assert one.own.all()
