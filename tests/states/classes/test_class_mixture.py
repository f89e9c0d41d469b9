"""The mixture over probabilities of many classes: its definition, what it can lose, and experts that come and go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.mixture import ClassMixture
from aioli.states.mixture.mixture import mixture_cost


def some_experts(n: int, E: int, K: int, seed: int, scale: float = 1.0) -> tuple[Cube, Codes]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, K)) * 2.0
    Z = truth[None] * rng.uniform(-0.5, 1.5, (E, 1, 1)) + scale * rng.normal(size=(E, n, K))
    return np.asarray(log_softmax(Z, axis=2)), np.argmax(truth + rng.gumbel(size=(n, K)), axis=1)


def by_definition(Z: Cube, codes: Codes, prior: Vector) -> Matrix:
    """The same in plain NumPy: two mixtures with shares, and two Bayesian stackers between them."""
    E, n, K = Z.shape[0] + 1, Z.shape[1], Z.shape[2]
    prior = prior / prior.sum()
    w, upper_prior = prior.copy(), np.array([0.4, 0.3, 0.3])
    upper = upper_prior.copy()
    size = E + 4 + K
    A, u = [np.eye(size) for _ in range(2)], [np.zeros(size) for _ in range(2)]
    counts, recent, last, said = np.zeros(K), np.full(K, 1.0 / K), -1, []
    for t in range(n):
        z = np.vstack([Z[:, t], np.log((counts + 0.5) / (t + 0.5 * K))])
        mixed = w @ np.exp(z)
        base = np.log(mixed)
        Phi = np.column_stack(
            [
                np.maximum(base, -12.0),
                np.clip(z - base, -8.0, 8.0).T,
                2.0 * mixed,
                np.arange(K) == last,
                recent,
                np.eye(K),
            ]
        )
        stacked = [softmax(base + Phi @ v) for v in u]
        announced = np.array([mixed, *stacked])
        said.append(upper @ announced)
        y = codes[t]
        for i, (p, rho) in enumerate(zip(stacked, (1.0, 0.999), strict=True)):
            A[i] = rho * A[i] + (1.0 - rho) * np.eye(size) + 0.5 * Phi.T @ (np.diag(p) - np.outer(p, p)) @ Phi
            u[i] = u[i] - 0.5 * np.linalg.solve(A[i], Phi.T @ (p - (np.arange(K) == y)))
        back = 1.0 / (t + 10.0)
        w = w * np.exp(z[:, y])
        w = (1.0 - back) * w / w.sum() + back * prior
        upper = upper * announced[:, y]
        upper = (1.0 - 0.1 * back) * upper / upper.sum() + 0.1 * back * upper_prior
        counts[y] += 1.0
        recent += 0.1 * ((np.arange(K) == y) - recent)
        last = y
    return np.array(said)


def test_it_is_what_its_definition_says() -> None:
    Z, codes = some_experts(200, 3, 4, seed=0, scale=0.3)
    prior = np.array([3.0, 1.0, 3.0, 1.0])
    # tiny probabilities are left out of the curvature, up to 1e-6 each
    assert_allclose(ClassMixture(prior, 4).combine(Z, codes, np.ones(200)), by_definition(Z, codes, prior), atol=1e-4)


@given(st.integers(0, 1000), st.sampled_from([2, 3, 20]), st.sampled_from([0.1, 3.0, 60.0]))
def test_it_loses_little_to_the_best_expert_on_any_data(seed: int, K: int, scale: float) -> None:
    Z, codes = some_experts(60, 3, K, seed, scale)
    codes = np.random.default_rng(seed).integers(0, K, 60) if seed % 2 else codes
    mixture = ClassMixture(np.array([3.0, 1.0, 3.0, 1.0]), K)
    p = mixture.combine(Z, codes, np.ones(60))
    assert_allclose(p.sum(axis=1), 1.0)
    loss = -np.log(p[np.arange(60), codes]).sum()
    for e in range(3):
        assert loss <= -Z[e, np.arange(60), codes].sum() + mixture_cost(60, float(mixture.prior[e])) + 1e-9


@pytest.mark.parametrize("K", [3, 12, 14])
def test_wherever_rows_are_cut_it_is_the_same_game(K: int) -> None:
    Z, codes = some_experts(40, 2, K, seed=1)
    whole, pieces = (ClassMixture(np.ones(3), K) for _ in range(2))
    announced = whole.combine(Z, codes, np.ones(40))
    for a, b in ((0, 1), (1, 17), (17, 40)):
        part = np.ascontiguousarray(Z[:, a:b])
        assert_array_equal(pieces.announce(part)[0], announced[a])
        assert_array_equal(pieces.combine(part, codes[a:b], np.ones(b - a)), announced[a:b])


def test_an_expert_that_joins_is_heard_and_one_that_leaves_is_not() -> None:
    Z, codes = some_experts(200, 2, 3, seed=2)
    mixture = ClassMixture(np.ones(2), 3)
    mixture.combine(np.ascontiguousarray(Z[:1]), codes, np.ones(200))
    joined = mixture.joined(0.3)
    assert_allclose(joined.shares, [*(0.7 * mixture.shares[:1]), 0.3, *(0.7 * mixture.shares[1:])])
    assert_array_equal(joined.u[:, 2], 0.0)
    assert_array_equal(joined.u[:, [0, 1, 3, 4, 5, 6]], mixture.u)
    left = joined.without([1])
    assert_array_equal(left.u, mixture.u)
    assert_array_equal(left.A, mixture.A)
    assert_allclose(left.shares, mixture.shares)


def test_a_class_may_be_added_at_any_number_of_classes() -> None:
    mixture = ClassMixture(np.ones(2), 0)
    rng = np.random.default_rng(0)
    for K in range(1, 20):
        mixture.add_class()
        Z = np.asarray(log_softmax(rng.normal(size=(1, 30, K)), axis=2))
        p = mixture.combine(Z, rng.integers(0, K, 30), np.ones(30))
        assert_allclose(p.sum(axis=1), 1.0)
        assert (mixture.A.shape[1] > mixture.u.shape[1]) == (K <= 12)
        assert (mixture.certain > 0.0).all()
    assert_allclose(mixture.counts.sum(), 19 * 30)


def test_a_restored_mixture_is_equal_and_a_broken_snapshot_is_refused() -> None:
    Z, codes = some_experts(50, 2, 5, seed=3)
    mixture = ClassMixture(np.ones(3), 5)
    mixture.combine(Z, codes, np.ones(50))
    again = ClassMixture.restore(mixture.snapshot())
    assert_array_equal(again.combine(Z, codes, np.ones(50)), mixture.combine(Z, codes, np.ones(50)))
    broken = mixture.snapshot()
    broken.arrays["prior"][0] = -1.0
    with pytest.raises(SnapshotRefused, match="prior"):
        ClassMixture.restore(broken)
