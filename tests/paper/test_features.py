"""The experiment on the cost of approximations: its target, its comparator, and what a run gives."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.kernel.dictionary import KERNELS
from aioli.paper.features import DICTIONARY, EXACT, RANDOM, TARGETS, Pass, best_function, draw_rows, measure, plan


@pytest.mark.parametrize("target", TARGETS)
def test_labels_follow_a_function_of_the_ball(target: str) -> None:
    X, y = draw_rows(target, 200, seed=0)
    B, _ = TARGETS[target]
    best = best_function(X, y, B)
    assert best < 0.9 * 200 * math.log(2.0)
    assert best <= best_function(X, y, 0.5 * B)


def test_the_best_function_is_the_best_in_the_span_of_the_rows() -> None:
    X, y = draw_rows("smooth", 60, seed=1)
    L = np.linalg.cholesky(KERNELS["rbf"](X, X) + 1e-12 * np.eye(60))
    assert_allclose(best_function(X, y, 8.0), best_in_ball(L, y, 8.0, intercept=False).loss, atol=2e-3)


def test_all_learners_play_the_same_rows_and_enough_points_are_the_exact_learner() -> None:
    (exact,), (points,), (waves,) = (
        measure(Pass("rough", learner, size, 120, 0))
        for learner, size in ((EXACT, 120), (DICTIONARY, 120), (RANDOM, 512))
    )
    assert exact.loss > exact.best > 0.0
    assert_allclose(points.loss, exact.loss, rtol=0.02)  # points are left out below 1e-4
    assert_allclose(waves.loss, exact.loss, rtol=0.2)
    assert 0.0 < waves.error < 0.1
    assert 0.0 < exact.dimension < 120.0


def test_the_plan_has_every_size_for_every_seed_and_the_exact_learner_beside_it() -> None:
    for fast in (True, False):
        runs = plan(fast)
        assert len(set(runs)) == len(runs)
        beside = {(run.target, run.seed) for run in runs if run.learner == EXACT}
        assert {(run.target, run.seed) for run in runs} == beside
