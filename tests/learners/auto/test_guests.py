"""Guests: a model of your own is heard, corrected, fitted anew, and dismissed when it fails."""

import copy
import threading

import numpy as np
import pytest
from auto_memory import memory
from numpy.testing import assert_array_equal

from aioli import Auto
from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.numerics.compiling import Matrix, Vector


def crossed(rows: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, (np.sin(4.0 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=rows) > 0.0).astype(np.float64)


class Oracle:
    """Knows the rule from its first fit on."""

    def fit(self, X: Matrix, y: Vector) -> "Oracle":
        assert len(X) == len(y)
        return self

    def predict_proba(self, X: Matrix) -> Matrix:
        p = np.where(np.sin(4.0 * X[:, 0]) * X[:, 1] > 0.0, 0.9, 0.1)
        return np.column_stack([1.0 - p, p])


@pytest.mark.parametrize("budget", ["fast", "usual"])
def test_a_guest_that_knows_is_heard(budget: str) -> None:
    X, y = crossed(600)
    alone, learner = Auto(budget=budget), Auto(budget=budget, guests=[Oracle()], refit="doubling")
    alone.learn_many(X, y)
    learner.learn_many(X, y)
    assert learner.loss < 0.85 * alone.loss
    assert learner.weights_["guest: Oracle"] > 0.3


def test_a_function_plays_as_it_is_and_costs_no_more_than_its_share() -> None:
    X, y = crossed(600)
    alone, learner = Auto(), Auto(guests=[lambda X: np.full(len(X), 0.999)])
    alone.learn_many(X, y)
    learner.learn_many(X, y)
    assert learner.loss < alone.loss + 8.0


def test_one_row_at_a_time_is_many_rows_at_once() -> None:
    X, y = crossed(200)
    single, many = Auto(budget="fast", guests=[Oracle()], refit=50), Auto(budget="fast", guests=[Oracle()], refit=50)
    rows = [single.learn(x, label) for x, label in zip(X, y, strict=True)]
    np.testing.assert_allclose(rows, many.learn_many(X, y), atol=1e-9)


class Broken(Oracle):
    """Fails in one of several ways, from its second fit on."""

    def __init__(self, how: str) -> None:
        self.how = how

    def fit(self, X: Matrix, y: Vector) -> "Broken":
        if self.how == "fit" and len(X) == len(y) > 100:
            raise RuntimeError("out of memory")
        return self

    def predict_proba(self, X: Matrix) -> Matrix:
        said = super().predict_proba(X)
        if self.how == "raises":
            raise RuntimeError("no connection")
        return {"nan": said * np.nan, "shape": said[:1], "range": said + 1.0}.get(self.how, said)


@pytest.mark.parametrize("how", ["raises", "nan", "shape", "range", "fit"])
def test_a_guest_that_fails_is_dismissed_by_name_and_the_game_goes_on(how: str) -> None:
    X, y = crossed(300)
    learner = Auto(budget="fast", guests=[Broken(how)], refit="doubling")
    with pytest.warns(UserWarning, match="guest Broken is dismissed"):
        p = learner.learn_many(X, y)
    assert learner.rounds == 300
    assert np.isfinite(p).all()
    learner.learn(X[0], 1)  # without another warning, which would be an error here


@pytest.mark.parametrize("call", ["fit", "predict_proba"])
def test_a_guest_that_takes_forever_is_dismissed_by_name_and_the_game_goes_on(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    class Endless(Oracle):
        def __deepcopy__(self, memo: object) -> "Endless":
            return self

        def fit(self, X: Matrix, y: Vector) -> "Endless":
            if call == "fit":
                over.wait()
            super().fit(X, y)
            return self

        def predict_proba(self, X: Matrix) -> Matrix:
            if call == "predict_proba":
                over.wait()
            return super().predict_proba(X)

    monkeypatch.setattr("aioli.learners.auto.guests.PATIENCE", 0.05)
    X, y = crossed(300)
    learner = Auto(budget="fast", guests=[Endless()], refit=64)
    try:
        with pytest.warns(UserWarning, match="guest Endless is dismissed.*not answered for 0.05 s"):
            p = learner.learn_many(X, y)
        assert learner.rounds == 300
        assert np.isfinite(p).all()
        learner.learn(X[0], 1)
    finally:
        over.set()


def test_a_learner_with_a_guest_of_ones_own_cannot_be_saved() -> None:
    X, y = crossed(100)
    learner = Auto(guests=[Oracle()], refit="doubling")
    learner.learn_many(X, y)
    with pytest.raises(CapabilityMissing, match="guest Oracle"):
        learner.snapshot()


def test_a_copy_of_a_learner_with_a_guest_goes_on_alone() -> None:
    X, y = crossed(200)
    learner = Auto(guests=[Oracle()], refit="doubling")
    learner.learn_many(X[:100], y[:100])
    copied = copy.deepcopy(learner)
    assert_array_equal(copied.learn_many(X[100:], y[100:]), learner.learn_many(X[100:], y[100:]))
    assert copied.loss == learner.loss


def test_columns_that_come_later_are_seen_at_the_next_fit() -> None:
    X, y = crossed(300)
    learner = Auto(budget="fast", guests=[Oracle()], refit="doubling")
    learner.learn_many(X[:150], y[:150])
    learner.grow(1)
    learner.learn_many(np.column_stack([X[150:], np.ones(150)]), y[150:])
    assert learner.n_features_ == 4


@pytest.mark.parametrize(
    "wrong", [{"guests": [3]}, {"guests": [Oracle()], "refit": "daily"}, {"guests": [abs], "refit": 9}]
)
def test_what_is_no_guest_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterRefused):
        Auto(**wrong)  # type: ignore[arg-type]  # refused


def test_the_best_budget_goes_on_bit_for_bit() -> None:
    pytest.importorskip("sklearn")
    X, y = crossed(76)
    never, stopped = Auto(budget="best"), Auto(budget="best")
    for learner in (never, stopped):
        learner.learn_many(X[:70], y[:70])
    stopped = Auto.restore(stopped.snapshot())
    assert_array_equal(stopped.learn_many(X[70:], y[70:]), never.learn_many(X[70:], y[70:]))
    assert memory(stopped) == memory(never)
    assert any("HistGradientBoosting" in name for name in never.weights_)
