"""Streams have the law that they state: exact values, counts within five sigma, calibrated θ."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many
from aioli.streams.synthetic import named

SIGMAS = 5.0  # one fair draw in 1.7 million lies further out; the seeds are fixed besides


def within_binomial(count: float, n: int, probability: float) -> bool:
    return abs(count - n * probability) <= SIGMAS * math.sqrt(n * probability * (1.0 - probability))


def excess_over_entropy(X: Matrix, y: Vector, theta: Vector) -> float:
    """Sum of ℓ(θᵀx, y) - H(σ(θᵀx)) in its standard deviations: E = 0 and Var = p(1-p)z² a row if θ is the truth."""
    z = X @ theta
    p = sigmoid_many(z)
    loss = softplus_many(z) - y * z
    entropy = softplus_many(z) - p * z
    return float((loss - entropy).sum() / math.sqrt((p * (1.0 - p) * z * z).sum()))


# ---- Hazan, Koren, Levy


@pytest.mark.parametrize("chi", [-1, 1])
@pytest.mark.parametrize("horizon", [10, 1000, 10**6])
def test_hkl_is_the_papers_law(horizon: int, chi: int) -> None:
    n = 400_000
    X, y = named("hkl", horizon=horizon, chi=chi).take(n, seed=11)
    B, epsilon = math.log(horizon), 0.01
    probability = math.sqrt(epsilon) / (2 * B) + chi * epsilon / B
    assert within_binomial(y.sum(), n, probability)
    assert not within_binomial(y.sum(), n, probability - 2 * chi * epsilon / B)  # and so it is not the law of -χ
    assert_allclose(X[y == 1.0], 1 - math.sqrt(epsilon) / (2 * B), rtol=1e-15)  # a few operations, half an ulp each
    assert_allclose(X[y == 0.0], math.sqrt(epsilon) / B, rtol=1e-15)


def test_hkl_says_its_ball() -> None:
    assert named("hkl", horizon=5000).radius == math.log(5000)
    assert named("hkl_shrinking", horizon=5000).radius == math.log(5000)


@pytest.mark.parametrize("chi", [-1, 1])
@pytest.mark.parametrize("horizon", [10, 100, 12_345, 10**6, 10**12])
def test_shrinking_hkl_has_epsilon_of_n_to_the_minus_two_thirds(horizon: int, chi: int) -> None:
    n = 200_000
    X, y = named("hkl_shrinking", horizon=horizon, chi=chi).take(n, seed=12)
    B = math.log(horizon)
    epsilon = (B * X[y == 0.0][0, 0]) ** 2
    assert_allclose(epsilon, horizon ** (-2 / 3), rtol=1e-13)
    probability = math.sqrt(epsilon) / (2 * B) + chi * epsilon / B
    assert 0.0 < probability < 1.0
    assert within_binomial(y.sum(), n, probability)


def test_shrinking_hkl_is_the_papers_law_at_a_thousand_rows() -> None:
    for ours, papers in zip(
        named("hkl_shrinking", horizon=1000).take(5000, seed=1),
        named("hkl", horizon=1000).take(5000, seed=1),
        strict=True,
    ):
        assert_allclose(ours, papers, rtol=1e-14)


def test_shrinking_hkl_has_probabilities_for_every_n_from_ten_on() -> None:
    for horizon in itertools.chain(range(10, 400), (10**k for k in range(3, 18))):
        for chi in (-1, 1):
            named("hkl_shrinking", horizon=horizon, chi=chi)  # refuses a probability outside (0, 1)
    with pytest.raises(ValueError, match="probability"):
        named("hkl_shrinking", horizon=8, chi=-1)


# ---- well-specified, drifting


@pytest.mark.parametrize(("width", "radius"), [(1, 0.5), (5, 3.0), (40, 8.0)])
def test_the_logistic_streams_theta_is_calibrated_and_of_the_norm_said(width: int, radius: float) -> None:
    stream = named("logistic", width=width, radius=radius, world=2)
    X, y = stream.take(100_000, seed=21)
    assert stream.radius == radius
    assert_allclose(np.linalg.norm(stream.theta()), radius, rtol=1e-14)
    assert abs(excess_over_entropy(X, y, stream.theta())) <= SIGMAS
    assert abs(excess_over_entropy(X, y, 0.8 * stream.theta())) > SIGMAS  # the check can tell another θ


def test_worlds_have_their_own_theta_and_seeds_share_one() -> None:
    assert not np.allclose(named("logistic", world=0).theta(), named("logistic", world=1).theta())
    stream = named("logistic")
    for seed in (0, 1):
        assert abs(excess_over_entropy(*stream.take(50_000, seed), stream.theta())) <= SIGMAS


def test_the_abrupt_stream_changes_at_its_row_and_only_there() -> None:
    at, n = 30_001, 60_000
    stream = named("abrupt", at=at, angle=math.pi / 2)
    X, y = stream.take(n, seed=22)
    before, after = stream.theta(at - 1), stream.theta(at)
    assert_array_equal(before, stream.theta(0))
    assert_array_equal(after, stream.theta(n))
    assert_allclose([before @ before, after @ after, before @ after], [16.0, 16.0, 0.0], atol=1e-13)
    for part, theta, wrong in ((slice(0, at), before, after), (slice(at, n), after, before)):
        assert abs(excess_over_entropy(X[part], y[part], theta)) <= SIGMAS
        assert abs(excess_over_entropy(X[part], y[part], wrong)) > SIGMAS


def test_the_rotating_stream_turns_at_its_pace() -> None:
    period, n = 8000, 64_000
    stream = named("rotating", period=period)
    X, y = stream.take(n, seed=23)
    start, quarter = stream.theta(0), stream.theta(period // 4)
    assert_allclose(quarter @ start, 0.0, atol=1e-13)
    assert_allclose(stream.theta(period // 2), -start, atol=1e-13)
    assert_allclose(stream.theta(period), start, atol=1e-13)
    z = np.array([stream.theta(t) @ x for t, x in enumerate(X)])
    residual = y - sigmoid_many(z)
    spread = math.sqrt((sigmoid_many(z) * sigmoid_many(-z) * z * z).sum())
    assert abs(residual @ z) <= SIGMAS * spread
    assert abs(excess_over_entropy(X, y, start)) > SIGMAS


# ---- separable


@pytest.mark.parametrize("margin", [0.0, 0.1, 3.0])
def test_separable_rows_are_separated_by_the_margin_and_no_more(margin: float) -> None:
    stream = named("separable", margin=margin)
    X, y = stream.take(50_000, seed=31)
    distance = (2.0 * y - 1.0) * (X @ stream.theta())
    assert_allclose(np.linalg.norm(stream.theta()), 1.0, rtol=1e-15)
    assert distance.min() >= margin - 1e-14  # d products of numbers below 10, half an ulp each
    assert distance.min() < margin + 1e-3  # 50,000 rows, of density 0.8 at the margin, come as near as that
