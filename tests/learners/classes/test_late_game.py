"""Auto for many classes where labels come late: who fitted the last batch is not believed, and nothing is lost."""

import itertools
import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto, ClassAuto
from aioli.errors import AnnouncementRefused
from aioli.learners.classes import late_game
from aioli.learners.classes.announcements import ClassAnnouncements
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Classes, Codes
from aioli.snapshots.codec import from_bytes, to_bytes

WAYS: list[Classes] = [[0, 1, 2], "any"]


def in_runs(n: int, run: int, seed: int = 0) -> tuple[Matrix, Codes]:
    """Return rows whose first column drifts within a run of one class, so that the newest rows look alike."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.integers(0, 3, n // run), run)
    X = rng.normal(size=(n, 3))
    X[:, 0] += np.repeat(rng.normal(size=n // run) * 5.0, run)  # tells the run, and nothing of the class
    X[:, 1] += codes
    return X, codes


def played(learner: ClassAuto, X: Matrix, codes: Codes, batch: int) -> Matrix:
    """Return the probability announced for each label, batches learned after all their rows were announced."""
    parts = []
    for a in range(0, len(codes), batch):
        announced = learner.announce_many(X[a : a + batch])
        p = learner.learn_many(X[a : a + batch], codes[a : a + batch], announced=announced)
        parts.append(p[np.arange(len(p)), [learner.classes_.index(k) for k in codes[a : a + batch].tolist()]])
    return np.concatenate(parts)


def test_what_was_announced_decides_and_not_who_fitted_the_last_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = in_runs(3000, 100)
    learner = ClassAuto(classes=[0, 1, 2])
    late = -np.log(played(learner, X, codes, 100))[500:].mean()
    assert_allclose(learner.predict_many(X[:50]).sum(axis=1), 1.0)
    monkeypatch.setattr(late_game.LateGame, "answer", lambda *_: None)  # as if labels came in time
    in_time = -np.log(played(ClassAuto(classes=[0, 1, 2]), X, codes, 100))[500:].mean()
    assert late < 0.8 * in_time


@pytest.mark.parametrize("classes", WAYS)
def test_after_a_late_label_announcing_predicting_and_learning_say_the_same(classes: Classes) -> None:
    X, codes = in_runs(300, 10)
    learner = ClassAuto(classes=classes)
    played(learner, X[:200], codes[:200], 20)
    for t in range(200, 220):
        said = learner.predict(X[t])
        assert_array_equal(learner.announce(X[t]).probabilities[0], said)
        assert_allclose(learner.predict_many(X[t : t + 3])[0], said, rtol=1e-9)
        assert_allclose(learner.learn(X[t], int(codes[t])), said, rtol=1e-9)


@pytest.mark.parametrize("classes", WAYS)
def test_rows_in_time_after_a_late_label_are_one_game_in_any_chunks(classes: Classes) -> None:
    X, codes = in_runs(400, 10)
    whole, pieces = ClassAuto(classes=classes), ClassAuto(classes=classes)
    for learner in (whole, pieces):
        played(learner, X[:100], codes[:100], 20)
    said = whole.learn_many(X[100:], codes[100:])
    cuts = [100, 101, 130, 131, 300, 400]
    parts = [pieces.learn_many(X[a:b], codes[a:b]) for a, b in itertools.pairwise(cuts)]
    assert_allclose(np.concatenate(parts), said, rtol=1e-7)
    assert_allclose(pieces.loss, whole.loss, rtol=1e-9)


@pytest.mark.parametrize("classes", WAYS)
def test_a_learner_and_its_announcements_go_through_bytes(classes: Classes) -> None:
    X, codes = in_runs(300, 10)
    learner = ClassAuto(classes=classes)
    played(learner, X[:150], codes[:150], 30)
    first, second = learner.announce_many(X[150:200]), learner.announce_many(X[200:250])
    again = ClassAuto.restore(from_bytes(to_bytes(learner.snapshot())))
    moved = [ClassAnnouncements.restore(from_bytes(to_bytes(first.snapshot()))), pickle.loads(pickle.dumps(second))]
    order = np.random.default_rng(0).permutation(100)
    for each, parts in ((learner, [first, second]), (again, moved)):
        announced = ClassAnnouncements.joined(parts).of(order)
        each.learn_many(X[150:250][order], codes[150:250][order], announced=announced)
    assert to_bytes(again.snapshot()) == to_bytes(learner.snapshot())


def test_a_class_that_came_after_the_announcement_stood_behind_those_known() -> None:
    X, codes = in_runs(200, 10)
    codes = codes % 2
    learner = ClassAuto(classes="any")
    early = learner.announce_many(X[:5])  # before the first row: it remembers nothing
    played(learner, X[5:100], codes[5:100], 20)
    waiting = learner.announce_many(X[100:140])
    learner.learn(X[140], 7)
    labels = np.where(np.arange(40) == 3, 7, codes[100:140])
    learner.learn_many(X[100:140], labels, announced=waiting)
    learner.learn_many(X[:5], codes[:5], announced=early)
    learner.learn_many(X[150:], codes[150:])
    assert learner.classes_[-1] == 7
    assert np.isfinite(learner.loss)
    assert_allclose(learner.predict_many(X).sum(axis=1) + learner.escape_many(X), 1.0)


def test_of_very_many_classes_announcements_keep_the_whole_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = in_runs(200, 10)
    large = ClassAuto(classes=[0, 1, 2])
    large.learn_many(X[:20], codes[:20])
    wide = large.announce_many(X[:1]).tickets.memory.shape[1]
    monkeypatch.setattr(late_game, "MOST_KEPT", 9)
    learner = ClassAuto(classes=[0, 1, 2])
    played(learner, X, codes, 20)
    assert learner.announce_many(X[:1]).tickets.memory.shape[1] == 2 + 3 * 3 < wide


@pytest.mark.parametrize(
    "damage",
    [
        lambda memory: np.where(np.arange(memory.shape[1]) == 5, np.nan, memory),
        lambda memory: np.where(np.arange(memory.shape[1]) == 2, -1e308, memory),
        lambda memory: np.where(np.arange(memory.shape[1]) > 4, 1e300, memory),
        lambda memory: np.where(np.arange(memory.shape[1]) == 0, 2.0**40, memory),
        lambda memory: np.where(np.arange(memory.shape[1]) == 1, 0.0, memory),
        lambda memory: memory[:, :7],
    ],
)
def test_damaged_announcements_are_refused_and_nothing_is_learned(damage: Callable[[Matrix], Matrix]) -> None:
    X, codes = in_runs(200, 10)
    learner = ClassAuto(classes=[0, 1, 2])
    played(learner, X[:100], codes[:100], 20)
    announced = learner.announce_many(X[100:110])
    tickets = replace(announced.tickets, memory=np.ascontiguousarray(damage(announced.tickets.memory)))
    before = to_bytes(learner.snapshot())
    with pytest.raises(AnnouncementRefused):
        learner.learn_many(X[100:110], np.zeros(10, int), announced=replace(announced, tickets=tickets))
    assert to_bytes(learner.snapshot()) == before
    learner.learn_many(X[100:110], codes[100:110], announced=announced)
    assert np.isfinite(learner.loss)


def test_an_announcement_of_two_classes_is_refused() -> None:
    two, many = Auto(), ClassAuto(classes=[0, 1, 2])
    many.learn([1.0], 0)
    with pytest.raises(AnnouncementRefused, match="two classes"):
        many.learn([1.0], 1, announced=two.announce([1.0]))  # type: ignore[arg-type]


def test_announcements_in_files_know_experts_by_their_places() -> None:
    assert len(late_game.NAMES) == len(set(late_game.NAMES))
    assert late_game.NAMES[0] == "Auto of the first two classes"
    assert late_game.NAMES[-3:] == ["naive Bayes", "forest", "boosting"]  # a new expert stands behind these
