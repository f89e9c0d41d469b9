"""Cosines and sines of many angles are those of the C library, to the last places."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.numerics.compiling import Vector
from aioli.numerics.waves import FARTHEST, write_waves


def waves(turns: Vector, length: float = 1.0) -> tuple[Vector, Vector]:
    cosines, sines = np.empty(turns.size), np.empty(turns.size)
    write_waves(turns, length, cosines, sines)
    return cosines, sines


@pytest.mark.parametrize("reach", [1e-300, 1e-8, 1.0, 30.0, 1e4, FARTHEST])
def test_they_are_those_of_the_library(reach: float) -> None:
    turns = np.random.default_rng(0).uniform(-reach, reach, 20_000)
    cosines, sines = waves(turns)
    # one rounding each in the reduction, the polynomial and its sum
    assert_allclose(cosines, [math.cos(t) for t in turns], rtol=0.0, atol=4e-16)
    assert_allclose(sines, [math.sin(t) for t in turns], rtol=0.0, atol=4e-16)


def test_quarters_of_a_turn_and_their_neighbours() -> None:
    quarters = np.arange(-40, 41) * (math.pi / 4.0)
    turns = np.concatenate([quarters, np.nextafter(quarters, -math.inf), np.nextafter(quarters, math.inf)])
    cosines, sines = waves(turns, 0.125)
    assert_allclose(8.0 * cosines, np.cos(turns), rtol=0.0, atol=4e-16)
    assert_allclose(8.0 * sines, np.sin(turns), rtol=0.0, atol=4e-16)


@pytest.mark.parametrize("far", [2.0 * FARTHEST, 1e22, 1e300])
def test_angles_far_out_go_through_the_library(far: float) -> None:
    cosines, sines = waves(np.array([0.5, far]))
    assert_array_equal(cosines, [math.cos(0.5), math.cos(far)])
    assert_array_equal(sines, [math.sin(0.5), math.sin(far)])
