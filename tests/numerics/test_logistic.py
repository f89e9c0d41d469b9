"""Softplus, sigmoid and logit against mpmath, on all of float64."""

import importlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from thoroughness import examples

from aioli.numerics.logistic import logit, sigmoid, sigmoid_many, softplus, softplus_many

exact: Any = importlib.import_module("mpmath").MPContext()
exact.dps = 50

TINY = 5e-324  # the least subnormal
HUGE = 1.7976931348623157e308
# Where exp over- and underflows, where 1 + e^-z rounds to 1, where z*z underflows, and the ends of float64.
TURNING_POINTS = [0.0, TINY, 2.3e-308, 1e-300, 1e-17, 2.0**-53, 1e-8, 0.5, 0.7, 1.0, 17.0, 36.0, 36.8, 37.5, 40.0]
TURNING_POINTS += [708.3, 709.7, 709.8, 710.0, 744.4, 745.0, 745.13, 745.14, 746.0, 1e3, 1e16, 1e154, 1e308, HUGE]
EVERYWHERE = [*TURNING_POINTS, *(-z for z in TURNING_POINTS)]

real_line = st.one_of(
    st.floats(-800.0, 800.0), st.floats(-40.0, 40.0), st.floats(allow_nan=False, allow_infinity=False)
)


def ulps(got: float, value: Any) -> float:
    """The distance from the exact value in units of its last place, which for a subnormal is 5e-324."""
    return float(abs(exact.mpf(got) - value) / math.ulp(float(value)))


def exact_softplus(z: float) -> Any:
    e = exact.exp(-abs(exact.mpf(z)))
    return max(exact.mpf(z), 0) + (exact.log1p(e) if abs(z) < 150 else e)  # the next term is e²/2 < 1e-130 of it


def exact_sigmoid(z: float) -> Any:
    return 1 / (1 + exact.exp(-exact.mpf(z)))


def exact_logit(p: float) -> Any:
    return exact.log(exact.mpf(p) / (1 - exact.mpf(p)))


# Each function is two or three correctly rounded operations around exp, log and log1p, which the C library rounds to
# within an ulp: 2, 2 and 3 ulp hold with room (found: 1.4, 1.9, 2.5 over 10⁵ points).


@pytest.mark.parametrize("z", EVERYWHERE)
def test_softplus_and_sigmoid_are_within_two_ulp_where_exp_turns(z: float) -> None:
    assert ulps(softplus(z), exact_softplus(z)) <= 2.0
    assert ulps(sigmoid(z), exact_sigmoid(z)) <= 2.0


@examples(600)
@given(real_line)
def test_softplus_is_within_two_ulp(z: float) -> None:
    assert ulps(softplus(z), exact_softplus(z)) <= 2.0


@examples(600)
@given(real_line)
def test_sigmoid_is_within_two_ulp(z: float) -> None:
    assert ulps(sigmoid(z), exact_sigmoid(z)) <= 2.0


@examples(800)
@given(
    st.one_of(
        st.floats(0.0, 1.0, exclude_min=True, exclude_max=True),
        st.floats(0.2, 0.8),
        st.floats(1e-320, 0.5).map(lambda distance: 1.0 - distance),
        st.floats(-17.0, -1.0).map(lambda power: 0.5 + 10.0**power),
        st.floats(-17.0, -1.0).map(lambda power: 0.5 - 10.0**power),
        st.floats(-323.0, -1.0).map(lambda power: 10.0**power),
    ).filter(lambda p: p not in (0.0, 0.5, 1.0))  # these three are exact, below
)
@example(TINY)
@example(2.3e-308)
@example(1e-300)
@example(math.nextafter(0.25, 0.0))
@example(0.25)
@example(math.nextafter(0.5, 0.0))
@example(math.nextafter(0.5, 1.0))
@example(0.75)
@example(math.nextafter(0.75, 1.0))
@example(math.nextafter(1.0, 0.0))
def test_logit_is_within_three_ulp(p: float) -> None:
    assert ulps(logit(p), exact_logit(p)) <= 3.0


def test_values_that_are_exact() -> None:
    assert softplus(0.0) == softplus(-0.0) == math.log(2.0)
    assert sigmoid(0.0) == sigmoid(-0.0) == 0.5
    assert logit(0.5) == 0.0
    assert logit(0.25) == -logit(0.75)
    assert softplus(-746.0) == sigmoid(-746.0) == 0.0  # e^-746 is less than half of the least subnormal
    assert softplus(HUGE) == HUGE
    assert sigmoid(HUGE) == 1.0


def test_infinities_give_the_limits() -> None:
    assert (softplus(math.inf), softplus(-math.inf)) == (math.inf, 0.0)
    assert (sigmoid(math.inf), sigmoid(-math.inf)) == (1.0, 0.0)
    assert (logit(1.0), logit(0.0)) == (math.inf, -math.inf)


def test_nan_stays_nan() -> None:
    assert math.isnan(softplus(math.nan))
    assert math.isnan(sigmoid(math.nan))
    assert math.isnan(logit(math.nan))


@pytest.mark.parametrize("p", [-0.1, -TINY, math.nextafter(1.0, 2.0), 2.0, math.inf, -math.inf])
def test_what_is_no_probability_has_no_logit(p: float) -> None:
    assert math.isnan(logit(p))


@examples(300)
@given(st.floats(-700.0, 30.0))
def test_logit_undoes_sigmoid(z: float) -> None:
    # sigmoid is 2 ulp off, which logit multiplies by dz/dp = 1/p(1-p): 1/(1-p) relative to p. Its own 3 ulp are of z.
    p = sigmoid(z)
    assert abs(logit(p) - z) <= 2.0 * math.ulp(p) / (p * sigmoid(-z)) + 3.0 * math.ulp(z)


@examples(300)
@given(st.floats(-1000.0, 1000.0))
def test_the_two_losses_differ_by_the_log_odds(z: float) -> None:
    # softplus(z) - softplus(-z) = z: two ulp of the larger loss, and one of the subtraction
    assert abs((softplus(z) - softplus(-z)) - z) <= 3.0 * math.ulp(softplus(abs(z)))


def test_scalar_and_vectorised_agree_bit_for_bit() -> None:
    z = np.concatenate([np.random.default_rng(0).normal(0.0, 300.0, 2000), EVERYWHERE, [math.inf, -math.inf]])
    np.testing.assert_array_equal(softplus_many(z), [softplus(float(value)) for value in z])
    np.testing.assert_array_equal(sigmoid_many(z), [sigmoid(float(value)) for value in z])
    np.testing.assert_array_equal(sigmoid_many(z.reshape(2, -1)[:, ::-1]), sigmoid_many(z).reshape(2, -1)[:, ::-1])
