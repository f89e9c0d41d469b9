"""The state of boosted trees: models that are fitted anew as rows come, how it grows, and that it is remembered."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from boosting_streams import crossed
from numpy.testing import assert_array_equal

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix
from aioli.snapshots.tree import Snapshot
from aioli.states.boosting.fitting import SWIFT, THOROUGH, Numbers
from aioli.states.boosting.growing import CHILD, COVER, FEATURE, NODE, VALUE
from aioli.states.boosting.state import BoostedState


def play(state: BoostedState, X: Matrix, y: Numbers) -> Cube:
    return state.play(X, y, np.ones(len(X)))


def test_any_chunking_is_the_same_game() -> None:
    X, y = crossed(700)
    whole, parts = BoostedState(THOROUGH, 4, 1), BoostedState(THOROUGH, 4, 1)
    said = play(whole, X, y)
    cuts = [0, 1, 31, 32, 33, 200, 201, 450, 700]
    heard = [play(parts, X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]
    assert_array_equal(np.concatenate(heard), said)
    assert parts.snapshot().arrays["kept"].tobytes() == whole.snapshot().arrays["kept"].tobytes()


def test_rows_one_by_one_are_the_same_game() -> None:
    X, y = crossed(400)
    whole, single = BoostedState(THOROUGH, 4, 1), BoostedState(THOROUGH, 4, 1)
    said, out = play(whole, X, y), np.empty((1, 2, 1))
    for t in range(400):
        single.play_row(X[t : t + 1], y[t : t + 1], np.ones(1), out)
        assert_array_equal(out[0], said[t])
    assert single.snapshot().arrays["kept"].tobytes() == whole.snapshot().arrays["kept"].tobytes()


def test_the_order_of_the_columns_changes_no_bit(rng: np.random.Generator) -> None:
    X, y = crossed(700)
    X = np.c_[X, rng.integers(0, 2, size=(700, 4)), rng.random((700, 4)) < 0.1]  # dense ones, and some that are listed
    order = rng.permutation(12)
    said = play(BoostedState(THOROUGH, 12, 1), X, y)
    assert_array_equal(play(BoostedState(THOROUGH, 12, 1), np.ascontiguousarray(X[:, order]), y), said)


def test_a_state_of_read_only_arrays_goes_on() -> None:
    X, y = crossed(300)
    state = BoostedState(THOROUGH, 4, 1)
    play(state, X[:200], y[:200])
    file = state.snapshot()
    for array in file.arrays.values():
        array.flags.writeable = False
    restored = BoostedState.restore(file, THOROUGH)
    assert_array_equal(play(restored, X[200:], y[200:]), play(state, X[200:], y[200:]))


def test_what_is_said_of_a_row_depends_on_rows_before_it_alone() -> None:
    X, y = crossed(300)
    other = y.copy()
    other[250:] = 1 - other[250:]
    first, second = play(BoostedState(THOROUGH, 4, 1), X, y), play(BoostedState(THOROUGH, 4, 1), X, other)
    assert_array_equal(first[:251], second[:251])


def test_nothing_is_said_before_the_first_model_nor_while_all_labels_are_one() -> None:
    X, y = crossed(200)
    state = BoostedState(THOROUGH, 4, 1)
    assert np.isnan(state.consult(X)).all()
    assert np.isnan(play(state, X, np.zeros(200, np.int64))).all()
    assert not np.isnan(play(state, np.tile(X, (2, 1)), np.tile(y, 2)))[-1].any()


@pytest.mark.parametrize("stop", [10, 32, 100, 333])
def test_a_stop_in_between_changes_no_bit(stop: int) -> None:
    X, y = crossed(600)
    never = BoostedState(THOROUGH, 4, 1)
    play(never, X[:stop], y[:stop])
    stopped = BoostedState.restore(never.snapshot(), THOROUGH)
    assert_array_equal(play(stopped, X[stop:], y[stop:]), play(never, X[stop:], y[stop:]))


def test_rows_kept_are_the_newest_and_memory_is_bounded() -> None:
    X, y = crossed(2000)
    state = BoostedState(THOROUGH._replace(newest=100), 4, 1)
    for first in range(0, 2000, 37):
        play(state, X[first : first + 37], y[first : first + 37])
        assert state.bytes < 2**20
    assert_array_equal(state.kept[:, :-2], X[-100:])
    assert state.rows == 2000
    assert state.due - state.rows <= 50


def test_growing_is_having_had_zeros_before() -> None:
    X, y = crossed(400)
    X[:150, 2:] = 0.0
    grown, wide = BoostedState(THOROUGH, 2, 1), BoostedState(THOROUGH, 4, 1)
    first = play(grown, X[:150, :2].copy(), y[:150])
    second = play(grown.grown(2), X[150:], y[150:])
    assert_array_equal(np.concatenate([first, second]), play(wide, X, y))


def test_a_state_that_keeps_fewer_rows_once_it_grows_goes_on_being_fitted() -> None:
    X, y = crossed(2200)
    state = BoostedState(THOROUGH, 4, 1)
    play(state, X[:1820], y[:1820])
    grown = state.grown(2400)  # of so many columns 871 rows are kept
    wide = np.c_[X[1820:], np.zeros((380, 2400))]
    again = BoostedState.restore(grown.snapshot(), THOROUGH)
    due, out = grown.due, np.empty((1, 2, 1))
    said = play(grown, wide[:100], y[1820:1920])
    assert grown.due > due > 1820
    for t in range(100):
        again.play_row(wide[t : t + 1], y[1820 + t : 1821 + t], np.ones(1), out)
        assert_array_equal(out[0], said[t])
    assert len(grown.kept) == len(again.kept) < 1000


def test_a_class_that_comes_later_is_next_to_impossible_until_the_next_fit() -> None:
    X, y = crossed(300)
    state = BoostedState(SWIFT, 4, 2)
    play(state, X, y)
    before = state.consult(X)
    state = state.with_class()
    assert_array_equal(state.consult(X)[:, :, :2], before)
    assert (state.consult(X)[:, :, 2] < before.min(axis=2)).mean() > 0.5
    X, y = crossed(1000, seed=1)
    play(state, X, np.where(X[:, 2] > 0.5, 2, y))
    assert (state.consult(X[X[:, 2] > 0.7])[:, -1].argmax(axis=1) == 2).mean() > 0.9


@pytest.mark.parametrize(
    "damage",
    [
        {"trees": lambda trees: np.where(np.arange(NODE) == CHILD, 0.0, trees)},
        {"trees": lambda trees: np.where((np.arange(NODE) == FEATURE) & (trees >= 0), 99.0, trees)},
        {"trees": lambda trees: np.where((np.arange(NODE) == FEATURE) & (trees >= 0), 0.5, trees)},
        {"trees": lambda trees: np.where(np.arange(NODE) == VALUE, math.nan, trees)},
        {"trees": lambda trees: np.where(np.arange(NODE) == VALUE, 1e308, trees)},
        {"trees": lambda trees: np.where((np.arange(NODE) == FEATURE) & (trees >= 0), math.inf, trees)},
        {"trees": lambda trees: np.where(np.arange(NODE) == COVER, -0.1, trees)},
        {"trees": lambda trees: trees[:, :, :3]},
        {"trees": lambda trees: trees[:-1]},
        {"kept": lambda kept: np.where(np.arange(6) == 4, 7.0, kept)},
        {"kept": lambda kept: np.where(np.arange(6) == 5, -1.0, kept)},
        {"kept": lambda kept: np.where(np.arange(6) == 5, 1e300, kept)},
        {"kept": lambda kept: np.where(np.arange(6) == 0, math.nan, kept)},
        {"kept": lambda kept: kept[1:]},
    ],
)
def test_a_damaged_snapshot_is_refused(damage: dict[str, object]) -> None:
    X, y = crossed(300)
    state = BoostedState(THOROUGH, 4, 1)
    play(state, X, y)
    whole = state.snapshot()
    arrays = {**whole.arrays, **{name: change(whole.arrays[name]) for name, change in damage.items()}}  # type: ignore[operator]
    with pytest.raises(SnapshotRefused):
        BoostedState.restore(replace(whole, arrays=arrays), THOROUGH)


@pytest.mark.parametrize(
    ("name", "value"),
    [("due", 300), ("due", 601), ("rows", 5000), ("outputs", 3), ("width", 2**62), ("outputs", 2**62)],
)
def test_counts_that_cannot_be_are_refused(name: str, value: int) -> None:
    X, y = crossed(300)
    state = BoostedState(THOROUGH, 4, 1)
    play(state, X, y)
    whole = state.snapshot()
    with pytest.raises(SnapshotRefused):
        BoostedState.restore(Snapshot(whole.kind, {**whole.values, name: value}, whole.arrays), THOROUGH)


def test_a_width_that_no_memory_has_allocates_nothing_before_rows_come() -> None:
    empty = BoostedState(THOROUGH, 4, 1).snapshot()
    arrays = {**empty.arrays, "kept": np.empty((0, 10**12 + 2))}
    state = BoostedState.restore(Snapshot(empty.kind, {**empty.values, "width": 10**12}, arrays), THOROUGH)
    assert state.bytes < 10_000
