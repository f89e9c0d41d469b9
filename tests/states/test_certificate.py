"""Regret ≤ tight certificate ≤ running certificate ≤ theorem, in every run."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import NonlinearConstraint, minimize
from support import KINDS, curvatures, make_labels, make_rows, sums_of_surrogates

from aioli import AIOLI, Certificate
from aioli.evaluate.hindsight import best_in_ball
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.outcomes.spec import Curvature

ROUNDING = 1e-7  # nats: the comparator's own tolerance, and n rounds of a few ulp

learners = st.builds(
    AIOLI,
    radius=st.sampled_from([0.3, 2.0, 8.0, 40.0]),
    ridge=st.sampled_from([None, 1e-3, 1.0]),
    regulariser=st.sampled_from([0.5, 1.0]),
    curvature=st.sampled_from(["paper", "tight"]),
    forgetting=st.sampled_from([1.0, 1.0, 0.97]),
    intercept=st.booleans(),
)
streams = st.tuples(st.sampled_from(KINDS), st.integers(1, 150), st.integers(1, 6), st.integers(0, 10**6))
labellings = st.sampled_from(["logistic", "random", "adversary"])


def play(learner: AIOLI, X: Matrix, labelling: str, seed: int) -> Vector:
    y = make_labels(X, seed)
    if labelling == "random":
        y[:] = np.random.default_rng(seed).integers(0, 2, len(X))
    for t, x in enumerate(X):
        if labelling == "adversary":
            y[t] = float(learner.predict(x) <= 0.5)
        learner.learn(x, y[t])
    return y


@given(learners, streams, labellings)
@example(AIOLI(radius=8.0, ridge=1e-3), ("repeated", 150, 1, 0), "adversary")
def test_regret_stays_below_every_bound(learner: AIOLI, stream: tuple[str, int, int, int], labelling: str) -> None:
    kind, n, d, seed = stream
    X = make_rows(kind, n, d, seed)
    y = play(learner, X, labelling, seed)
    best = best_in_ball(X, y, learner.radius, intercept=learner.intercept)
    regret = learner.loss - best.loss
    tight, running = learner.certificate(tight=True), learner.certificate()
    slack = ROUNDING * (1.0 + abs(running))
    assert regret <= tight + slack
    assert tight <= running + slack
    assert running <= running.theorem + slack
    assert running.rounds == n
    assert running.radius == learner.radius


@pytest.mark.parametrize("curvature", ["paper", "tight"])
@pytest.mark.parametrize("regulariser", [0.5, 1.0])
def test_tight_certificate_is_the_loss_over_the_best_surrogate_of_the_ball(
    curvature: Curvature, regulariser: float, rng: np.random.Generator
) -> None:
    learner = AIOLI(radius=1.5, regulariser=regulariser, curvature=curvature, intercept=False)
    X = rng.normal(size=(80, 3))
    y = play(learner, X, "logistic", 3)
    z = np.array(AIOLI(1.5, None, regulariser, curvature, intercept=False).learn_many(X, y))
    z = np.log(z / (1 - z))
    A, b = sums_of_surrogates(learner._spec, X, y, z)
    h, p = curvatures(learner._spec, X, z), sigmoid_many(z)
    losses = np.logaddexp(0.0, np.where(y == 1, -z, z))
    constant = np.sum(losses - (p - y) * z + 0.5 * h * z * z)
    G = A - learner._spec.ridge * np.eye(3)

    def surrogate(theta: Vector) -> float:
        return float(theta @ G @ theta - 2 * b @ theta + constant)

    ball = NonlinearConstraint(lambda theta: theta @ theta, 0.0, 1.5**2)
    found = minimize(surrogate, np.zeros(3), constraints=ball, method="SLSQP", options={"ftol": 1e-13, "maxiter": 500})
    assert_allclose(learner.certificate(tight=True), losses.sum() - found.fun, rtol=1e-7)  # SLSQP's own accuracy


def test_certificate_of_the_paper_is_its_instantaneous_regrets(rng: np.random.Generator) -> None:
    """inst = ¼(r + 1 - q)²v⁺ - ¼r²v, in the form of the proof, adds up to the tally."""
    learner = AIOLI(radius=2.0, regulariser=1.0, curvature="paper", intercept=False)
    total, P = 0.0, np.eye(4) * 4.0
    for x, y in zip(rng.normal(size=(100, 4)), rng.integers(0, 2, 100), strict=True):
        p = learner.learn(x, y)
        q = p if y else 1 - p
        v, h = x @ P @ x, p * (1 - p) / (1 + 2.0 * np.linalg.norm(x))
        after = v / (1 + h * v / 2)
        r = 2 * q - 1
        total += 0.25 * (r + 1 - q) ** 2 * after - 0.25 * r**2 * v
        P -= (h / 2) / (1 + h * v / 2) * np.outer(P @ x, P @ x)
    assert_allclose(learner.certificate(), 1.0 + total, rtol=1e-10)


def test_theorem_is_the_paper_s_formula(rng: np.random.Generator) -> None:
    B, n, d = 3.0, 500, 4
    X = rng.normal(size=(n, d))
    y = make_labels(X, 1)
    R = np.linalg.norm(X, axis=1).max()
    bound = {}
    for c in (0.5, 1.0):
        learner = AIOLI(radius=B, regulariser=c, curvature="paper", intercept=False)
        learner.learn_many(X, y)
        bound[c] = learner.certificate().theorem
    first = d * (1 + B * R) * np.log(1 + n * B**2 * R**2 / (8 * d * (1 + B * R)))
    assert_allclose(bound[1.0], first + 1.0, rtol=1e-12)
    assert_allclose(bound[0.5], 0.5 * first + 1.0, rtol=1e-12)


def test_theorem_does_not_speak_of_what_it_does_not_know(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 2))
    y = make_labels(X, 1)
    silent = [AIOLI(forgetting=0.9), AIOLI(regulariser=0.3)]
    for learner in silent:
        learner.learn_many(X, y)
    weighted, late, merged = AIOLI(), AIOLI(), AIOLI()
    weighted.learn_many(X, y, weights=np.full(20, 2.0))
    late.learn(X[0], y[0], logit=0.3)
    merged.learn_many(X, y)
    merged.merge(merged)
    for learner in [*silent, weighted, late, merged]:
        assert learner.certificate().theorem == np.inf
        assert np.isfinite(learner.certificate())


def test_certificate_is_a_number_that_says_what_it_is() -> None:
    certificate = Certificate(12.5, 8.0, 100, 60.0)
    assert certificate + 1 == 13.5
    assert repr(certificate) == "Certificate(12.5 nats against ‖θ‖ ≤ 8 over 100 rows)"
    again = pickle.loads(pickle.dumps(certificate))
    assert (again, again.radius, again.rounds, again.theorem) == (12.5, 8.0, 100, 60.0)


def test_a_learner_that_saw_nothing_has_only_its_prior_to_pay() -> None:
    assert AIOLI(radius=2.0, ridge=0.5).certificate() == 2.0
    assert AIOLI(radius=2.0, ridge=0.5).certificate(tight=True) == 2.0


def test_rounding_does_not_prove_too_much() -> None:
    X = [[3e4, 6e4, -3e4], [6.993e7, 7.009e7, 6.991e7], [-6.992e7, -7.006e7, -7.003e7], [9.92e6, 9.92e6, 9.95e6]]
    learner = AIOLI(300.0, regulariser=0.0, intercept=False)
    learner.learn_many(X, [0, 1, 0, 1])
    best = best_in_ball(X, [0, 1, 0, 1], 300.0, intercept=False)
    assert learner.loss - best.loss <= learner.certificate(tight=True) <= learner.certificate()
