"""The paper's players are the classes they stand for, and its laws of growth have their exponents."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.learners.baselines.algorithm2 import Algorithm2
from aioli.learners.baselines.ekf import EKF
from aioli.learners.baselines.ftrl import FTRL
from aioli.learners.baselines.ogd import OGD
from aioli.learners.baselines.ons import ONS
from aioli.learners.baselines.row_by_row import RowByRow
from aioli.numerics.compiling import Matrix, Vector
from aioli.paper.competitors import COMPETITORS, best_losses, losses
from aioli.paper.growth import exponent, slope_interval, worse
from aioli.paper.one_dimensional import play_listing
from aioli.paper.theorem2 import steps
from aioli.streams.laws import hazan_koren_levy


def rows_and_labels() -> Iterator[tuple[Matrix, Vector, float]]:
    X, y = hazan_koren_levy(1000, epsilon=0.2).take(300, seed=3)
    yield X, y, math.log(1000)
    rng = np.random.default_rng(0)  # few distinct rows of either label
    yield rng.choice([0.2, 0.7, 1.0], size=(300, 1)), rng.integers(2, size=300).astype(np.float64), 2.0


@pytest.mark.parametrize("case", [0, 1])
def test_compiled_players_are_their_classes(case: int) -> None:
    X, y, B = list(rows_and_labels())[case]
    found = losses(X, y, B)
    assert tuple(found) == COMPETITORS
    classes: dict[str, RowByRow] = {
        "FTRL": FTRL(1.0, intercept=False),
        "OGD": OGD(B, 1.0, intercept=False),
        "ONS": ONS(B, 1.0, intercept=False),
        "EKF": EKF(B**-2, intercept=False),
    }
    for name, learner in classes.items():
        learner.learn_many(X, y)
        assert_allclose(found[name], learner.loss, rtol=1e-9)  # FTRL's minima are to 1e-10; the rest rounds like ulps


@pytest.mark.parametrize("verbatim", [False, True])
def test_the_listing_in_scalars_is_the_listing(verbatim: bool) -> None:
    for X, y, _ in rows_and_labels():
        listing = Algorithm2(2.0, widest=1.0, verbatim=verbatim, intercept=False)
        listing.learn_many(X[:80], y[:80])
        start, share = (4.0, 1.0) if verbatim else (0.25, 0.5)
        scalar = play_listing(np.ascontiguousarray(X[:80, 0]), y[:80], 2.0, 1.0, start, share)
        assert_allclose(scalar, listing.loss, rtol=1e-10)  # descent stops at 1e-14 of a step


def test_with_one_label_no_theta_is_the_best_and_the_loss_of_all_is_zero() -> None:
    ball, line = best_losses(np.full((5, 1), 0.1), np.zeros(5), 2.0)
    assert_allclose(ball, 5.0 * math.log1p(math.exp(-0.2)), rtol=1e-12)
    assert 0.0 <= line <= 1e-8  # the tolerance of best_in_ball


def test_the_theorems_number_of_steps() -> None:
    assert steps(1000, 4.0, 1 / 16) == math.ceil(20 * math.log(3e6 * 16 * (1000 * 16 / 8 + 4)))


def test_a_power_law_has_its_exponent_whatever_is_resampled() -> None:
    regrets = {n: np.array([[2.0 * n**0.4] * 5, [n**0.4] * 5]) for n in (10, 100, 1000)}
    assert_allclose(slope_interval(regrets), 0.4, rtol=1e-12)
    assert_allclose(exponent(np.array([1.0, 2.0, 4.0]), np.array([3.0, 12.0, 48.0])), 2.0, rtol=1e-12)


def test_a_noisy_power_law_has_its_exponent_in_the_interval() -> None:
    rng = np.random.default_rng(0)
    regrets = {n: n**0.5 * rng.lognormal(0.0, 0.5, size=(2, 20)) for n in (10, 30, 100, 300, 1000)}
    slope, low, high = slope_interval(regrets)
    assert low < slope < high
    assert low < 0.5 < high
    assert high - low < 0.3


def test_where_a_mean_is_negative_there_is_no_slope() -> None:
    regrets = {10: np.full((2, 3), 1.0), 100: np.full((2, 3), -1.0)}
    assert all(math.isnan(value) for value in slope_interval(regrets))
    assert all(math.isnan(value) for value in slope_interval({10: np.ones((2, 3))}))


def test_the_worse_law_is_the_one_of_larger_mean() -> None:
    law, mean, error = worse(np.array([[1.0, 3.0], [5.0, -3.0]]))
    assert (law, mean) == (0, 2.0)
    assert_allclose(error, 1.0)
