"""The root of z + a tanh(z/2) = m: exact by the signs of its residual, on all of float64."""

import importlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from thoroughness import examples

from aioli.numerics.root import root, root_many

exact: Any = importlib.import_module("mpmath").MPContext()
exact.dps = 60

HUGE = 1.7976931348623157e308
TINY = 5e-324
LIMIT = 4.0  # ulp of z: the residual is a few roundings, and Newton stops within half an ulp (found: 3.0)

magnitudes = st.one_of(
    st.floats(0.0, 100.0),
    st.floats(0.0, HUGE),
    st.floats(-323.0, 308.0).map(lambda power: 10.0**power),
    st.floats(-3.0, 6.0).map(lambda power: 10.0**power),
)


def residual(z: Any, m: float, a: float) -> Any:
    """z + a tanh(z/2) - m for z, m ≥ 0, without the cancellation of m with a where both are large."""
    z, m, a = exact.mpf(z), exact.mpf(m), exact.mpf(a)
    if z < 1:
        return z + a * exact.tanh(z / 2) - m
    return z - 2 * a / (1 + exact.exp(z)) - (m - a)


def is_root(z: float, m: float, a: float, ulps: float = LIMIT) -> bool:
    """Whether the true root is within so many ulp of z: the left side rises in z, so two signs tell."""
    distance = ulps * exact.mpf(math.ulp(z))
    left, right = exact.mpf(abs(z)) - distance, exact.mpf(abs(z)) + distance
    same_side = z == 0.0 or math.copysign(1.0, z) == math.copysign(1.0, m)
    return bool(same_side and residual(left, abs(m), a) <= 0 <= residual(right, abs(m), a))


@examples(1000)
@given(magnitudes, magnitudes, st.sampled_from([1.0, -1.0]))
def test_residual_changes_sign_within_four_ulp(m: float, a: float, sign: float) -> None:
    assert is_root(root(sign * m, a), sign * m, a)


@examples(500)
@given(st.floats(0.0, 40.0).map(lambda power: 10.0**power), st.floats(-50.0, 50.0))
@example(1e6, 0.0)
@example(1e15, 0.25)
def test_large_m_close_to_large_a_keeps_its_digits(a: float, difference: float) -> None:
    assert is_root(root(a + difference, a), a + difference, a)


@pytest.mark.parametrize("power", [40, 46, 50, 80, 100, 200, 308])
@pytest.mark.parametrize("ratio", [1.0 - 1e-12, math.nextafter(1.0, 0.0), 1.0, math.nextafter(1.0, 2.0)])
def test_m_close_to_a_to_the_end_of_float64(power: int, ratio: float) -> None:
    # z grows like log a here, to 700: Newton must not climb to it in steps of 1
    a = 10.0**power
    assert is_root(root(a * ratio, a), a * ratio, a)


@examples(300)
@given(magnitudes, st.floats(0.0, 2.5))
def test_m_in_proportion_to_a(a: float, ratio: float) -> None:
    m = min(a * ratio, HUGE)
    assert is_root(root(m, a), m, a)


@pytest.mark.parametrize("a", [0.0, TINY, 1e-300, 1e-17, 0.5, 1.0, 710.0, 745.0, 1e16, 1e300, HUGE])
@pytest.mark.parametrize("m", [0.0, TINY, 2.3e-308, 1e-300, 1e-17, 1.0, 36.0, 710.0, 745.0, 1e16, 1e300, HUGE])
def test_the_ends_of_float64(m: float, a: float) -> None:
    assert is_root(root(m, a), m, a)


def test_golden_values() -> None:
    # z chosen, m computed from it by hand: tanh(log 3 / 2) = 1/2, tanh(log 2 / 2) = 1/3
    assert root(math.log(3.0) + 1.0, 2.0) == pytest.approx(math.log(3.0), rel=4 * 2.0**-52)
    assert root(math.log(2.0) + 1.0, 3.0) == pytest.approx(math.log(2.0), rel=4 * 2.0**-52)
    assert root(-math.log(2.0) - 1e9, 3e9) == pytest.approx(-math.log(2.0), rel=4 * 2.0**-52)


def test_without_hedging_the_root_is_m() -> None:
    for m in (0.0, TINY, 1e-300, 0.3, 745.0, 1e308, HUGE):
        assert root(m, 0.0) == m


@examples(300)
@given(magnitudes, magnitudes)
def test_root_is_odd_bit_for_bit(m: float, a: float) -> None:
    z = root(m, a)
    assert root(-m, a) == -z
    assert math.copysign(1.0, root(-m, a)) == -math.copysign(1.0, z)


@examples(400)
@given(st.floats(-290.0, 300.0), magnitudes)
def test_root_rises_with_m(power: float, a: float) -> None:
    # z rises at least as fast as m in relative terms, since tanh is concave: 16 ulp of m outweigh 2·4 ulp of z
    m = 10.0**power
    lower, higher = root(m, a), root(m * (1.0 + 16.0 * 2.0**-52), a)
    assert lower < higher or higher < 2.3e-308  # subnormal z have not the digits to show it


@examples(400)
@given(magnitudes, magnitudes)
def test_hedging_only_shrinks(m: float, a: float) -> None:
    assert 0.0 <= root(m, a) <= m


def test_infinities_give_the_limits() -> None:
    assert root(math.inf, 3.0) == math.inf
    assert root(-math.inf, 3.0) == -math.inf
    assert root(3.0, math.inf) == 0.0


def test_nan_stays_nan() -> None:
    assert math.isnan(root(math.nan, 1.0))
    assert math.isnan(root(1.0, math.nan))


def test_scalar_and_vectorised_agree_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    m = rng.normal(size=2000) * 10.0 ** rng.uniform(-10, 10, 2000)
    a = 10.0 ** rng.uniform(-10, 10, 2000)
    np.testing.assert_array_equal(root_many(m, a), [root(float(x), float(y)) for x, y in zip(m, a, strict=True)])
    np.testing.assert_array_equal(root_many(m[:3, None], a[:4])[2], root_many(m[2], a[:4]))
