"""Foster's mixture: both engines against integrals computed otherwise, and against its bound."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import dblquad, quad
from support import KINDS, make_labels, make_rows
from thoroughness import in_full_or_quickly

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.foster.foster import Foster
from aioli.learners.foster.smc import Particles
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many
from aioli.streams.synthetic import against, named


def signed(X: Matrix, y: Vector) -> Matrix:
    return np.asarray((2.0 * y - 1.0)[:, None] * X)


def exact_loss_on_the_line(rows: Vector, radius: float) -> float:
    """-log of the mean of Π σ(θx̃) over [-B, B], in panels that shrink towards 0, where every factor has its kink."""
    panels = int(math.log2(1.0 + radius * float(np.abs(rows).max()))) + 6
    ends = radius * 0.5 ** np.arange(panels)
    breaks = np.concatenate([-ends, [0.0], ends[::-1]]).tolist()

    def likelihood(theta: float) -> float:
        return math.exp(-float(softplus_many(-theta * rows).sum()))

    panel = [quad(likelihood, low, high, epsabs=0.0, epsrel=1e-13)[0] for low, high in pairwise(breaks)]
    return -math.log(math.fsum(panel) / (2.0 * radius))


# ---- quadrature


@settings(max_examples=12)
@given(st.integers(1, 6), st.floats(-3, 4), st.floats(-1, 1), st.integers(0, 10**6))
def test_on_the_line_losses_are_those_of_an_independent_quadrature(n: int, decade: float, b: float, seed: int) -> None:
    X = 10.0**decade * make_rows("random", n, 1, seed)
    y, radius = make_labels(X, seed), 10.0**b
    learner = Foster(radius, intercept=False)
    learner.learn_many(X, y)
    assert_allclose(learner.loss, exact_loss_on_the_line(signed(X, y)[:, 0], radius), rtol=1e-11)


def test_the_loss_of_very_many_rounds_is_right_to_a_millionth_of_a_nat() -> None:
    n = in_full_or_quickly(10**6, 10**5)
    X, y = named("hkl", horizon=n).take(n, seed=0)
    B = math.log(n)
    learner = Foster(B, intercept=False)
    learner.learn_many(X, y)
    rows, counts = np.unique(signed(X, y), return_counts=True)
    best = best_in_ball(rows[:, None], np.ones(2), B, intercept=False, weights=counts)

    def relative_density(theta: float) -> float:
        return math.exp(best.loss - float(counts @ softplus_many(-theta * rows)))

    bend = float(counts @ (rows**2 * np.exp(-np.abs(best.theta * rows)))) / 4.0
    marks = [float(best.theta[0]) + k / math.sqrt(bend) for k in (-9, -6, -3, 0, 3, 6, 9)]
    inside = [mark for mark in marks if -B < mark < B]
    mass = quad(relative_density, -B, B, points=inside, epsabs=0.0, epsrel=1e-10, limit=1000)[0]
    assert_allclose(learner.loss, best.loss - math.log(mass / (2.0 * B)), atol=1e-6, rtol=0)
    assert learner.loss - best.loss <= learner.regret_bound()
    assert len(learner._engine.history.distinct()[0]) == 2  # memory is of distinct rows, and the stream has two


@pytest.mark.parametrize("radius", [0.5, 3.0, 8.0])
def test_on_the_disc_losses_are_those_of_scipy(radius: float) -> None:
    X = make_rows("random", 5, 2, seed=3)
    y = make_labels(X, seed=3)
    learner = Foster(radius, intercept=False)
    for t in range(len(X)):
        learner.learn(X[t], y[t])
        rows = signed(X[: t + 1], y[: t + 1])

        def likelihood(v: float, u: float, rows: Matrix = rows) -> float:
            return math.exp(-float(softplus_many(-(rows @ np.array([u, v]))).sum()))

        def chord(u: float) -> float:
            return math.sqrt(max(radius**2 - u**2, 0.0))

        mass = dblquad(likelihood, -radius, radius, lambda u: -chord(u), chord, epsabs=0.0, epsrel=1e-9)[0]
        assert_allclose(learner.loss, -math.log(mass / (math.pi * radius**2)), rtol=1e-7)


@pytest.mark.parametrize("angle", [0.0, 0.4, 1.3])
def test_a_narrow_strip_across_the_disc_is_one_integral(angle: float, rng: np.random.Generator) -> None:
    radius, along = 5.0, rng.normal(size=800)
    y = np.where(along + rng.logistic(size=800) > 0.0, 1.0, 0.0)
    X = along[:, None] * np.array([math.cos(angle), math.sin(angle)])
    learner = Foster(radius, intercept=False)
    learner.learn_many(X, y)
    rows = signed(along[:, None], y)[:, 0]
    best = best_in_ball(along[:, None], y, radius, intercept=False)

    def relative_mass(s: float) -> float:  # θᵀx knows only the coordinate s along the rows: the rest is the chord there
        return 2.0 * math.sqrt(radius**2 - s**2) * math.exp(best.loss - float(softplus_many(-s * rows).sum()))

    mass = quad(relative_mass, -radius, radius, points=[float(best.theta[0])], epsabs=0.0, epsrel=1e-11, limit=500)[0]
    exact = best.loss - math.log(mass / (math.pi * radius**2))
    assert_allclose(learner.loss, exact, atol=1e-5, rtol=0)  # what the class promises at B‖x‖ ≤ 100


def test_a_row_unlike_all_others_is_announced_from_the_tail_where_its_mass_is() -> None:
    X, y = np.ones((60, 1)), np.tile([1.0, 1.0, 1.0, 0.0], 15)
    learner = Foster(5.0, intercept=False)
    learner.learn_many(X, y)
    rows = signed(X, y)[:, 0]
    for far in (10.0, 40.0, 300.0):
        before, after = (exact_loss_on_the_line(r, 5.0) for r in (rows, np.append(rows, -far)))
        assert_allclose(1.0 - learner.predict([far]), math.exp(before - after), atol=2e-16, rtol=1e-9)
        assert_allclose(learner.predict([-far]), math.exp(before - after), rtol=1e-9)


def test_a_row_and_its_mirror_image_say_the_same(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(50, 2)), (rng.random(50) < 0.5).astype(float)
    plain, mirrored = Foster(intercept=False), Foster(intercept=False)
    plain.learn_many(X, y)
    mirrored.learn_many(-X, 1.0 - y)
    assert_allclose(plain.predict_many(X), mirrored.predict_many(X), rtol=1e-12)


# ---- sequential Monte Carlo


def losses_of_seeds(X: Matrix, y: Vector, seeds: int, **parameters: Any) -> tuple[list[Foster], Vector]:
    learners = [Foster(method="smc", seed=seed, intercept=False, **parameters) for seed in range(seeds)]
    for learner in learners:
        learner.learn_many(X, y)
    return learners, np.array([learner.loss for learner in learners])


def test_monte_carlo_agrees_with_quadrature_within_its_own_error() -> None:
    X = make_rows("random", 150, 2, seed=5)
    y = make_labels(X, seed=5)
    exact = Foster(4.0, intercept=False)
    exact.learn_many(X, y)
    learners, losses = losses_of_seeds(X, y, seeds=16, radius=4.0, particles=600)
    variance = losses.var(ddof=1)
    assert variance < 0.2**2  # √(d log(n)/N) = 0.13: else the next line would say nothing
    # E[-log Ẑ] = -log Z + Var/2 where Ẑ, the estimate of the likelihood, is unbiased and nearly log-normal
    assert abs(losses.mean() - variance / 2.0 - exact.loss) <= 4.0 * math.sqrt(variance / 16.0)
    queries = make_rows("random", 8, 2, seed=6)
    p = np.array([learner.predict_many(queries) for learner in learners])
    error = p.std(axis=0, ddof=1) / 4.0
    assert error.max() < 0.01
    assert (np.abs(p.mean(axis=0) - exact.predict_many(queries)) <= 4.0 * error).all()


def test_monte_carlo_agrees_with_importance_sampling_in_five_dimensions(rng: np.random.Generator) -> None:
    X = make_rows("random", 25, 5, seed=7)
    y, radius = make_labels(X, seed=7), 2.0
    draws = rng.normal(size=(200_000, 5))
    draws *= (radius * rng.random(len(draws)) ** 0.2 / np.linalg.norm(draws, axis=1))[:, None]
    weights = np.exp(-softplus_many(-(draws @ signed(X, y).T)).sum(axis=1))
    exact, error = -math.log(weights.mean()), weights.std() / weights.mean() / math.sqrt(len(draws))
    _, losses = losses_of_seeds(X, y, seeds=8, radius=radius, particles=1000)
    variance = losses.var(ddof=1)
    assert variance < 0.2**2
    assert abs(losses.mean() - variance / 2.0 - exact) <= 4.0 * math.hypot(error, math.sqrt(variance / 8.0))


def test_monte_carlo_survives_a_row_that_rules_out_nearly_all_particles() -> None:
    x = np.array([[300.0, 0.0, 0.0]])
    learner, line = Foster(5.0, particles=400, intercept=False), Foster(5.0, intercept=False)
    X, y = np.repeat(x, 40, axis=0), np.tile([1.0, 0.0], 20)
    learner.learn_many(X, y)
    line.learn_many(X[:, :1], y)
    assert np.isfinite(learner.loss)
    assert abs(learner.loss - line.loss) < 2.0  # one binding coordinate of three; the prior on it is not quite uniform
    assert isinstance(learner._engine, Particles)
    assert (np.linalg.norm(learner._engine.points, axis=1) <= 5.0).all()


def test_in_twenty_dimensions_the_particles_still_play_within_the_bound() -> None:
    X, y = named("logistic", width=20).take(300, seed=0)
    learner = Foster(3.0, particles=400, intercept=False)
    learner.learn_many(X, y)
    regret = learner.loss - best_in_ball(X, y, 3.0, intercept=False).loss
    assert 0.0 < regret <= learner.regret_bound()


# ---- the bound


@settings(max_examples=25)
@given(
    st.sampled_from(KINDS),
    st.integers(1, 40),
    st.integers(1, 2),
    st.floats(-1, 1.3),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_regret_is_within_the_bound(kind: str, n: int, d: int, b: float, seed: int, adversarial: bool) -> None:
    X, radius = make_rows(kind, n, d, seed), 10.0**b
    learner = Foster(radius, intercept=False)
    if adversarial:
        y = np.array([label for _, label, _ in against(learner, X, seed)], dtype=float)
    else:
        y = make_labels(X, seed)
        learner.learn_many(X, y)
    best = best_in_ball(X, y, radius, intercept=False)
    assert learner.loss - best.loss <= learner.regret_bound() + 1e-2  # the steepest rows of the disc: see the class


def test_the_adversary_cannot_push_the_particles_past_the_bound() -> None:
    X = make_rows("random", 120, 4, seed=11)
    learner = Foster(3.0, particles=400, intercept=False)
    y = np.array([label for _, label, _ in against(learner, X)], dtype=float)
    assert learner.loss - best_in_ball(X, y, 3.0, intercept=False).loss <= learner.regret_bound()


def test_the_bound_is_below_that_of_the_paper() -> None:
    for d, B, R, n in [(1, 0.1, 1.0, 1), (1, 14.0, 1.0, 10**6), (20, 3.0, 5.0, 50), (2, 100.0, 10.0, 1000)]:
        learner = Foster(B, particles=100, intercept=False)
        assert learner.regret_bound() == 0.0
        learner.learn(np.full(d, R / math.sqrt(d)), 1)
        learner._lengths = n * R
        assert learner.regret_bound() <= 5.0 * d * math.log(B * R * n / d + math.e)


# ---- as every learner


@pytest.mark.parametrize(("width", "method"), [(1, "quadrature"), (2, "quadrature"), (2, "smc"), (4, "auto")])
def test_learning_rows_at_once_is_learning_them_one_by_one(width: int, method: Any) -> None:
    X = make_rows("random", 60, width, seed=2)
    X[[10, 30]] *= 1000.0  # rows that the mesh must be laid anew for
    X[40:] = X[:20]
    y = make_labels(X, seed=2)
    single = Foster(method=method, particles=100, seed=7, intercept=False)
    predicted = []
    for x, label in zip(X, y, strict=True):
        predicted.append(single.predict(x))
        assert single.learn(x, label) == predicted[-1]
    many = Foster(method=method, particles=100, seed=7, intercept=False)
    assert np.array_equal(many.learn_many(X, y), predicted)
    assert_allclose(many.loss, single.loss, rtol=1e-12)  # added in another order
    assert many.rounds == single.rounds == 60
    assert np.array_equal(many.predict_many(X), [single.predict(x) for x in X])


def test_the_seed_is_all_the_chance_there_is() -> None:
    X = make_rows("random", 80, 3, seed=1)
    y = make_labels(X, seed=1)
    first, second, other = (Foster(particles=50, seed=seed).learn_many(X, y) for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first[1:], other[1:])


def test_an_intercept_is_a_column_of_ones_and_counts_as_a_dimension() -> None:
    X = make_rows("random", 40, 1, seed=4)
    y = make_labels(X, seed=4)
    ones = np.c_[np.ones(40), X]
    learner = Foster(3.0)
    assert_allclose(learner.learn_many(X, y), Foster(3.0, intercept=False).learn_many(ones, y), rtol=1e-12)
    assert_allclose(learner.regret_bound(), 2.0 * (1.0 + math.log(0.75 * np.linalg.norm(ones, axis=1).sum())))


def test_nothing_is_known_before_the_first_row() -> None:
    learner = Foster()
    assert learner.predict([1.0, 2.0]) == 0.5
    assert learner.n_features_ is None
    assert learner.regret_bound() == 0.0
