"""When boosted trees say that the world has changed, and what they do then."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from boosting_streams import crossed
from numpy.testing import assert_allclose, assert_array_equal

from aioli.numerics.compiling import Matrix, Vector
from aioli.states.boosting.fitting import SWIFT, THOROUGH, Boosting, Numbers
from aioli.states.boosting.state import BoostedState
from aioli.states.boosting.watch import COUNT, MEAN, MOST_LOSS, NOW, PROVEN, RECENT, SQUARES, WATCHED, watch_loss


def turned(rows: int, at: int) -> tuple[Matrix, Numbers]:
    """Return a stream in which other columns tell the label from a row on."""
    X, y = crossed(rows)
    return X, np.where(np.arange(rows) < at, y, (X[:, 2] > X[:, 3]).astype(np.int64))


def watch(losses: Vector, watched: Vector) -> int:
    """Watch rows of these losses; return after how many the world has changed, or 0."""
    return next((t for t, loss in enumerate(losses, 1) if watch_loss(loss, 1.0, watched)), 0)


def test_the_numbers_kept_are_those_of_the_formulas(rng: np.random.Generator) -> None:
    losses, watched = rng.exponential(size=300), np.zeros(WATCHED)
    assert watch(losses, watched) == 0
    counted, now = np.minimum(losses, MOST_LOSS), 0.0
    for n, loss in enumerate(counted, 1):
        now += (loss - now) * max(1.0 / RECENT, 1.0 / n)
    assert_allclose(watched[[COUNT, MEAN, SQUARES, NOW]], [300, counted.mean(), 300 * counted.var(), now])


def test_rows_of_weight_0_are_not_watched() -> None:
    X, y = turned(600, at=600)
    state = BoostedState(THOROUGH, 4, 1)
    state.play(X[:500], y[:500], np.ones(500))
    before = state.watched.copy()
    state.play(X[500:], 1 - y[500:], np.zeros(100))
    assert_array_equal(state.watched, before)


def test_rows_of_next_to_no_weight_are_no_change(rng: np.random.Generator) -> None:
    for light in (1e-300, 1e-9, 1e-3):
        watched = np.zeros(WATCHED)
        assert watch(0.02 * rng.exponential(size=2000), watched) == 0
        assert not any(watch_loss(5.0, light, watched) for _ in range(200))
        assert abs(watched[COUNT] - 2000.0) < 1.0


def test_a_row_of_half_a_weight_is_half_a_row(rng: np.random.Generator) -> None:
    halves, wholes = np.zeros(WATCHED), np.zeros(WATCHED)
    for loss in rng.random(300):
        watch_loss(loss, 1.0, wholes)
        for _ in range(2):
            watch_loss(loss, 0.5, halves)
    assert_allclose(halves[[COUNT, MEAN, SQUARES]], wholes[[COUNT, MEAN, SQUARES]])
    assert_allclose(halves[NOW], wholes[NOW], rtol=0.01)


def test_nothing_changes_in_worlds_that_stay(rng: np.random.Generator) -> None:
    for law in (rng.exponential, lambda size: 4.0 * (rng.random(size) < 0.02), lambda size: rng.pareto(2.0, size)):
        for _ in range(20):
            assert watch(np.asarray(law(size=20_000)) + 0.01, np.zeros(WATCHED)) == 0


@pytest.mark.parametrize("before", [0.02, 0.3])
def test_losses_that_rise_to_twice_what_they_were_are_a_change(before: float, rng: np.random.Generator) -> None:
    losses = np.where(np.arange(4000) < 3000, before, 2.0 * before + 0.2) * rng.exponential(size=4000)
    assert 3000 < watch(losses, np.zeros(WATCHED)) < 3000 + 4 * RECENT


def test_one_row_that_nobody_believed_is_no_change(rng: np.random.Generator) -> None:
    losses = 0.1 + 0.05 * rng.random(5000)
    losses[PROVEN + 100 :: 500] = 30.0
    assert watch(losses, np.zeros(WATCHED)) == 0


@pytest.mark.parametrize(("how", "outputs"), [(THOROUGH, 1), (SWIFT, 2)])
def test_after_a_change_the_model_is_fitted_to_the_newest_rows(how: Boosting, outputs: int) -> None:
    X, y = turned(3000, at=2000)
    state = BoostedState(how, 4, outputs)
    said = state.play(X, y, np.ones(3000))[:, -1]
    score = said[:, 0] if outputs == 1 else said[:, 1] - said[:, 0]
    right = (score > 0.0) == (y == 1)
    assert right[1500:2000].mean() > 0.95
    assert right[2000:2064].mean() < 0.7
    assert right[2500:].mean() > 0.85
    assert state.rows < 1100  # those since the change


def test_where_nobody_watches_no_row_is_forgotten() -> None:
    X, y = turned(1500, at=900)
    state = BoostedState(SWIFT, 4, 2)
    state.watches = False
    state.play(X[:500], y[:500], np.ones(500))
    state = BoostedState.restore(state.snapshot(), SWIFT).grown(1).with_class()
    state.play(np.c_[X[500:], np.zeros(1000)], y[500:], np.ones(1000))
    assert state.rows == 1500
    assert not state.watched.any()


def test_any_chunking_is_the_same_game_through_a_change() -> None:
    X, y = turned(1500, at=900)
    ones, out = np.ones(1500), np.empty((1, 2, 1))
    whole, parts, single = (BoostedState(THOROUGH, 4, 1) for _ in range(3))
    said = whole.play(X, y, ones)
    cuts = [0, 31, 64, 880, 901, 960, 999, 1500]
    assert_array_equal(
        np.concatenate([parts.play(X[a:b], y[a:b], ones[a:b]) for a, b in itertools.pairwise(cuts)]), said
    )
    for t in range(1500):
        single.play_row(X[t : t + 1], y[t : t + 1], ones[t : t + 1], out)
        assert_array_equal(out[0], said[t])
    for other in (parts, single):
        assert other.rows == whole.rows < 700
        assert_array_equal(other.watched, whole.watched)
        assert_array_equal(other.kept, whole.kept)


@pytest.mark.parametrize("stop", [890, 950, 1100])
def test_a_stop_about_a_change_changes_no_bit(stop: int) -> None:
    X, y = turned(1500, at=900)
    never = BoostedState(THOROUGH, 4, 1)
    never.play(X[:stop], y[:stop], np.ones(stop))
    stopped = BoostedState.restore(never.snapshot(), THOROUGH)
    rest = X[stop:], y[stop:], np.ones(1500 - stop)
    assert_array_equal(stopped.play(*rest), never.play(*rest))


def test_a_file_from_before_there_was_a_watch_begins_it_anew() -> None:
    X, y = turned(800, at=800)
    state = BoostedState(THOROUGH, 4, 1)
    state.play(X, y, np.ones(800))
    whole = state.snapshot()
    earlier = replace(whole, arrays={name: array for name, array in whole.arrays.items() if name != "watched"})
    restored = BoostedState.restore(earlier, THOROUGH)
    assert not restored.watched.any()
    assert_array_equal(restored.consult(X), state.consult(X))
