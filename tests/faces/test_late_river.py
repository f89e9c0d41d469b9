"""River's face where labels come late: a label is learned from what was announced when its row came."""

import importlib
import pickle
from collections import deque
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from face_streams import LEARNERS, SAME, probabilities_of, stream
from numpy.testing import assert_allclose, assert_array_equal
from river_frames import dictionaries

from aioli import AIOLI, Auto, Wide
from aioli.learners.announced_rows import AnnouncedRows
from aioli.learners.baselines.ogd import OGD
from aioli.learners.ledger import Ledger
from aioli.numerics.compiling import Matrix, Vector
from aioli.river import AIOLIClassifier

evaluate: Any = importlib.import_module("river.evaluate")
metrics: Any = importlib.import_module("river.metrics")

DAY = timedelta(days=1)


def by_tickets(learner: Any, X: Matrix, y: Vector, delay: int) -> list[float]:
    """What is announced where the label of row t comes right before row t + delay, and the rest at the end."""
    said: list[float] = []
    waiting: deque[tuple[Vector, float, Any]] = deque()
    for t, x in enumerate(X):
        while len(waiting) >= max(1, delay):
            row, label, ticket = waiting.popleft()
            learner.learn(row, label, announced=ticket)
        width = learner.n_features_ or 1
        waiting.append((x, float(y[t]), learner.announce(x if width == x.size else np.zeros(width))))
        said.append(waiting[-1][2].probability)
    for row, label, ticket in waiting:
        learner.learn(row, label, announced=ticket)
    return said


def rounded(X: Matrix) -> Matrix:
    """Rows of few values, so that many are equal."""
    rows: Matrix = np.round(X)
    return rows


def deaf(learner: Any) -> AIOLIClassifier:
    """A model that keeps nothing of what it predicts."""
    model = AIOLIClassifier(learner)
    model._game._late = False
    return model


def played(X: Matrix, y: Vector, model: AIOLIClassifier, **how: Any) -> list[float]:
    """What the model said in River's own progressive evaluation."""
    said: list[float] = []
    asked = model.predict_proba_one

    def predict(x: dict[str, float], **further: Any) -> dict[Any, float]:
        answer = asked(x, **further)
        said.append(answer[True])
        return answer

    vars(model)["predict_proba_one"] = predict
    rows = [(x, bool(label)) for x, label in zip(dictionaries(X), y, strict=True)]
    evaluate.progressive_val_score(rows, model, metrics.LogLoss(), **how)
    del vars(model)["predict_proba_one"]
    return said


@pytest.mark.parametrize("equal_rows", [False, True])
@pytest.mark.parametrize("delay", [2, 7, 50, 500])
@pytest.mark.parametrize("name", LEARNERS)
def test_rivers_delayed_evaluation_is_the_game_of_announcements(name: str, delay: int, equal_rows: bool) -> None:
    X, y = stream()
    if equal_rows:
        X = rounded(X)
    model, learner = AIOLIClassifier(LEARNERS[name]()), LEARNERS[name]()
    assert_array_equal(played(X, y, model, delay=delay), by_tickets(learner, X, y, delay))
    assert model._game.learner.loss == learner.loss
    assert_array_equal(model._game.learner.predict_many(X), learner.predict_many(X))
    assert not model._game.waiting


def test_delays_in_time_are_delays_in_rows_where_a_row_comes_a_day() -> None:
    X, y = stream()
    numbers = {tuple(x.values()): t for t, x in enumerate(dictionaries(X))}

    def moment(x: dict[str, float]) -> datetime:
        return datetime(2024, 1, 1) + numbers[tuple(x.values())] * DAY

    by_time = played(X, y, AIOLIClassifier(), moment=moment, delay=9 * DAY)
    assert_array_equal(by_time, by_tickets(Auto(), X, y, 9))


@pytest.mark.parametrize("how", [{}, {"delay": 0}, {"delay": 1}])
@pytest.mark.parametrize("name", LEARNERS)
def test_labels_that_are_not_late_are_the_game_in_time(name: str, how: dict[str, Any]) -> None:
    X, y = stream()
    model, other = AIOLIClassifier(LEARNERS[name]()), deaf(LEARNERS[name]())
    said = []
    for row, label in zip(dictionaries(X), y, strict=True):
        said.append(other.predict_proba_one(row)[True])
        other.learn_one(row, bool(label))
    assert_array_equal(played(X, y, model, **how), said)
    assert model._game.learner.loss == other._game.learner.loss
    assert_allclose(said, probabilities_of(LEARNERS[name](), X, y), rtol=SAME)


def test_a_row_may_be_asked_for_by_both_methods_and_often() -> None:
    X, y = stream()
    model, deaf_one = AIOLIClassifier(), deaf(Auto())
    for row, label in zip(dictionaries(X), y, strict=True):
        model.predict_one(row)
        model.predict_proba_one(row)
        model.predict_proba_one(dict(reversed(row.items())))
        for each in (model, deaf_one):
            each.learn_one(row, bool(label))
    assert_array_equal(model._game.learner.predict_many(X), deaf_one._game.learner.predict_many(X))
    assert not model._game.waiting
    late, other = AIOLIClassifier(), AIOLIClassifier()
    rows = dictionaries(X)
    for t in range(len(rows)):
        late.predict_one(rows[t])
        late.predict_proba_one(rows[t])
        other.predict_one(rows[t])
        if t >= 3:
            for each in (late, other):
                each.learn_one(rows[t - 3], bool(y[t - 3]))
    assert_array_equal(late._game.learner.predict_many(X), other._game.learner.predict_many(X))


def test_rows_that_are_asked_for_and_never_learned_change_nothing_of_those_in_time() -> None:
    X, y = stream()
    rows = dictionaries(X)
    model, other = AIOLIClassifier(), deaf(Auto())
    for t in range(60):
        model.predict_proba_one(rows[60 + t])
        assert model.predict_proba_one(rows[t]) == other.predict_proba_one(rows[t])
        for each in (model, other):
            each.learn_one(rows[t], bool(y[t]))
    assert len(model._game.waiting) == 60


def test_keys_that_come_while_labels_are_out_are_columns_of_zeros_from_the_start() -> None:
    X, y = stream(n=60)
    wider = [dict(list(row.items())[: 2 + t // 20]) for t, row in enumerate(dictionaries(X))]
    zeros = np.where(np.arange(4) < 2 + np.arange(60)[:, None] // 20, X, 0.0)
    model, learner, seen = AIOLIClassifier(AIOLI()), AIOLI(), 0
    tickets = []
    for t in range(60 + 5):
        if t < 60:
            known = np.where(np.arange(4) < seen, zeros[t], 0.0)  # a key has a column when it has been learned from
            tickets.append(learner.announce(known[: max(seen, 1)]))
            assert model.predict_proba_one(wider[t])[True] == tickets[t].probability
        if t >= 5:
            width = 2 + (t - 5) // 20
            if seen and width > seen:
                learner.grow(width - seen)
            seen = width
            model.learn_one(wider[t - 5], bool(y[t - 5]))
            learner.learn(zeros[t - 5, :width], y[t - 5], announced=tickets[t - 5])
    assert model._game.learner.loss == learner.loss


@pytest.mark.parametrize("learner", [Wide(), OGD()], ids=["Wide", "OGD"])
def test_every_learner_takes_rows_whose_labels_are_late(learner: Any) -> None:
    X, y = stream()
    model = AIOLIClassifier(learner)
    assert len(played(X, y, model, delay=5)) == len(X)
    assert model._game.learner.rounds == len(X)
    assert not model._game.waiting


def test_weights_reach_rows_whose_labels_are_late() -> None:
    X, y = stream()
    rows = dictionaries(X)
    model, learner = AIOLIClassifier(), Auto()
    for t in range(len(X)):
        model.predict_one(rows[t])
    model.learn_one(rows[0], bool(y[0]), w=0.5)
    tickets = [learner.announce(x) for x in X]
    learner.learn(X[0], y[0], 0.5, announced=tickets[0])
    assert_array_equal(model._game.learner.predict_many(X), learner.predict_many(X))


def test_a_pickled_model_hears_the_labels_that_were_out() -> None:
    X, y = stream()
    rows = dictionaries(X)
    model = AIOLIClassifier()
    for t in range(40):
        model.predict_one(rows[t])
    copied = pickle.loads(pickle.dumps(model))
    for each in (model, copied):
        for t in range(40):
            each.learn_one(rows[t], bool(y[t]))
        assert not each._game.waiting
    assert_array_equal(model._game.learner.predict_many(X), copied._game.learner.predict_many(X))
    assert not model.clone()._game.waiting


def test_a_refused_label_leaves_what_was_announced() -> None:
    X, y = stream()
    rows = dictionaries(X)
    model, other = AIOLIClassifier(), AIOLIClassifier()
    for each in (model, other):
        for t in range(3):
            each.predict_one(rows[t])
    with pytest.raises(ValueError, match="label"):
        model.learn_one(rows[0], None)
    with pytest.raises(ValueError, match="encode"):
        model.learn_one({"x00": [1.0]}, True)
    for each in (model, other):
        for t in range(3):
            each.learn_one(rows[t], bool(y[t]))
    assert_array_equal(model._game.learner.predict_many(X), other._game.learner.predict_many(X))


def test_only_so_many_rows_are_kept_and_the_oldest_goes_first() -> None:
    kept, ledger = AnnouncedRows(3), Ledger()
    for name in "abcad":
        kept.add(name, ledger.issue_one(0, 0.0))
    assert len(kept) == 3
    assert kept.oldest("b") is None
    found = [kept.oldest(name) for name in "cad"]
    assert [None if each is None else each.number for each in found] == [2, 3, 4]
    kept.drop("a")
    assert kept.oldest("a") is None
    assert len(kept) == 2


def test_the_third_label_may_come_late() -> None:
    model, rows = AIOLIClassifier(), [{"a": float(i)} for i in range(6)]
    for x in rows:
        model.predict_proba_one(x)
    for x, label in zip(rows, [0, 1, 0, 2, 0, 1], strict=True):
        model.learn_one(x, label)
    assert set(model.predict_proba_one(rows[0])) == {0, 1, 2}
