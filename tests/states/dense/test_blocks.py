"""The block form plays the same game as the rows one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import game, make_labels, make_rows

from aioli.numerics.compiling import Matrix, Vector
from aioli.states.dense import fused as kernels
from aioli.states.dense.blocks import play_block
from aioli.states.dense.state import State


def wide_stream(n: int = 100, d: int = 40) -> tuple[Matrix, Vector]:
    X = make_rows("random", n, d, seed=3) / np.sqrt(d)
    return X, make_labels(X, seed=3)


def as_rows(X: Matrix, y: Vector) -> tuple[Matrix, Vector, Vector, Vector]:
    return X, y, np.ones(len(X)), np.full(len(X), np.nan)


@pytest.mark.parametrize("inner", [1, 16, 1000])
def test_a_block_is_its_rows_one_by_one(inner: int) -> None:
    X, y = wide_stream()
    reference = State(game(), X.shape[1])
    expected = as_rows(X, y)
    kernels.play_rows(reference.P, reference.w, reference.tally, reference.rules, reference.workspace, *expected)

    state = State(game(), X.shape[1])
    played = as_rows(X, y)
    assert play_block(state.P, state.w, state.tally, state.rules, *played, inner=inner)
    assert_allclose(played[3], expected[3], atol=1e-12)  # the same sums in another order
    assert_allclose(state.P, reference.P, atol=1e-12)
    assert_allclose(state.w, reference.w, atol=1e-12)
    assert_allclose(state.tally, reference.tally, rtol=1e-11)
    assert np.array_equal(state.P, state.P.T)


def test_late_labels_go_through_blocks() -> None:
    X, y = wide_stream()
    announced = np.random.default_rng(0).normal(size=len(X))
    states = [State(game(), X.shape[1]) for _ in range(2)]
    one, two = states
    kernels.play_rows(one.P, one.w, one.tally, one.rules, one.workspace, X, y, np.ones(len(X)), announced.copy())
    assert play_block(two.P, two.w, two.tally, two.rules, X, y, np.ones(len(X)), announced.copy())
    for ours, theirs in ((two.P, one.P), (two.w, one.w), (two.tally, one.tally)):
        assert_allclose(ours, theirs, atol=1e-11)


def test_a_block_that_would_cost_digits_touches_nothing() -> None:
    X = make_rows("random", 60, 30, seed=0) + 1e6
    y = make_labels(X, 0)
    state = State(game(), 30)
    before, rows = state.buffer.copy(), as_rows(X, y)
    assert not play_block(state.P, state.w, state.tally, state.rules, *rows)
    assert np.array_equal(state.buffer, before)
    assert np.isnan(rows[3]).all()
