"""Auto's companions: heard where the world bends, retired where they save nothing, and back when it changes."""

from collections.abc import Callable

import numpy as np
import pytest
from auto_memory import memory
from numpy.testing import assert_array_equal

from aioli import Auto
from aioli.errors import SnapshotRefused
from aioli.learners.auto import auditions
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot


def linear(rows: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, (X @ [1.0, -2.0, 0.5] + rng.logistic(size=rows) > 0.0).astype(np.float64)


def crossed(rows: int, seed: int = 0) -> tuple[Matrix, Vector]:
    X, _ = linear(rows, seed)
    return X, (np.sin(2.0 * X[:, 0]) * np.cos(3.0 * X[:, 1]) > 0.0).astype(np.float64)


def player(learner: Auto) -> BendingEnsemble:
    assert isinstance(learner._player, BendingEnsemble)
    return learner._player


def playing(learner: Auto) -> list[str]:
    """Return the kinds of the companions that play."""
    return [type(companion).__name__ for companion in player(learner).companions if companion is not None]


def test_what_bends_is_heard() -> None:
    X, y = crossed(1500)
    usual, fast = Auto(), Auto(budget="fast")
    usual.learn_many(X, y)
    fast.learn_many(X, y)
    assert usual.loss < 0.8 * fast.loss
    assert playing(usual)
    assert player(usual)._mixed.linear_share < 0.1


def test_companions_that_save_nothing_retire_and_cost_a_few_nats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditions, "REVIEW", 256)
    X, y = linear(4000)
    learner, fast = Auto(), Auto(budget="fast")
    learner.learn_many(X, y)
    fast.learn_many(X, y)
    assert playing(learner) == []
    assert learner.loss < fast.loss + 10.0
    assert learner.certificate() < learner.certificate().theorem
    assert not any(player(learner)._mixed.shares.values())
    assert sum(learner.weights_.values()) == pytest.approx(1.0)


def test_companions_come_back_when_the_linear_experts_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditions, "REVIEW", 256)
    (X, y), (X_then, y_then) = linear(4096), crossed(4096, seed=1)
    learner = Auto()
    learner.learn_many(X, y)
    assert playing(learner) == []
    p = learner.learn_many(X_then, y_then)
    assert playing(learner)
    assert -np.log(np.where(y_then == 1.0, p, 1.0 - p))[3072:].mean() < 0.5


@pytest.mark.parametrize("world", [linear, crossed])
@pytest.mark.parametrize("stop", [50, 100, 500, 700])
def test_a_stop_in_between_changes_no_bit(
    world: Callable[[int], tuple[Matrix, Vector]], stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, rows in {"REVIEW": 64, "LEAST": 128, "SETTLED": 64}.items():
        monkeypatch.setattr(auditions, name, rows)
    X, y = world(900)
    never, stopped = Auto(), Auto()
    for learner in (never, stopped):
        learner.learn_many(X[:stop], y[:stop])
    at_first = playing(never)
    stopped = Auto.restore(stopped.snapshot())
    assert_array_equal(stopped.learn_many(X[stop:], y[stop:]), never.learn_many(X[stop:], y[stop:]))
    assert memory(stopped) == memory(never)
    assert playing(never) == playing(stopped)
    if stop <= 100:  # nobody had retired before the stop
        assert len(playing(never)) < len(at_first)


def test_labels_that_come_late_are_learned_from_what_was_announced() -> None:
    X, y = crossed(1200)
    learner = Auto()
    said = [learner.learn_batch(X[first : first + 100], y[first : first + 100]) for first in range(0, 1200, 100)]
    p = np.concatenate(said)
    assert -np.log(np.where(y == 1.0, p, 1.0 - p))[600:].mean() < 0.6
    assert learner.certificate().theorem == np.inf


def test_a_file_of_another_budget_is_refused() -> None:
    X, y = linear(50)
    learner = Auto()
    learner.learn_many(X, y)
    whole = learner.snapshot()
    other = Snapshot(whole.kind, {"parameters": {"experts": None, "budget": "fast"}}, whole.arrays, whole.parts)
    with pytest.raises(SnapshotRefused):
        Auto.restore(other)


def test_where_all_companions_have_retired_the_linear_experts_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditions, "REVIEW", 256)
    X, y = linear(4000)
    learner = Auto()
    learner.learn_many(X, y)
    ensemble = player(learner)
    assert playing(learner) == []
    p = learner.predict(X[0])
    assert p == ensemble.dense.predict(X[0])
    assert_array_equal(learner.predict_many(X[:3]), ensemble.dense.predict_many(X[:3]))
    ticket = learner.announce(X[0])
    assert ticket.probability == p == learner.predict(X[0])
    before = learner.loss - ensemble.dense.loss
    learner.learn(X[0], y[0], announced=ticket)
    learner.learn(X[1], y[1])
    assert learner.loss - ensemble.dense.loss == pytest.approx(before, abs=1e-9)  # it loses what they lose
