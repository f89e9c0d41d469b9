"""All forms of the state play the same game, and it is the game of the definition."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import (
    KINDS,
    announce_by_minimising,
    game,
    make_labels,
    make_rows,
    state_by_definition,
    sums_of_surrogates,
)

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.outcomes.spec import Curvature, GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.states.dense import factored
from aioli.states.dense import fused as kernels
from aioli.states.dense import numpy_reference as twin
from aioli.states.dense.blocks import play_block
from aioli.states.dense.play import BLOCK, BLOCK_WIDTH, logits_of_rows, play
from aioli.states.dense.state import State

Form = Callable[[State, Matrix, Vector, Vector, Vector], object]


def fused(state: State, X: Matrix, y: Vector, weights: Vector, logits: Vector) -> None:
    played = kernels.play_rows(state.P, state.w, state.tally, state.rules, state.workspace, X, y, weights, logits)
    if played < len(X):
        in_factored_form(state, X[played:], y[played:], weights[played:], logits[played:])


def single_rows(state: State, X: Matrix, y: Vector, weights: Vector, logits: Vector) -> None:
    for t in range(len(X)):
        row = slice(t, t + 1)
        play(state, X[row], y[row], weights[row], logits[row])


def in_factored_form(state: State, X: Matrix, y: Vector, weights: Vector, logits: Vector) -> None:
    state.factor()
    factored.play_rows(state.P, state.w, state.tally, state.rules, state.workspace, X, y, weights, logits)


def in_blocks(state: State, X: Matrix, y: Vector, weights: Vector, logits: Vector) -> None:
    for t in range(0, len(X), 24):
        part = slice(t, t + 24)
        if state.factored or not play_block(
            state.P, state.w, state.tally, state.rules, X[part], y[part], weights[part], logits[part], inner=7
        ):
            fused(state, X[part], y[part], weights[part], logits[part]) if not state.factored else in_factored_form(
                state, X[part], y[part], weights[part], logits[part]
            )


def run(form: Form, rules: GameSpec, X: Matrix, y: Vector, weights: Vector | None = None) -> tuple[Vector, State]:
    state = State(rules, X.shape[1])
    logits = np.full(len(X), np.nan)
    form(state, X, y, np.ones(len(X)) if weights is None else weights, logits)
    return logits, state


def adversarial_labels(rules: GameSpec, X: Matrix) -> Vector:
    """The label to which the learner gave the smaller probability, every time."""
    state = State(rules, X.shape[1])
    y = np.zeros(len(X))
    for t in range(len(X)):
        row = slice(t, t + 1)
        y[t] = float(logits_of_rows(state, X[row])[0] <= 0.0)
        play(state, X[row], y[row], np.ones(1), np.full(1, np.nan))
    return y


streams = st.tuples(st.sampled_from(KINDS), st.integers(1, 90), st.integers(1, 9), st.integers(0, 10**6), st.booleans())
games = st.builds(
    game,
    radius=st.sampled_from([0.1, 1.0, 8.0, 50.0]),
    ridge=st.sampled_from([1e-3, 0.1, 5.0]),
    regulariser=st.sampled_from([0.5, 1.0]),
    curvature=st.sampled_from(["paper", "tight"]),
)


def stream(rules: GameSpec, drawn: tuple[str, int, int, int, bool]) -> tuple[Matrix, Vector]:
    kind, n, d, seed, adversarial = drawn
    X = make_rows(kind, n, d, seed)
    return X, adversarial_labels(rules, X) if adversarial else make_labels(X, seed)


@given(games, streams)
def test_every_form_plays_the_same_game(rules: GameSpec, drawn: tuple[str, int, int, int, bool]) -> None:
    X, y = stream(rules, drawn)
    expected, reference = run(in_factored_form, rules, X, y)
    for form in (single_rows, fused, in_blocks):
        logits, state = run(form, rules, X, y)
        assert_allclose(sigmoid_many(logits), sigmoid_many(expected), atol=1e-9)
        assert_allclose(state.tally, reference.tally, rtol=1e-8, atol=1e-8)
        assert state.tally[Tally.ROUNDS] == len(X)


@given(games, streams)
def test_kernels_equal_their_numpy_twin(rules: GameSpec, drawn: tuple[str, int, int, int, bool]) -> None:
    X, y = stream(rules, drawn)
    logits, state = run(fused, rules, X, y)
    if not state.factored:  # the twin has only the one form
        expected, reference = run(twin.play_rows, rules, X, y)
        assert_allclose(sigmoid_many(logits), sigmoid_many(expected), atol=1e-9)
        assert_allclose(state.tally, reference.tally, rtol=1e-8, atol=1e-8)


@given(games, streams)
def test_predictions_minimise_the_objective_of_the_paper(
    rules: GameSpec, drawn: tuple[str, int, int, int, bool]
) -> None:
    X, y = stream(rules, drawn)
    logits, _ = run(single_rows, rules, X, y)
    for t in range(0, len(X), max(1, len(X) // 8)):
        A, b = sums_of_surrogates(rules, X[:t], y[:t], logits[:t])
        z = announce_by_minimising(rules, A, b, X[t])
        assert_allclose(sigmoid_many(logits[t]), sigmoid_many(z), atol=1e-6)


@given(games, streams)
def test_the_state_is_the_sum_of_its_surrogates(rules: GameSpec, drawn: tuple[str, int, int, int, bool]) -> None:
    X, y = stream(rules, drawn)
    logits, state = run(single_rows, rules, X, y)
    A, b = sums_of_surrogates(rules, X, y, logits)
    P, w = state_by_definition(A, b)
    inside = np.sqrt(np.diag(P))  # each coordinate in units of its own uncertainty
    # The reference itself loses ε times the condition number of A with a unit diagonal.
    scale = np.sqrt(np.diag(A))
    noise = 1e-9 + 50 * np.finfo(float).eps * np.linalg.cond(A / np.outer(scale, scale))
    assert_allclose(state.covariance() / np.outer(inside, inside), P / np.outer(inside, inside), atol=noise)
    assert_allclose(state.w / inside, w / inside, atol=noise * (1.0 + np.abs(w / inside).max()))


@pytest.mark.parametrize("curvature", ["paper", "tight"])
def test_many_wide_rows_go_by_blocks_and_play_the_same_game(curvature: Curvature) -> None:
    n, d = 2 * BLOCK + 17, BLOCK_WIDTH + 3
    X = make_rows("random", n, d, seed=5) / np.sqrt(d)
    y = make_labels(X, seed=5)
    rules = game(radius=8.0, ridge=1 / 64, curvature=curvature)
    logits, state = run(play, rules, X, y)
    expected, reference = run(fused, rules, X, y)
    assert_allclose(logits, expected, atol=1e-9)
    assert_allclose(state.P, reference.P, atol=1e-9)
    assert np.array_equal(state.P, state.P.T)


def test_predicting_many_rows_is_predicting_each_as_if_it_came_next(rng: np.random.Generator) -> None:
    X, rules = rng.normal(size=(60, 5)), game()
    _, state = run(play, rules, X, make_labels(X, 3))
    before = state.buffer.copy()
    z = logits_of_rows(state, X)
    assert np.array_equal(before, state.buffer)
    for t in range(len(X)):
        logit = np.full(1, np.nan)
        play(state.copy(), X[t : t + 1], np.ones(1), np.ones(1), logit)
        assert_allclose(z[t], logit[0], rtol=1e-12, atol=1e-12)  # another order of summation


def test_p_stays_bitwise_symmetric(rng: np.random.Generator) -> None:
    X = rng.normal(size=(500, 7))
    _, state = run(fused, game(), X, make_labels(X, 1))
    assert np.array_equal(state.P, state.P.T)


def test_a_row_of_weight_zero_teaches_nothing(rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, 4))
    y = make_labels(X, 2)
    _, state = run(play, game(), X, y)
    P, w = state.P.copy(), state.w.copy()
    play(state, X[:1], y[:1], np.zeros(1), np.full(1, np.nan))
    assert np.array_equal(P, state.P)
    assert np.array_equal(w, state.w)


@given(games, streams)
def test_a_weight_multiplies_the_loss_of_its_row(rules: GameSpec, drawn: tuple[str, int, int, int, bool]) -> None:
    X, y = stream(rules, drawn)
    weights = np.random.default_rng(drawn[3]).choice([0.0, 0.5, 1.0, 3.0], size=len(X))
    logits, state = run(single_rows, rules, X, y, weights)
    assert_allclose(run(in_blocks, rules, X, y, weights)[0], logits, atol=1e-8 * (1 + np.abs(logits).max()))
    losses = np.logaddexp(0.0, np.where(y == 1, -logits, logits))
    assert_allclose(state.tally[Tally.LOSS], weights @ losses, rtol=1e-12, atol=1e-12)
    A, b = sums_of_surrogates(rules, X, y, logits, weights)
    t = len(X) - 1
    A, b = sums_of_surrogates(rules, X[:t], y[:t], logits[:t], weights[:t])
    z = announce_by_minimising(rules, A, b, X[t])
    assert_allclose(sigmoid_many(logits[t]), sigmoid_many(z), atol=1e-6)


@pytest.mark.parametrize("rho", [0.9, 0.999])
def test_forgetting_is_the_same_in_kernel_and_twin(rho: float, rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    y = make_labels(X, 4)
    rules = game(forgetting=rho)
    logits, state = run(play, rules, X, y)
    expected, reference = run(twin.play_rows, rules, X, y)
    assert_allclose(logits, expected, atol=1e-10)
    assert_allclose(state.P, reference.P, atol=1e-10)
    # It forgets towards its prior: the covariance never exceeds 1/λ, and never falls below (1-ρ)/λ.
    eigenvalues = np.linalg.eigvalsh(state.P) * rules.ridge
    assert eigenvalues.max() <= 1 + 1e-12
    assert eigenvalues.min() >= 1 - rho - 1e-12
