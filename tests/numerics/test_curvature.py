"""The curvatures against mpmath, and the tight one against its definition: the largest that stays below the loss."""

import importlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from thoroughness import examples

from aioli.numerics.curvature import paper_curvature, paper_curvature_many, tight_curvature, tight_curvature_many
from aioli.numerics.logistic import sigmoid, softplus, softplus_many

exact: Any = importlib.import_module("mpmath").MPContext()
exact.dps = 120  # differences of 1e-30 lose sixty digits when squared

EPS = 2.0**-52
TINY = 5e-324
HUGE = 1.7976931348623157e308

log_odds = st.one_of(
    st.floats(-40.0, 40.0),
    st.floats(-800.0, 800.0),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-320.0, 3.0).map(lambda power: 10.0**power),
)
ranges = log_odds.map(abs)


def ulps(got: float, value: Any) -> float:
    """The distance from the exact value in units of its last place, which for a subnormal is 5e-324."""
    return float(abs(exact.mpf(got) - value) / math.ulp(float(value)))


def exact_loss(a: Any) -> Any:
    """f(a) = softplus(-a) of the margin a."""
    e = exact.exp(-abs(a))
    return max(-a, 0) + (exact.log1p(e) if abs(a) < 300 else e)  # the next term is e²/2 < 1e-130 of it


def quotient(a: Any, margin: Any) -> Any:
    """2·(f(a) - f(a₀) + q(a - a₀))/(a - a₀)² with q = σ(-a₀), and its limit q(1-q) at a = a₀."""
    q = 1 / (1 + exact.exp(margin))
    if abs(a - margin) < 1e-30:
        return q * (1 - q)
    return 2 * (exact_loss(a) - exact_loss(margin) + q * (a - margin)) / (a - margin) ** 2


def exact_paper(z: float, C: float) -> Any:
    e = exact.exp(-abs(exact.mpf(z)))
    return e / (1 + e) ** 2 / (1 + exact.mpf(C))


def exact_tight(z: float, C: float) -> Any:
    """The least quotient over the two ends of [-C, C], at the margin |z|."""
    margin, end = abs(exact.mpf(z)), exact.mpf(C)
    return min(quotient(end, margin), quotient(-end, margin))


# Limits in ulp: the paper's is five roundings (found 4.0); the tight one is a difference that loses at most a factor
# of three on top of about two ulp a bracket (found 6.4).
PAPER_LIMIT, TIGHT_LIMIT = 5.0, 8.0


@examples(500)
@given(log_odds, ranges)
def test_paper_curvature_is_within_five_ulp(z: float, C: float) -> None:
    assert ulps(paper_curvature(z, C), exact_paper(z, C)) <= PAPER_LIMIT


@examples(1000)
@given(log_odds, ranges)
def test_tight_curvature_is_within_eight_ulp(z: float, C: float) -> None:
    assert ulps(tight_curvature(z, C), exact_tight(z, C)) <= TIGHT_LIMIT


@examples(600)
@given(log_odds, st.floats(-17.0, 1.0).map(lambda power: 10.0**power), st.sampled_from([-1.0, 0.0, 1.0]))
@example(0.0, 1e-300, 1.0)
@example(1.0, 1.5, 1.0)
@example(3.0, 1.5, -1.0)
@example(3.0, math.nextafter(1.5, 0.0), -1.0)
@example(3.0, math.nextafter(1.5, 2.0), -1.0)
def test_tight_curvature_keeps_its_digits_where_z_is_close_to_the_end(z: float, gap: float, side: float) -> None:
    C = max(0.0, abs(z) + side * gap)
    assert ulps(tight_curvature(z, C), exact_tight(z, C)) <= TIGHT_LIMIT


EXTREMES = [
    0.0,
    TINY,
    2.3e-308,
    1e-300,
    1e-17,
    1e-8,
    0.5,
    1.5,
    36.8,
    709.8,
    710.0,
    745.0,
    746.0,
    1e16,
    1e154,
    1e308,
    HUGE,
]


@pytest.mark.parametrize("C", EXTREMES)
@pytest.mark.parametrize("z", [*EXTREMES, *(-z for z in EXTREMES)])
def test_the_ends_of_float64(z: float, C: float) -> None:
    assert ulps(paper_curvature(z, C), exact_paper(z, C)) <= PAPER_LIMIT
    assert ulps(tight_curvature(z, C), exact_tight(z, C)) <= TIGHT_LIMIT


@examples(300)
@given(st.floats(-60.0, 60.0), st.floats(0.0, 100.0))
def test_tight_curvature_is_the_two_endpoint_formula_for_both_labels(z: float, C: float) -> None:
    # e^-160 of cancellation where the label is unlikely leaves 50 of the 120 digits
    for sign in (1, -1):
        margin, end = sign * exact.mpf(z), exact.mpf(C)
        least = min(quotient(end, margin), quotient(-end, margin))
        assert ulps(tight_curvature(z, C), least) <= TIGHT_LIMIT


def surrogate(u: np.ndarray[Any, Any], z: float, y: int, h: float) -> np.ndarray[Any, Any]:
    """The quadratic that touches the loss softplus(u) - y·u at z."""
    slope = sigmoid(z) if y == 0 else -sigmoid(-z)
    at_z = softplus(z if y == 0 else -z)
    return at_z + slope * (u - z) + 0.5 * h * (u - z) ** 2


@pytest.mark.parametrize("y", [0, 1])
@examples(150)
@given(st.floats(-60.0, 60.0), st.floats(1e-3, 100.0))
def test_the_tight_surrogate_lies_below_the_loss_on_the_whole_range(y: int, z: float, C: float) -> None:
    u = np.linspace(-C, C, 2001)
    loss = softplus_many(u if y == 0 else -u)
    # each of the surrogate's terms is at most C + |z| + 1 in size and a few roundings off
    assert np.max(surrogate(u, z, y, tight_curvature(z, C)) - loss) <= 8.0 * EPS * (1.0 + C + abs(z))


@examples(300)
@given(st.floats(-60.0, 60.0), st.floats(1e-3, 100.0))
@example(5.0, 5.0)
@example(0.0, 1.0)
def test_a_millionth_more_would_rise_above_the_loss(z: float, C: float) -> None:
    # at the end nearer to z; or, where that is z itself, a little within
    margin, end = abs(exact.mpf(z)), exact.mpf(C)
    u = end if abs(end - margin) > 1e-6 else end - exact.mpf("1e-7")
    rise = exact.mpf(tight_curvature(z, C)) * (1 + exact.mpf("1e-6")) / 2 * (u - margin) ** 2
    q = 1 / (1 + exact.exp(margin))
    assert exact_loss(margin) - q * (u - margin) + rise > exact_loss(u)


@examples(500)
@given(log_odds, ranges)
@example(0.0, 0.0)
def test_tight_is_at_least_the_papers_and_at_most_a_quarter(z: float, C: float) -> None:
    h, paper = tight_curvature(z, C), paper_curvature(z, C)
    assert h >= paper * (1.0 - 12.0 * EPS) - TINY  # equal at C = |z| = 0, and where both underflow
    assert h <= 0.25 * (1.0 + 8.0 * EPS)


@examples(300)
@given(st.floats(-30.0, 30.0), st.floats(0.0, 50.0), st.floats(1e-6, 10.0))
def test_a_wider_range_bends_less(z: float, C: float, more: float) -> None:
    assert tight_curvature(z, C + more) <= tight_curvature(z, C) * (1.0 + 16.0 * EPS)
    assert paper_curvature(z, C + more) <= paper_curvature(z, C) * (1.0 + 16.0 * EPS)


def test_golden_values() -> None:
    assert paper_curvature(0.0, 0.0) == tight_curvature(0.0, 0.0) == 0.25
    assert paper_curvature(0.0, 1.0) == 0.125
    # D(C, 0) = log cosh(C/2)
    assert tight_curvature(0.0, 8.0) == pytest.approx(math.log(math.cosh(4.0)) / 32.0, rel=8 * EPS)
    assert tight_curvature(2.0, 2.0) == pytest.approx(sigmoid(2.0) * sigmoid(-2.0), rel=8 * EPS)


@examples(200)
@given(log_odds, ranges)
def test_the_sign_of_z_does_not_matter(z: float, C: float) -> None:
    assert tight_curvature(z, C) == tight_curvature(-z, C)
    assert paper_curvature(z, C) == paper_curvature(-z, C)


def test_scalar_and_vectorised_agree_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(0.0, 20.0, 2000), EXTREMES])
    C = np.concatenate([rng.exponential(20.0, 2000), EXTREMES[::-1]])
    pairs = [(float(a), float(b)) for a, b in zip(z, C, strict=True)]
    np.testing.assert_array_equal(tight_curvature_many(z, C), [tight_curvature(a, b) for a, b in pairs])
    np.testing.assert_array_equal(paper_curvature_many(z, C), [paper_curvature(a, b) for a, b in pairs])
