"""The online Newton step against the algorithm as published, its projection, and its regret against its bound."""

import math

import numpy as np
import pytest
from baseline_games import (
    assert_parameter_must_be_positive,
    play,
    rows_within,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import NonlinearConstraint, minimize
from support import KINDS, make_labels, make_rows

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.baselines.ons import ONS, project
from aioli.numerics.compiling import Matrix, Vector


def literal_rounds(X: Matrix, y: Vector, B: float, R: float) -> tuple[Vector, float, int]:
    """The algorithm as published, with A itself: the probabilities, Σ gᵀA⁻¹g, and how often it left the ball."""
    D = 2.0 * B
    gamma = 0.5 * min(1.0 / (4.0 * R * D), math.exp(-B * R))
    d = X.shape[1]
    A, theta, said, total, left_the_ball = np.eye(d) / (gamma * D) ** 2, np.zeros(d), [], 0.0, 0
    for x, label in zip(X, y, strict=True):
        said.append(1.0 / (1.0 + math.exp(-theta @ x)))
        g = (said[-1] - label) * x
        A += np.outer(g, g)
        total += float(g @ np.linalg.solve(A, g))
        u = theta - np.linalg.solve(A, g) / gamma
        theta = u
        if np.linalg.norm(u) > B:
            left_the_ball += 1
            theta = nearest_by_bisection(A, u, B)
    return np.array(said), total, left_the_ball


def nearest_by_bisection(A: Matrix, u: Vector, B: float) -> Vector:
    """θ = (A + μI)⁻¹Au of norm B, by halving the interval of μ."""
    low, high = 0.0, float(np.linalg.norm(A @ u)) / B
    for _ in range(80):  # far below an ulp of the first interval
        mu = 0.5 * (low + high)
        theta = np.linalg.solve(A + mu * np.eye(u.size), A @ u)
        low, high = (mu, high) if np.linalg.norm(theta) > B else (low, mu)
    return np.asarray(theta, dtype=np.float64)


@pytest.mark.parametrize(("radius", "widest"), [(0.05, 1.0), (0.3, 1.0), (1.0, 2.0)])
def test_it_is_the_published_algorithm(radius: float, widest: float) -> None:
    X = make_rows("random", 300, 3, seed=3)
    y = (X[:, 0] > 0.2 * X[:, 1]).astype(float)
    X *= widest / np.linalg.norm(X, axis=1, keepdims=True)
    learner = ONS(radius, widest, intercept=False)
    said, _, left_the_ball = literal_rounds(X, y, radius, widest)
    assert_allclose(learner.learn_many(X, y), said, rtol=1e-10)
    if radius < 1.0:
        assert 0 < left_the_ball < 300  # both kinds of round were played


@given(st.integers(1, 6), st.integers(0, 10**6), st.floats(0.0, 6.0), st.sampled_from([1e-3, 0.5, 0.999, 1.0]))
def test_the_projection_is_the_nearest_point_of_the_ball(d: int, seed: int, spread: float, share: float) -> None:
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    a = 10.0 ** rng.uniform(-spread, spread, size=d)
    u = rng.normal(size=d)
    B = share * float(np.linalg.norm(u))
    theta = project(u, Q / np.sqrt(a), B)
    # Karush, Kuhn, Tucker, which a convex problem's minimiser alone meets: θ in the ball, A(u - θ) = μθ, μ ≥ 0
    assert_allclose(np.linalg.norm(theta), B, rtol=1e-9)
    force = (Q * a) @ (Q.T @ (u - theta))
    mu = float(force @ theta) / B**2
    assert mu >= -1e-9 * a.max()
    assert_allclose(force, mu * theta, atol=1e-9 * a.max() * float(np.linalg.norm(u)))  # as exact as A times u is


def test_the_projection_is_what_a_general_solver_finds() -> None:
    rng = np.random.default_rng(5)
    S = rng.normal(size=(3, 3))
    A, u = np.linalg.inv(S @ S.T), np.array([1.0, -2.0, 0.5])

    def distance2(theta: Vector) -> float:
        return float((theta - u) @ A @ (theta - u))

    def norm2(theta: Vector) -> list[float]:
        return [float(theta @ theta)]

    ball = NonlinearConstraint(norm2, -np.inf, 1.0)
    found = minimize(distance2, np.zeros(3), constraints=[ball], method="SLSQP", tol=1e-14)
    assert_allclose(project(u, S, 1.0), found.x, atol=1e-6)  # the solver's accuracy


@given(
    st.sampled_from(KINDS),
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([(0.1, 0.1), (0.05, 3.0), (1.0, 1.0), (4.0, 0.5), (3.0, 3.0)]),
)
def test_regret_is_at_most_the_bound(
    kind: str, n: int, d: int, seed: int, adversarial: bool, sizes: tuple[float, float]
) -> None:
    radius, widest = sizes
    X = rows_within(widest, kind, n, d, seed)
    learner = ONS(radius, widest, intercept=False)
    y = play(learner, X, make_labels(X, seed), adversarial)
    regret = learner.loss - best_in_ball(X, y, radius, intercept=False).loss
    assert regret <= learner.regret_bound() + 1e-8  # the hindsight's own tolerance
    assert np.linalg.norm(learner._theta) <= radius * (1.0 + 1e-12)


@pytest.mark.parametrize(("radius", "widest"), [(0.2, 1.0), (2.0, 1.0)])
def test_the_bound_covers_what_its_proof_sums(radius: float, widest: float) -> None:
    X = rows_within(widest, "random", 500, 3, seed=4)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = make_labels(X, seed=4)
    learner = ONS(radius, widest, intercept=False)
    learner.learn_many(X, y)
    gamma = 0.5 * min(1.0 / (8.0 * radius * widest), math.exp(-radius * widest))
    _, total, _ = literal_rounds(X, y, radius, widest)
    proof = 1.0 / (8.0 * gamma) + total / (2.0 * gamma)
    assert proof <= learner.regret_bound() <= 4.0 * proof


def test_there_is_no_bound_after_a_row_longer_than_was_said() -> None:
    learner = ONS(radius=1.0, widest=5.0, intercept=False)
    assert learner.regret_bound() == 0.0
    learner.learn([3.0, 4.0], 1)
    assert learner.regret_bound() < 1e3
    learner.learn([3.1, 4.0], 1)
    assert learner.regret_bound() == math.inf
    with pytest.raises(ValueError, match="scale the columns first"):
        learner.learn([1e9, 0.0], 1)


def test_a_ball_whose_step_would_be_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="radius·widest is 800"):
        ONS(radius=8.0, widest=100.0)
    learner = ONS(radius=7.0, widest=100.0, intercept=False)
    assert learner.learn_many(make_rows("random", 20, 2, seed=0), make_labels(np.ones((20, 2)), 0)).max() < 0.51


def test_parameters_are_shown_and_must_be_positive() -> None:
    assert_parameter_must_be_positive(ONS, "radius")
    assert_parameter_must_be_positive(ONS, "widest")
    assert repr(ONS(0.5, 2.0)) == "ONS(radius=0.5, widest=2.0, intercept=True)"
