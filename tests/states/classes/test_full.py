"""The full softmax: every compiled form plays the game of its definition."""

import math

import numpy as np
import pytest
from class_reference import Reference, curvature_weights
from numpy.testing import assert_allclose
from support import make_rows

from aioli import AIOLI
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.helmert import helmert
from aioli.numerics.softmax import curvature_weights as compiled_weights
from aioli.numerics.softmax import softmax
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.states.classes.full import FullState


def game(radius: float = 3.0, ridge: float = 0.1, forgetting: float = 1.0) -> GameSpec:
    return GameSpec(radius, ridge, 0.5, "tight", forgetting, intercept=False)


def rows_and_codes(K: int, n: int, d: int, seed: int = 0) -> tuple[Matrix, Codes]:
    X = make_rows("random", n, d, seed)
    noise = np.random.default_rng(seed + 1).gumbel(size=(n, K))
    return X, np.argmax(X @ np.random.default_rng(seed + 2).normal(size=(d, K)) + noise, axis=1)


@pytest.mark.parametrize(("K", "d"), [(2, 3), (3, 2), (4, 3), (6, 2)])
@pytest.mark.parametrize(("radius", "ridge"), [(3.0, 0.1), (8.0, 0.01), (0.2, 2.0)])
@pytest.mark.parametrize("factored", [False, True])
def test_the_compiled_loops_play_the_definition(K: int, d: int, radius: float, ridge: float, factored: bool) -> None:
    X, codes = rows_and_codes(K, 12, d)
    stakes = np.where(np.arange(12) % 5 == 3, 2.5, 1.0)
    reference = Reference(radius, ridge, K, d)
    state = FullState(game(radius, ridge), d, K)
    if factored:
        state.factor()
    expected = reference.learn_many(X, codes, stakes)
    assert_allclose(np.exp(state.play(X, codes, stakes)), expected, rtol=0.0, atol=1e-8)
    assert_allclose(state.w, np.linalg.solve(reference.A, reference.b), atol=1e-8)
    assert_allclose(state.precision(), reference.A, rtol=1e-8, atol=1e-8)
    assert_allclose(state.certificate()[0], ridge * radius**2 + reference.regret, rtol=1e-8)
    assert_allclose(state.loss, reference.loss, rtol=1e-8)


@pytest.mark.parametrize("forgetting", [1.0, 0.97])
def test_two_classes_through_contrasts_are_aioli(forgetting: float) -> None:
    X, codes = rows_and_codes(2, 200, 3)
    binary = AIOLI(3.0 * math.sqrt(2.0), 0.05, 0.5, forgetting=forgetting, intercept=False)
    state = FullState(game(forgetting=forgetting), 3, 2)
    said = np.exp(state.play(X, codes, np.ones(200)))
    assert_allclose(said[:, 0], binary.learn_many(X, codes == 0), rtol=0.0, atol=1e-10)
    assert_allclose(state.certificate()[0], binary.certificate(), rtol=1e-10)
    assert_allclose(state.certificate(tight=True)[0], binary.certificate(tight=True), rtol=1e-8)


def test_the_surrogate_stays_below_the_loss_on_the_ball(rng: np.random.Generator) -> None:
    for _ in range(300):
        K = int(rng.integers(3, 13))
        C = 10.0 ** rng.uniform(-2, 1.5)
        E = helmert(K)
        z, a = rng.normal(size=(2, K - 1)) * 10.0 ** rng.uniform(-2, 1.5, size=(2, 1))
        a *= min(1.0, C / np.linalg.norm(a))  # ‖Wx‖ ≤ B‖x‖; the prediction may be anywhere
        p, log_p, weights = np.empty(K), np.empty(K), np.empty(K)
        lse = softmax(E @ z, p, log_p)
        compiled_weights(p, log_p, C, weights)
        gap = float(np.log(np.exp(E @ a - (E @ a).max()).sum()) + (E @ a).max() - lse - (E.T @ p) @ (a - z))
        away = E @ (a - z)
        mean = weights @ away / weights.sum()
        assert weights @ (away - mean) ** 2 <= gap * (1.0 + 1e-9) + 1e-13
        kappa = 1.0 / (math.log(K) + math.sqrt(2.0) * C + 2.0)
        spread = p @ (away - p @ away) ** 2
        assert weights @ (away - mean) ** 2 >= kappa * spread * (1.0 - 1e-9) - 1e-13  # what the theorem needs


def test_curvature_weights_are_their_formula() -> None:
    for z in (np.array([0.0, 0.0, 0.0]), np.array([3.0, -2.0, 0.5, 0.1]), np.array([30.0, 0.0, -30.0])):
        p, log_p, weights = np.empty(len(z)), np.empty(len(z)), np.empty(len(z))
        softmax(z, p, log_p)
        for C in (0.01, 1.0, 20.0):
            compiled_weights(p, log_p, C, weights)
            assert_allclose(weights, curvature_weights(p, C), rtol=1e-9)


def ill_scaled(n: int, d: int) -> Matrix:
    return make_rows("ill-scaled", n, d, 3)


def test_where_p_would_lose_its_digits_the_factored_form_takes_over() -> None:
    X = ill_scaled(150, 3)
    _, codes = rows_and_codes(3, 150, 3)
    state, exact = FullState(game(3.0, 1e-6), 3, 3), FullState(game(3.0, 1e-6), 3, 3)
    exact.factor()
    said = np.exp(state.play(X, codes, np.ones(150)))
    assert state.factored
    assert_allclose(said, np.exp(exact.play(X, codes, np.ones(150))), rtol=0.0, atol=1e-6)
    assert_allclose(state.predict(X), exact.predict(X), atol=1e-5)


def test_a_new_class_is_as_if_it_had_been_declared_and_not_yet_scored() -> None:
    """Rows before a class came are scored on the others; the contrasts are nested, so nothing else changes."""
    X, codes = rows_and_codes(3, 40, 2)
    ones = np.ones(20)
    grown, two = FullState(game(), 2, 2), FullState(game(), 2, 2)
    grown.play(X[:20], codes[:20] % 2, ones)
    two.play(X[:20], codes[:20] % 2, ones)
    grown.add_class()
    assert_allclose(grown.precision()[:2, :2], two.precision(), rtol=1e-12)
    assert_allclose(grown.precision()[2:], np.eye(4)[2:] * grown.spec.ridge, atol=1e-15)
    assert grown.play(X[20:], codes[20:], ones).shape == (20, 3)


def test_columns_that_come_late_were_0_before() -> None:
    X, codes = rows_and_codes(3, 40, 4)
    X[:20, 3] = 0.0
    grown, whole = FullState(game(), 3, 3), FullState(game(), 4, 3)
    ones = np.ones(20)
    grown.play(np.ascontiguousarray(X[:20, :3]), codes[:20], ones)
    grown.grow(1)
    whole.play(X[:20], codes[:20], ones)
    assert_allclose(grown.play(X[20:], codes[20:], ones), whole.play(X[20:], codes[20:], ones), atol=1e-12)


def test_heavy_rows_keep_the_certificate_finite_and_the_weight_counted() -> None:
    X, codes = rows_and_codes(4, 30, 2)
    stakes: Vector = np.where(np.arange(30) % 7 == 2, 1e4, 1.0)
    state = FullState(game(), 2, 4)
    state.play(X, codes, stakes)
    nats, theorem = state.certificate()
    assert np.isfinite(nats)
    assert theorem == math.inf
