"""Online gradient descent against its formula, and its regret against its bound."""

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
from support import KINDS, make_labels, make_rows

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.baselines.ogd import OGD


@pytest.mark.parametrize("widest", [None, 0.5, 9.0])
def test_it_steps_down_the_gradient_and_back_into_the_ball(widest: float | None) -> None:
    X = make_rows("random", 50, 3, seed=0)
    y = (X[:, 0] > 0.0).astype(float)
    learner = OGD(radius=0.7, widest=widest, intercept=False)
    theta, R, left_the_ball = np.zeros(3), widest or 0.0, 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        p = 1.0 / (1.0 + math.exp(-theta @ x))
        assert_allclose(learner.learn(x, label), p, rtol=1e-12)
        R = max(R, math.hypot(*x))
        theta = theta - 0.7 / (R * math.sqrt(t)) * (p - label) * x
        if math.hypot(*theta) > 0.7:
            theta *= 0.7 / math.hypot(*theta)
            left_the_ball += 1
    if widest != 9.0:
        assert 0 < left_the_ball < 50  # both cases were played


@given(
    st.sampled_from(KINDS),
    st.integers(1, 80),
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([0.1, 1.0, 8.0]),
    st.sampled_from([0.2, 3.0]),
    st.booleans(),
)
def test_regret_is_at_most_the_bound(
    kind: str, n: int, d: int, seed: int, adversarial: bool, radius: float, widest: float, known: bool
) -> None:
    X = rows_within(widest, kind, n, d, seed)
    learner = OGD(radius, widest=widest if known else None, intercept=False)
    y = play(learner, X, make_labels(X, seed), adversarial)
    regret = learner.loss - best_in_ball(X, y, radius, intercept=False).loss
    assert regret <= learner.regret_bound() + 1e-8  # the hindsight's own tolerance
    assert np.linalg.norm(learner._theta) <= radius * (1.0 + 1e-15)


def test_an_adversary_does_make_it_pay_like_the_root_of_n() -> None:
    learner = OGD(radius=4.0, intercept=False)
    X = np.ones((4000, 1))
    y = play(learner, X, np.zeros(4000), adversarial=True)
    regret = learner.loss - best_in_ball(X, y, 4.0, intercept=False).loss
    assert 0.05 * learner.regret_bound() < regret < learner.regret_bound()


def test_the_bound_is_that_of_the_longest_row_where_none_was_given() -> None:
    learner = OGD(radius=2.0, intercept=True)
    assert learner.regret_bound() == 0.0
    learner.learn_many([[0.0], [math.sqrt(8.0)], [1.0], [0.5]], [0, 1, 1, 0])
    assert_allclose(learner.regret_bound(), 3 * 2.0 * 3.0 * 2.0)  # ‖(1, √8)‖ = 3, √4 rows = 2
    longer_than_said = OGD(radius=2.0, widest=1.0)
    longer_than_said.learn_many([[0.0], [math.sqrt(8.0)], [1.0], [0.5]], [0, 1, 1, 0])
    assert longer_than_said.regret_bound() == learner.regret_bound()


def test_rows_of_zeros_teach_nothing() -> None:
    learner = OGD(intercept=False)
    assert learner.learn_many([[0.0], [0.0]], [1, 1]).tolist() == [0.5, 0.5]
    assert learner.regret_bound() == 0.0


def test_parameters_are_shown_and_must_be_positive() -> None:
    assert_parameter_must_be_positive(OGD, "radius")
    assert_parameter_must_be_positive(OGD, "widest")


def test_it_shows_its_parameters_and_how_it_did() -> None:
    learner = OGD(2.0)
    assert repr(learner) == "OGD(radius=2.0, widest=None, intercept=True)"
    learner.learn([1.0], 1)
    assert repr(learner) == "OGD(radius=2.0, widest=None, intercept=True)  # 1 rows, 0.6931 nats a row"
