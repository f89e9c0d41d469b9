"""Who plays in Auto: experts that retire, the files that tell who does, and the threads they play on."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from auto_memory import ensemble_of, example_stream, memory, resumed_from_file
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto
from aioli.errors import SnapshotRefused
from aioli.learners.auto import mixed_experts
from aioli.learners.auto.experts import EXPERTS
from aioli.numerics import threads as side_by_side
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.codec import write_snapshot
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.dense.state import State
from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.views import Views


def retire_even(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody listen to the first, the third, … of those who play, four times in each 1024 rows."""
    monkeypatch.setattr(mixed_experts, "REVIEW", 256)
    monkeypatch.setattr(Mixture, "negligible", lambda mixture, _heard=0.0: np.arange(mixture.shares.size) % 2 == 0)


def test_nobody_listening_lets_an_expert_retire_and_the_game_stays_the_same_row_by_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    retire_even(monkeypatch)
    X, y = example_stream(n=2000, d=3)
    single, many = Auto(), Auto()
    rows = [single.learn(x, t) for x, t in zip(X, y, strict=True)]
    parts = [many.learn_many(X[a : a + 333], y[a : a + 333]) for a in range(0, 2000, 333)]
    assert_allclose(np.concatenate(parts), rows, atol=1e-8)
    retired = [name for name, weight in single.weights_.items() if weight == 0.0]
    assert EXPERTS[2].name in retired
    assert EXPERTS[6].name in retired
    assert EXPERTS[0].name not in retired  # it is certified
    assert EXPERTS[4].name not in retired  # it forgets
    assert [expert.name for expert in EXPERTS if expert.name not in retired] == [
        e.name for e in ensemble_of(single).playing
    ]
    assert_allclose(sum(single.weights_.values()), 1.0)
    assert all(state.tally[Tally.ROUNDS] == 2000 for state in ensemble_of(single).states)
    assert np.isfinite(single.certificate())
    assert_allclose(single.predict(X[0]), many.predict(X[0]), atol=1e-8)


@pytest.mark.parametrize(
    "again", [resumed_from_file, lambda a, _: pickle.loads(pickle.dumps(a)), lambda a, _: copy.deepcopy(a)]
)
def test_who_has_retired_stays_away_after_a_stop(
    again: Callable[[Auto, Path], Auto], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    retire_even(monkeypatch)
    X, y = example_stream(n=1500, d=3)
    stopped, never = Auto(), Auto()
    never.learn_many(X[:700], y[:700])
    stopped.learn_many(X[:700], y[:700])
    assert len(ensemble_of(never).playing) < len(EXPERTS)
    stopped = again(stopped, tmp_path)
    assert stopped.weights_ == never.weights_
    assert np.array_equal(stopped.learn_many(X[700:], y[700:]), never.learn_many(X[700:], y[700:]))
    assert stopped.learn(X[0], 1) == never.learn(X[0], 1)
    assert memory(stopped) == memory(never)


def test_a_learner_grows_after_some_have_retired(monkeypatch: pytest.MonkeyPatch) -> None:
    retire_even(monkeypatch)
    X, y = example_stream(n=1000, d=4)
    X[:700, 3:] = 0.0
    grown, wide = Auto(), Auto()
    first = grown.learn_many(X[:700, :3], y[:700])
    second = grown.grow(1).learn_many(X[700:], y[700:])
    assert_allclose(np.r_[first, second], wide.learn_many(X, y), atol=1e-9)


def changed(learner: Auto, values: dict[str, Plain], parts: dict[str, Snapshot]) -> Snapshot:
    """Return the snapshot of a learner whose ensemble has other values or parts."""
    whole = learner.snapshot()
    ensemble = whole.part("player", "DenseEnsemble")
    ensemble = replace(ensemble, values={**ensemble.values, **values}, parts={**ensemble.parts, **parts})
    return replace(whole, parts={"player": ensemble})


@pytest.mark.parametrize(
    "playing",
    [
        ["nobody"],
        [],
        [EXPERTS[1].name],
        [EXPERTS[0].name, EXPERTS[3].name],
        [EXPERTS[1].name, EXPERTS[0].name],
        [EXPERTS[0].name, EXPERTS[0].name],
    ],
)
def test_a_file_of_experts_that_do_not_play_is_refused(playing: list[str], tmp_path: Path) -> None:
    path = tmp_path / "model.aioli"
    write_snapshot(path, changed(Auto(experts=2), {"playing": playing}, {}))
    with pytest.raises(SnapshotRefused, match=r"its experts are .*; save it again"):
        Auto.load(path)


def test_a_file_with_a_mixture_of_another_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.aioli"
    write_snapshot(path, changed(Auto(budget="fast"), {}, {"mixture": Mixture(np.ones(7)).snapshot()}))
    with pytest.raises(SnapshotRefused, match=r"8 experts have 7 shares .*; save it again"):
        Auto.load(path)


def test_a_file_with_states_of_another_game_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.aioli"
    learner = Auto(experts=2)
    learner.learn_many(*example_stream(n=10))
    wider, other = State(EXPERTS[1].spec, 50).snapshot(), ensemble_of(learner).states[1].snapshot()
    for wrong in ({"expert1": wider}, {"expert0": other}, {"views": Views(7).snapshot()}):
        write_snapshot(path, changed(learner, {}, wrong))
        with pytest.raises(SnapshotRefused, match=r"is of another game, or of another width"):
            Auto.load(path)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = example_stream(n=6000, d=3)
    learners = []
    for threads in (1, 4):
        monkeypatch.setattr(side_by_side, "threads", lambda count=threads: count)
        learners.append(Auto())
        learners[-1].learn_many(X, y)
    assert memory(learners[0]) == memory(learners[1])


def test_threads_change_nothing_in_batches_whose_labels_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = example_stream(n=300, d=3)
    told = []
    for threads in (1, 4):
        monkeypatch.setattr(side_by_side, "threads", lambda count=threads: count)
        learner = Auto()
        said = [learner.learn_batch(X[first : first + 100], y[first : first + 100]) for first in (0, 100, 200)]
        told.append(np.concatenate([*said, learner.predict_many(X), [learner.loss]]))
    assert_array_equal(told[0], told[1])


def test_an_expert_to_whom_nobody_listens_retires() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random(size=(40_000, 6)) < 0.1).astype(float)
    y = (X @ [3.0, -3.0, 2.0, 1.0, -2.0, 0.0] + rng.logistic(size=40_000) > 0).astype(float)
    learner = Auto()
    learner.learn_many(X, y)
    assert 0.0 in learner.weights_.values()
    assert learner.weights_[EXPERTS[4].name] > 0.0
