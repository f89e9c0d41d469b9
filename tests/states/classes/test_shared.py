"""The softmax state with one matrix for all classes: its equation, its forms, and how it grows."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.states.classes.full import FullState
from aioli.states.classes.shared import SharedSpec, SharedState
from aioli.states.classes.shared_loops import play_rows, settle


def some_rows(n: int, d: int, K: int, seed: int = 0) -> tuple[Matrix, Codes]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, d - 1)) / np.sqrt(d)])
    return X, np.argmax(2.0 * X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K)), axis=1)


def play(state: SharedState, X: Matrix, codes: Codes) -> Matrix:
    out = np.empty((len(X), state.classes))
    state.play(X, codes, np.ones(len(X)), out)
    return out


@pytest.mark.parametrize("a", [0.0, 1e-3, 1.0, 50.0, 1e6])
@pytest.mark.parametrize("K", [1, 2, 7, 200])
def test_a_prediction_solves_its_equation(a: float, K: int) -> None:
    m = np.random.default_rng(K).normal(size=K) * 20.0
    z, p, log_p, step = (np.empty(K) for _ in range(4))
    settle(m, a, z, p, log_p, step)
    assert_allclose(p, np.exp(z - z.max()) / np.exp(z - z.max()).sum(), rtol=1e-12)
    assert_allclose(np.exp(log_p), p, rtol=1e-12)
    assert_allclose(z + a * (p - 1.0 / K), m, atol=1e-9 * (1.0 + np.abs(m).max() + a))


def test_of_two_classes_one_matrix_is_the_full_softmax() -> None:
    X, codes = some_rows(200, 4, 2)
    full = FullState(GameSpec(3.0, 0.1, 0.5, "tight", 1.0, intercept=False), 4, 2)
    assert_allclose(
        play(SharedState(SharedSpec(), 4, 2), X, codes), full.play(X, codes, np.ones(200)), atol=1e-8
    )  # both stop their Newton steps there


def test_blocks_of_rows_play_the_game_of_single_rows() -> None:
    X, codes = some_rows(300, 70, 5)
    blocks, single = SharedState(SharedSpec(), 70, 5), SharedState(SharedSpec(), 70, 5)
    announced = play(blocks, X, codes)
    one_by_one = np.empty((300, 5))
    play_rows(single.P, single.W, SharedSpec().rules, X, codes, np.ones(300), one_by_one)
    assert_allclose(announced, one_by_one, atol=1e-10)  # products of matrices round otherwise
    assert_allclose(blocks.P, single.P, atol=1e-12)
    assert_allclose(blocks.W, single.W, atol=1e-12)
    assert_array_equal(blocks.P, blocks.P.T)


def play_one_by_one(state: SharedState, X: Matrix, codes: Codes) -> Matrix:
    return np.concatenate([play(state, X[t : t + 1], codes[t : t + 1]) for t in range(len(X))])


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize("n", [1, 16, 21, 130])
def test_what_single_wide_rows_have_yet_to_take_from_the_matrix_is_no_other_game(n: int, forgetting: float) -> None:
    X, codes = some_rows(n + 30, 70, 4)
    blocks, single = (SharedState(SharedSpec(forgetting=forgetting), 70, 4) for _ in range(2))
    announced, one_by_one = play(blocks, X[:n], codes[:n]), play_one_by_one(single, X[:n], codes[:n])
    assert_allclose(one_by_one, announced, atol=1e-10)  # sums are taken in another order
    assert len(single.waiting) == n % 64 % 16
    assert_allclose(play(single, X[n:], codes[n:]), play(blocks, X[n:], codes[n:]), atol=1e-10)
    assert_allclose(single.P, blocks.P, atol=1e-12)
    assert_array_equal(single.P, single.P.T)


@pytest.mark.parametrize("d", [5, 70])
def test_wherever_rows_are_cut_what_is_forgotten_is_the_same(d: int) -> None:
    X, codes = some_rows(200, d, 3)
    spec = SharedSpec(forgetting=0.99)
    whole, pieces = SharedState(spec, d, 3), SharedState(spec, d, 3)
    announced = play(whole, X, codes)
    cut = [play(pieces, X[a:b], codes[a:b]) for a, b in ((0, 1), (1, 63), (63, 130), (130, 200))]
    assert_allclose(np.concatenate(cut), announced, atol=1e-10)
    assert np.linalg.eigvalsh(whole.P).max() <= 1.0 / spec.ridge + 1e-9


@pytest.mark.parametrize("d", [4, 70])
def test_what_is_predicted_is_what_learning_announces_next(d: int) -> None:
    X, codes = some_rows(50, d, 3)
    state = SharedState(SharedSpec(), d, 3)
    play_one_by_one(state, X, codes)
    said, before = np.empty((1, 3)), state.snapshot()
    state.consult(X[:1], said)
    assert_array_equal(state.snapshot().arrays["P"], before.arrays["P"])
    assert_array_equal(play(state, X[:1], codes[:1]), said)


def test_new_features_and_classes_are_as_if_they_had_been_there() -> None:
    X, codes = some_rows(80, 4, 3)
    wider = np.insert(X, 2, 0.0, axis=1)
    small, large = SharedState(SharedSpec(), 4, 3), SharedState(SharedSpec(), 5, 3)
    play(small, X, codes)
    play(large, wider, codes)
    grown = small.grown(5, np.array([0, 1, 3, 4]))
    assert_allclose(grown.P, large.P, atol=1e-13)  # sums of more terms are taken in another order
    assert_allclose(grown.W, large.W, atol=1e-13)
    grown.add_class()
    assert grown.classes == 4
    assert_array_equal(grown.W[3], 0.0)


def test_new_features_come_while_rows_wait() -> None:
    X, codes = some_rows(21, 70, 3)
    small, large = SharedState(SharedSpec(), 70, 3), SharedState(SharedSpec(), 71, 3)
    play_one_by_one(small, X, codes)
    wider = np.insert(X, 2, 0.0, axis=1)
    play_one_by_one(large, wider, codes)
    grown = small.grown(71, np.delete(np.arange(71), 2))
    assert_allclose(play(grown, wider, codes), play(large, wider, codes), atol=1e-12)


def test_a_snapshot_keeps_the_rows_that_wait_and_no_more_than_may() -> None:
    X, codes = some_rows(40, 70, 3)
    state = SharedState(SharedSpec(), 70, 3)
    play_one_by_one(state, X[:21], codes[:21])
    again = SharedState.restore(state.snapshot(), state.spec)
    assert_array_equal(again.snapshot().arrays["P"], state.snapshot().arrays["P"])
    assert_array_equal(play_one_by_one(again, X[21:], codes[21:]), play_one_by_one(state, X[21:], codes[21:]))
    assert_array_equal(play(again, X, codes), play(state, X, codes))  # in blocks
    play_one_by_one(state, X[:3], codes[:3])
    for waiting in (np.zeros((16, 70)), np.full((1, 70), np.inf)):
        broken = replace(state.snapshot(), arrays={**state.snapshot().arrays, "waiting": waiting})
        with pytest.raises(SnapshotRefused, match="wait"):
            SharedState.restore(broken, state.spec)


def test_a_snapshot_makes_an_equal_state_and_a_broken_one_is_refused() -> None:
    X, codes = some_rows(80, 70, 3)
    state = SharedState(SharedSpec(forgetting=0.99), 70, 3)
    play(state, X, codes)
    again = SharedState.restore(state.snapshot(), state.spec)
    assert_array_equal(play(again, X, codes), play(state, X, codes))
    broken = state.snapshot()
    broken.arrays["P"][0, 0] = np.nan
    with pytest.raises(SnapshotRefused, match="not finite"):
        SharedState.restore(broken, state.spec)
