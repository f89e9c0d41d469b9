"""The state on a device plays the game of the state on the CPU; here PyTorch's CPU stands for the device."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import game, make_labels, make_rows

from aioli.states.dense import device_blocks, fused
from aioli.states.dense.device import DeviceState
from aioli.states.dense.state import State

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'aioli-online[torch]'")


@pytest.mark.parametrize(("outer", "panel"), [(64, 1024), (128, 16), (192, 7)])
@pytest.mark.parametrize("late", [False, True])
def test_blocks_of_any_size_are_the_rows_one_by_one(
    outer: int, panel: int, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_blocks, "OUTER", (outer, outer))
    monkeypatch.setattr(device_blocks, "LEAST_PANEL", panel)
    X = make_rows("random", 300, 40, seed=3) / np.sqrt(40)
    y = make_labels(X, seed=3)
    weights = np.random.default_rng(0).exponential(size=300)
    announced = np.random.default_rng(1).normal(size=300) if late else np.full(300, np.nan)
    reference = State(game(), 40)
    expected = announced.copy()
    state = reference
    fused.play_rows(state.P, state.w, state.tally, state.rules, state.workspace, X, y, weights, expected)

    there = DeviceState(game(), 40, "cpu")
    assert there.play(torch.from_numpy(X[:90]), y[:90], weights[:90], announced[:90]) == 90
    assert there.play(torch.from_numpy(X[90:]), y[90:], weights[90:], announced[90:]) == 210
    assert_allclose(announced, expected, atol=1e-12)
    assert_allclose(there.P.numpy(), reference.P, atol=1e-12)
    assert_allclose(there.w, reference.w, atol=1e-12)
    assert_allclose(there.tally, reference.tally, rtol=1e-11)
    assert np.array_equal(there.P.numpy(), there.P.numpy().T)


def test_a_state_moves_to_a_device_and_back_bit_for_bit() -> None:
    X = make_rows("random", 50, 5, seed=0)
    state = State(game(), 5)
    y = make_labels(X, 0)
    fused.play_rows(state.P, state.w, state.tally, state.rules, state.workspace, X, y, np.ones(50), np.full(50, np.nan))
    back = DeviceState.of(state, "cpu").to_state()
    for ours, theirs in ((back.P, state.P), (back.w, state.w), (back.tally, state.tally)):
        assert np.array_equal(ours, theirs)


def test_a_block_that_would_cost_digits_touches_nothing() -> None:
    X = make_rows("random", 60, 30, seed=0) + 1e6
    there = DeviceState(game(), 30, "cpu")
    logits = np.full(60, np.nan)
    assert there.play(torch.from_numpy(X), make_labels(X, 0), np.ones(60), logits) == 0
    fresh = DeviceState(game(), 30, "cpu")
    assert torch.equal(there.P, fresh.P)
    assert np.array_equal(there.w, fresh.w)
    assert np.array_equal(there.tally, fresh.tally)
    assert np.isnan(logits).all()
