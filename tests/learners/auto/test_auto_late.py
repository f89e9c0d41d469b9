"""Auto and Wide where labels come late: the certificate in any order, and experts that retire in between."""

import copy
from pathlib import Path

import numpy as np
import pytest
from auto_memory import ensemble_of, example_stream, memory, resumed_from_file
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import KINDS, make_labels, make_rows

from aioli import Auto, Wide
from aioli.errors import LabelRefused
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.announcements import Announcement, Announcements
from aioli.learners.auto import mixed_experts
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.learners.auto.boosting import BoostingCompanion
from aioli.learners.auto.experts import EXPERTS
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.views import Views


def delayed(learner: Auto | Wide, X: Matrix, y: Vector, longest: int, seed: int) -> list[int]:
    """Let each label come at a random time after its row, some never; return the rows learned, in order."""
    rng = np.random.default_rng(seed)
    comes = np.arange(len(y)) + rng.integers(0, longest + 1, size=len(y))
    comes[rng.random(len(y)) < 0.1] = len(y) + longest + 1
    tickets: list[Announcement] = []
    learned: list[int] = []
    for t in range(len(y) + longest + 1):
        if t < len(y):
            tickets.append(learner.announce(X[t]))
        rows = rng.permutation(np.flatnonzero(comes == t))
        if len(rows) > 1:
            learner.learn_many(X[rows], y[rows], announced=Announcements.joined([tickets[s] for s in rows]))
        elif len(rows):
            learner.learn(X[rows[0]], y[rows[0]], announced=tickets[rows[0]])
        learned += rows.tolist()
    return learned


@settings(max_examples=25)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(1, 50),
    d=st.integers(1, 4),
    longest=st.sampled_from([0, 1, 10, 50]),
    seed=st.integers(0, 2**16),
)
def test_regret_stays_below_the_certificate_in_any_order(kind: str, n: int, d: int, longest: int, seed: int) -> None:
    X = make_rows(kind, n, d, seed)
    y = make_labels(X, seed)
    learner = Auto()
    learned = delayed(learner, X, y, longest, seed)
    if learned:
        views = dict(zip(("standard", "peak"), Views(d).of_rows(X[learned])[:2], strict=True))
        for proven in (learner.certificate(), learner.certificate(tight=True)):
            (view,) = (rows for name, rows in views.items() if f"the {name} view" in proven.against)
            best = best_in_ball(view, y[learned], proven.radius, intercept=False)
            assert learner.loss - best.loss <= proven + 1e-6 * (1.0 + abs(proven))


@settings(max_examples=25)
@given(n=st.integers(1, 60), longest=st.sampled_from([0, 1, 10, 60]), seed=st.integers(0, 2**16))
def test_regret_of_wide_stays_below_its_certificate_in_any_order(n: int, longest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 30)) < 0.15) * rng.uniform(0.5, 2.0, 30)
    y = make_labels(X, seed)
    learner = Wide()
    learned = delayed(learner, X, y, longest, seed)
    if learned:
        norms = np.linalg.norm(X[learned], axis=1, keepdims=True)
        rows = np.column_stack([np.ones(len(learned)), X[learned] / np.where(norms > 0.0, norms, 1.0)])
        proven = learner.certificate()
        best = best_in_ball(rows, y[learned], proven.radius, intercept=False)
        assert learner.loss - best.loss <= proven + 1e-6 * (1.0 + abs(proven))


def test_tickets_from_before_a_retirement_are_learned_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_experts, "REVIEW", 256)
    nobody = lambda mixture, _heard=0.0: np.arange(mixture.shares.size) % 2 == 0  # noqa: E731  (one line says it)
    monkeypatch.setattr(Mixture, "negligible", nobody)
    monkeypatch.setattr(LateMixture, "negligible", nobody)
    X, y = example_stream(n=1200, d=3)
    learner = Auto()
    learner.learn_batch(X[:100], y[:100])
    early = learner.announce_many(X[100:140])
    for first in range(140, 1140, 100):
        learner.learn_batch(X[first : first + 100], y[first : first + 100])
    assert len(ensemble_of(learner).playing) < len(EXPERTS)
    single = copy.deepcopy(learner)
    before = learner.loss
    said = learner.learn_many(X[100:140], y[100:140], announced=early)
    assert np.array_equal(said, early.probabilities)
    losses = -np.log(np.where(y[100:140] == 1.0, said, 1.0 - said))
    assert_allclose(learner.loss - before, losses.sum(), rtol=1e-9)
    assert learner.rounds == 1140
    for t, ticket in enumerate(early):
        single.learn(X[100 + t], y[100 + t], announced=ticket)
    assert_allclose(single.predict_many(X), learner.predict_many(X), atol=1e-8)
    assert np.isfinite(learner.certificate())
    late = learner.announce_many(X[1140:])
    assert np.isnan(late.memory).any()  # who has retired says nothing
    again = Announcements.restore(late.snapshot())
    learner.learn_many(X[1140:], y[1140:], announced=again)
    assert_allclose(sum(learner.weights_.values()), 1.0)


def test_a_label_that_is_no_label_is_refused_of_an_announced_row_too() -> None:
    learner = Auto()
    learner.learn_many(np.eye(4), [0, 1, 0, 1])
    announced = learner.announce_many(np.ones((1, 4)))
    label = np.empty(1, dtype=object)
    label[0] = [1]
    with pytest.raises(LabelRefused):
        learner.learn_many(np.ones((1, 4)), label, announced=announced)


def learn_late(learner: Auto, X: Matrix, y: Vector, rows: int) -> None:
    """Announce batches of so many rows, and learn each batch's labels one by one or at once, by turns."""
    for turn, first in enumerate(range(0, len(y), rows)):
        batch = slice(first, first + rows)
        announced = learner.announce_many(X[batch])
        if turn % 2:
            learner.learn_many(X[batch], y[batch], announced=announced)
        else:
            for x, label, ticket in zip(X[batch], y[batch], announced, strict=True):
                learner.learn(x, label, announced=ticket)


def learned_as_if_in_time(learner: Auto) -> list[Vector]:
    """Return both mixtures that learn as if labels came in time."""
    player = learner._player
    assert isinstance(player, BendingEnsemble)
    return [player.dense._mixture.buffer, player._mixed._combination.mixture.buffer]


def test_what_learns_as_if_labels_came_in_time_is_the_same_where_they_do() -> None:
    X, y = example_stream(n=242, d=3)
    late, in_time, never_announced = Auto(), Auto(), Auto()
    never_announced.learn_many(X, y)
    for learner in (late, in_time):  # one label is late in both: with the first of them, some begin to play
        learn_late(learner, X[:2], y[:2], rows=2)
    learn_late(late, X[2:], y[2:], rows=60)
    learn_late(in_time, X[2:], y[2:], rows=1)
    assert abs(late.loss - in_time.loss) > 1.0
    for own, other in zip(learned_as_if_in_time(late), learned_as_if_in_time(in_time), strict=True):
        assert_allclose(own, other, rtol=1e-6, atol=1e-9)  # rows one by one are rows at once but for rounding
    linear, linear_too = (learned_as_if_in_time(learner)[0] for learner in (late, never_announced))
    assert_allclose(linear, linear_too, rtol=1e-6, atol=1e-9)


def test_a_stop_between_rows_and_their_labels_changes_no_bit(tmp_path: Path) -> None:
    X, y = example_stream(n=180, d=3)
    learner = Auto()
    learn_late(learner, X[:120], y[:120], rows=40)
    outstanding = learner.announce_many(X[120:])
    stopped = resumed_from_file(learner, tmp_path)
    for each, announced in ((learner, outstanding), (stopped, Announcements.restore(outstanding.snapshot()))):
        each.learn_many(X[120:], y[120:], announced=announced)
        learn_late(each, X[:40], y[:40], rows=20)
    assert memory(learner) == memory(stopped)


def boosting_of(learner: Auto) -> BoostingCompanion:
    assert isinstance(learner._player, BendingEnsemble)
    (found,) = (each for each in learner._player.companions if isinstance(each, BoostingCompanion))
    return found


def test_from_the_first_late_label_on_boosted_trees_watch_for_no_change() -> None:
    X, y = example_stream(n=200, d=3)
    learner = Auto()
    learner.learn_many(X, y)
    state = boosting_of(learner)._state
    assert state is not None
    assert state.watches
    announced = learner.announce_many(X[:1])
    learner.learn_many(X[:1], y[:1], announced=announced)  # announced, and in time
    assert state.watches
    learner.learn_batch(X[:2], y[:2])
    assert not state.watches
    restored = boosting_of(Auto.restore(learner.snapshot()))._state
    assert restored is not None
    assert not restored.watches
