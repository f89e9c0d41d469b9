"""The multiplier of a quadratic over a ball: the conditions that make its minimiser the minimiser, in mpmath."""

import importlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from thoroughness import examples

from aioli.numerics.ball import ball_multiplier

exact: Any = importlib.import_module("mpmath").MPContext()
exact.dps = 60

NORM_LIMIT = 1e-13  # the search stops at a relative 1e-14 of μ, and the norm moves by no more than μ does

powers = st.floats(-60.0, 60.0).map(lambda power: 10.0**power)
bends = st.one_of(st.just(0.0), powers, st.floats(1e-60, 10.0))
slopes = st.tuples(bends, st.sampled_from([-1.0, 1.0])).map(lambda parts: parts[0] * parts[1])
quadratics = st.lists(st.tuples(bends, slopes), min_size=1, max_size=5)


def norm_at(mu: float, g: list[float], b: list[float]) -> Any:
    """‖θ(μ)‖ with θ_i = b_i/(g_i + μ), where θ_i is 0 if b_i is: infinite where it divides by 0."""
    parts = [(exact.mpf(gi) + exact.mpf(mu), exact.mpf(bi)) for gi, bi in zip(g, b, strict=True) if bi != 0.0]
    if any(bend == 0 for bend, _ in parts):
        return exact.inf
    return exact.sqrt(sum((slope / bend) ** 2 for bend, slope in parts))


def check_multiplier(g: list[float], b: list[float], radius: float) -> None:
    """Convex, so these suffice: μ ≥ 0, ‖θ‖ ≤ B, and ‖θ‖ = B unless μ = 0."""
    mu = ball_multiplier(np.array(g), np.array(b), radius)
    norm = norm_at(mu, g, b)
    assert mu >= 0.0
    assert norm <= radius * (1 + exact.mpf(NORM_LIMIT))
    if mu > 0.0:
        assert norm >= radius * (1 - exact.mpf(NORM_LIMIT))


@examples(300)
@given(quadratics, powers)
def test_the_minimiser_is_in_the_ball_and_on_its_edge_unless_free(
    terms: list[tuple[float, float]], radius: float
) -> None:
    check_multiplier([g for g, _ in terms], [b for _, b in terms], radius)


@examples(300)
@given(quadratics, st.floats(-16.0, 0.0), st.sampled_from([-1.0, 1.0]))
def test_where_the_free_minimiser_is_just_outside_or_inside(
    terms: list[tuple[float, float]], power: float, side: float
) -> None:
    g, b = [g or 1.0 for g, _ in terms], [b for _, b in terms]
    free = float(norm_at(0.0, g, b))
    check_multiplier(g, b, (free or 1.0) * (1.0 + side * 0.9 * 10.0**power))


@examples(200)
@given(
    st.floats(1e-3, 1e3),
    st.floats(-60.0, 0.0).map(lambda power: 10.0**power),
    st.floats(-12.0, 1.0).map(lambda power: 10.0**power),
)
@example(1.0, 1e-20, 0.0)
def test_the_hard_case_in_which_a_flat_direction_is_hardly_sloped(bend: float, slope: float, excess: float) -> None:
    # the steep direction alone would nearly fill the ball, so that μ is far below the upper end of the search
    check_multiplier([bend, 0.0], [bend, slope], 1.0 + excess)


@pytest.mark.parametrize(
    ("g", "b", "radius"),
    [
        ([0.0, 6541635684445.165], [-1.2472447230536402e-15, 37491117773261.57], 11.462306854662875),
        ([0.0, 108338152116.86375], [5.846381128284818e-22, -250073901.7826615], 0.004616542221262788),
        ([0.0, 1.574753262360828e22], [9.313974977879717e-06, -7.861986230783325e23], 99.85038823157404),
    ],
)
def test_hard_cases_that_a_tight_certificate_after_one_long_row_has_met(
    g: list[float], b: list[float], radius: float
) -> None:
    check_multiplier(g, b, radius)


@pytest.mark.parametrize(
    ("g", "b", "radius"),
    [
        (0.0, 1e-300, 1.0),
        (0.0, 1e-200, 1e-210),
        (0.0, 1e200, 1e-100),
        (0.0, -1e300, 1.0),
        (1e300, 1e300, 0.5),
        (1e-300, 1e-300, 0.5),
        (1e200, 1e300, 1e50),
        (1.0, 1e-170, 1e-180),
        (1e160, 1e170, 1.0),
    ],
)
def test_the_ends_of_float64_in_one_dimension(g: float, b: float, radius: float) -> None:
    mu = ball_multiplier(np.array([g]), np.array([b]), radius)
    expected = exact.mpf(abs(b)) / exact.mpf(radius) - exact.mpf(g)
    assert abs(exact.mpf(mu) - expected) <= NORM_LIMIT * max(expected, exact.mpf(g))


@pytest.mark.parametrize("scale", [1e-250, 1e-100, 1e-10, 1e10, 1e100, 1e250])
def test_scaling_the_problem_scales_the_multiplier(scale: float) -> None:
    g, b = np.array([0.0, 1.0, 5.0]), np.array([1.0, -2.0, 3.0])
    mu = ball_multiplier(g, b, 0.5)
    assert ball_multiplier(scale * g, scale * b, 0.5) == pytest.approx(scale * mu, rel=1e-13, abs=0.0)


def test_a_minimiser_inside_the_ball_needs_no_multiplier() -> None:
    assert ball_multiplier(np.array([2.0, 4.0]), np.array([2.0, -4.0]), 1.5) == 0.0
    assert ball_multiplier(np.array([0.0, 4.0]), np.array([0.0, -4.0]), 1.0) == 0.0  # flat where nothing pulls
    assert ball_multiplier(np.zeros(3), np.zeros(3), 1.0) == 0.0


def test_golden_values() -> None:
    # one dimension: μ = |b|/B - g; equal bends: μ = ‖b‖/B - g
    assert ball_multiplier(np.array([1.0]), np.array([-6.0]), 2.0) == pytest.approx(2.0, rel=1e-13)
    assert ball_multiplier(np.array([1.0, 1.0]), np.array([3.0, 4.0]), 1.0) == pytest.approx(4.0, rel=1e-13)
    assert ball_multiplier(np.zeros(2), np.array([3.0, 4.0]), 0.1) == pytest.approx(50.0, rel=1e-13)


def test_no_point_of_the_ball_is_lower(rng: np.random.Generator) -> None:
    g, b, radius = rng.exponential(size=6), 5.0 * rng.normal(size=6), 1.3
    g[0] = 0.0
    theta = b / (g + ball_multiplier(g, b, radius))
    least = float(g @ theta**2 - 2.0 * b @ theta)
    points = rng.normal(size=(2000, 6))
    points *= radius * rng.random((2000, 1)) ** (1.0 / 6.0) / np.linalg.norm(points, axis=1, keepdims=True)
    near = theta + 1e-3 * points
    near *= np.minimum(1.0, radius / np.linalg.norm(near, axis=1, keepdims=True))
    for others in (points, near):
        # θ is on the edge to within 1e-13, where the slope is at most 2(‖g‖B + ‖b‖): about 50
        assert np.min(others**2 @ g - 2.0 * others @ b) >= least - 1e-11
    assert math.isclose(float(np.linalg.norm(theta)), radius, rel_tol=1e-13)


def test_nothing_given_is_changed() -> None:
    g, b = np.array([0.0, 1.0, 5.0]), np.array([1.0, 0.0, 3.0])
    ball_multiplier(g, b, 0.5)
    assert g.tolist() == [0.0, 1.0, 5.0]
    assert b.tolist() == [1.0, 0.0, 3.0]
