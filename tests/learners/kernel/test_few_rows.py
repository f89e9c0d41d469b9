"""Random features play few rows in one compiled call: the same game as by matrix products, but for rounding."""

import time
from threading import Thread

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import AIOLI, OGD, RandomFeatures
from aioli.learners.kernel.bandwidth import BandwidthMixture
from aioli.learners.kernel.few_rows import FEW
from aioli.learners.kernel.random_features import FourierMap
from aioli.numerics.compiling import Matrix, Vector

ROUNDING = 1e-9  # cosines of turns that were added up in another order, through some hundred rounds


def waves(n: int, d: int = 3) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, 1]) > 0.0).astype(np.float64)


def mixture_of(learner: RandomFeatures) -> BandwidthMixture:
    assert isinstance(learner._forecaster, BandwidthMixture)
    return learner._forecaster


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("few", [1, 7, FEW - 1])
def test_few_rows_at_a_time_are_the_game_of_many(few: int, kernel: str) -> None:
    X, y = waves(180)
    weights = np.where(np.arange(180) % 5 == 0, 2.5, 1.0)
    many, little = (RandomFeatures(features=16, orthogonal=False, kernel=kernel) for _ in range(2))
    said = many.learn_many(X, y, weights)
    parts = [slice(first, first + few) for first in range(0, 180, few)]
    heard = np.concatenate([little.learn_many(X[part], y[part], weights[part]) for part in parts])
    assert_allclose(heard, said, atol=ROUNDING)
    asked = np.concatenate([little.predict_many(X[part]) for part in parts])
    assert_allclose(asked, many.predict_many(X), atol=ROUNDING)
    assert mixture_of(little).plays_at_once(X[:few])
    assert not mixture_of(little).plays_at_once(X[:FEW])
    assert_allclose(little.loss, many.loss, rtol=1e-9)


def test_a_state_that_would_lose_its_digits_is_factored_on_the_way() -> None:
    X, y = waves(120)
    X[:, 1:] *= 1e-3  # nearly one direction: the features of a wide bandwidth hardly differ
    learners = [RandomFeatures(AIOLI(radius=1e3, ridge=1e-9), features=8) for _ in range(2)]
    assert_array_equal(learners[0].learn_many(X[:80], y[:80]), learners[1].learn_many(X[:80], y[:80]))
    many = learners[0].learn_many(X[80:], y[80:])
    few = [learners[1].learn(x, label) for x, label in zip(X[80:], y[80:], strict=True)]
    assert_allclose(few, many, atol=1e-5)  # so small a ridge magnifies what is rounded
    for learner in learners:
        maps = [each for each in mixture_of(learner).maps if isinstance(each, FourierMap)]
        assert any(each.base.state is not None and each.base.state.factored for each in maps)


def test_predicting_few_rows_says_what_learning_them_announces() -> None:
    X, y = waves(200)
    learner = RandomFeatures(features=16)
    learner.learn_many(X[:100], y[:100])
    for x, label in zip(X[100:], y[100:], strict=True):
        said = learner.predict(x)
        assert_allclose(learner.learn(x, label), said, rtol=1e-12)


def test_new_columns_come_between_few_rows() -> None:
    X, y = waves(160)
    learners = [RandomFeatures(features=16, orthogonal=False) for _ in range(2)]
    for learner in learners:
        learner.learn_many(X[:70], y[:70])
        learner.learn(X[70], y[70])
        learner.grow(1)
    wider = np.column_stack([X, np.linspace(-1.0, 1.0, 160)])
    few = [learners[0].learn(x, label) for x, label in zip(wider[71:], y[71:], strict=True)]
    assert_allclose(few, learners[1].learn_many(wider[71:], y[71:]), atol=ROUNDING)


def test_a_stop_between_few_rows_changes_no_bit() -> None:
    X, y = waves(150)
    steady, stopped = RandomFeatures(features=16), RandomFeatures(features=16)
    for learner in (steady, stopped):
        learner.learn_many(X[:100], y[:100])
    for first in range(100, 150, 5):
        part = slice(first, first + 5)
        assert_array_equal(steady.learn_many(X[part], y[part]), stopped.learn_many(X[part], y[part]))
        stopped = RandomFeatures.restore(stopped.snapshot())


def test_base_learners_of_other_kinds_play_few_rows_as_ever() -> None:
    X, y = waves(80)
    learner = RandomFeatures(OGD(), features=8)
    learner.learn_many(X, y)
    assert not mixture_of(learner).plays_at_once(X[:1])


def test_threads_that_predict_at_once_move_the_states_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = waves(180)
    learner = RandomFeatures(features=16, orthogonal=False)
    learner.learn_many(X, y)
    whole = mixture_of(learner)
    moves: list[object] = []
    source = type(whole.source)
    move = source.few_rows

    def slowly(*given: object) -> object:
        moves.append(given)
        time.sleep(0.02)  # so that the other threads come meanwhile
        return move(*given)  # type: ignore[arg-type]  # whatever was given

    monkeypatch.setattr(source, "few_rows", slowly)
    whole._few = None
    threads = [Thread(target=learner.predict_many, args=(X[:3],)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(moves) == 1
    assert whole._few is not None
    pairs = zip(whole._few._states, whole.maps, strict=True)
    assert all(isinstance(kept, FourierMap) and state is kept.base.state for state, kept in pairs)
