"""The mixture and its stackers: their definition, and what they can lose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.merging import merged_mixtures
from aioli.states.mixture.mixture import Mixture, mixture_cost
from aioli.states.mixture.mixture_loops import announce, combine_rows, unpack_compiled


def play(Z: Matrix, y: Vector, prior: Vector, weights: Vector | None = None) -> tuple[Vector, Mixture]:
    mixture, out = Mixture(prior), np.empty(len(Z))
    combine_rows(mixture.buffer, Z, y, np.ones(len(Z)) if weights is None else weights, out)
    return out, mixture


def losses(z: Vector, y: Vector) -> Vector:
    return np.asarray(np.logaddexp(0.0, np.where(y == 1.0, -z, z)))


def some_experts(n: int, K: int, seed: int, scale: float = 2.0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n) * 2.0
    Z = truth[:, None] * rng.uniform(-0.5, 1.5, K) + rng.normal(size=(n, K)) * scale
    return Z, (truth + rng.logistic(size=n) > 0).astype(float)


def by_definition(Z: Matrix, y: Vector, prior: Vector) -> Vector:
    """The same in plain NumPy: two mixtures with shares, and three Bayesian stackers between them."""
    K = Z.shape[1]
    F = K + 5
    prior = prior / prior.sum()
    w, upper_prior = prior.copy(), np.array([0.4, 0.2, 0.2, 0.2])
    upper, ridges = upper_prior.copy(), [scale * np.r_[4.0, np.ones(F - 1)] for scale in (1.0, 1.0, 10.0)]
    Q, u = [np.diag(1.0 / ridge) for ridge in ridges], [np.zeros(F) for _ in ridges]
    last, mean, said = 0.0, 0.0, []
    for t, (z, label) in enumerate(zip(Z, y, strict=True)):
        p = w @ sigmoid_many(z)
        mixed = np.log(p) - np.log(w @ sigmoid_many(-z))
        f = np.r_[1.0, np.clip(mixed, -12, 12), np.clip(z - mixed, -8, 8), np.tanh(mixed / 2), last, mean]
        heard = np.r_[mixed, [np.clip(mixed + u[a] @ f, -35, 35) for a in range(3)]]
        yes = upper @ sigmoid_many(heard)
        said.append(np.log(yes) - np.log(upper @ sigmoid_many(-heard)))
        sign = 1.0 if label else -1.0
        w = w * sigmoid_many(sign * z)
        w = (1 - 1 / (t + 10)) * w / w.sum() + prior / (t + 10)
        upper = upper * sigmoid_many(sign * heard)
        upper = (1 - 0.1 / (t + 10)) * upper / upper.sum() + 0.1 * upper_prior / (t + 10)
        for a, rho in enumerate([1.0, 0.999, 1.0]):
            p = sigmoid_many(heard[1 + a])
            h, k = p * (1 - p), Q[a] @ f
            D = 1 + h * (f @ k) / 2
            u[a] = u[a] + (label - p) / (2 * D) * k
            Q[a] = rho * (Q[a] - h / (2 * D) * np.outer(k, k)) + (1 - rho) * np.diag(1 / ridges[a])
        last, mean = sign, 0.9 * mean + 0.1 * sign
    return np.array(said)


@given(st.integers(1, 60), st.integers(1, 6), st.integers(0, 10**6))
def test_the_mixture_is_its_definition(n: int, K: int, seed: int) -> None:
    Z, y = some_experts(n, K, seed)
    prior = np.random.default_rng(seed).uniform(0.5, 3.0, K)
    assert_allclose(play(Z, y, prior)[0], by_definition(Z, y, prior), rtol=1e-9, atol=1e-9)


@given(st.integers(1, 400), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from(["some", "wild", "opposed"]))
def test_it_never_loses_more_than_its_cost_over_any_expert(n: int, K: int, seed: int, kind: str) -> None:
    Z, y = some_experts(n, K, seed, scale=40.0 if kind == "wild" else 2.0)
    if kind == "opposed":  # the label is the one that the first expert finds less likely
        y = (Z[:, 0] < 0).astype(float)
    prior = np.random.default_rng(seed).uniform(0.5, 3.0, K)
    said, _ = play(Z, y, prior)
    total = losses(said, y).sum()
    for i in range(K):
        assert total <= losses(Z[:, i], y).sum() + mixture_cost(n, prior[i] / prior.sum()) + 1e-6


@pytest.mark.parametrize("n", [1, 10, 1000, 10**7])
def test_the_cost_is_what_the_shares_take(n: int) -> None:
    t = np.arange(min(n, 10**6)) + 10.0
    kept = np.log1p(-1.0 / t).sum() + np.log1p(-0.1 / t).sum()
    assert mixture_cost(len(t), 0.25) >= -np.log(0.25) - np.log(0.4) - kept - 1e-9


def test_it_follows_when_another_expert_becomes_the_best() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    truth = rng.choice([-2.0, 2.0], n)
    y = (truth + rng.logistic(size=n) > 0).astype(float)
    half = np.arange(n) < n // 2
    Z = np.c_[np.where(half, truth, 0.0), np.where(half, 0.0, truth)]
    said, mixture = play(Z, y, np.ones(2))
    best = losses(truth, y).sum()
    assert losses(said, y).sum() < best + 40.0  # a switch costs a few ln n; either expert alone loses over 600 more
    assert mixture.shares[1] > 0.9


def test_stackers_find_what_two_experts_know_together() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 6000)) * 1.5
    y = (a + b + rng.logistic(size=6000) > 0).astype(float)
    said, mixture = play(np.c_[a, b], y, np.ones(2))
    assert losses(said, y)[3000:].mean() < 1.02 * losses(a + b, y)[3000:].mean()
    assert mixture.upper[1:].sum() > 0.99


def test_a_retired_expert_is_heard_no_more() -> None:
    Z, y = some_experts(500, 3, seed=1)
    _, mixture = play(Z, y, np.ones(3))
    mixture.retire(1)
    other = Mixture(np.ones(3))
    other.buffer[:] = mixture.buffer
    changed = Z.copy()
    changed[:, 1] = 100.0
    one, two = np.empty(500), np.empty(500)
    combine_rows(mixture.buffer, Z, y, np.ones(500), one)
    combine_rows(other.buffer, changed, y, np.ones(500), two)
    assert np.array_equal(one, two)
    assert mixture.shares[1] == 0.0
    assert_allclose(mixture.shares.sum(), 1.0)


@given(st.integers(1, 300), st.integers(2, 8), st.integers(0, 10**6), st.data())
def test_leaving_is_retiring(n: int, K: int, seed: int, data: st.DataObject) -> None:
    leaving = data.draw(st.lists(st.integers(0, K - 1), min_size=1, max_size=K - 1, unique=True))
    Z, y = some_experts(n + 200, K, seed)
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 40.0], len(Z))
    _, stayed = play(Z[:n], y[:n], np.random.default_rng(seed).uniform(0.5, 3.0, K), weights[:n])
    left = stayed.without(leaving)
    for expert in leaving:
        stayed.retire(expert)
    staying = [i for i in range(K) if i not in leaving]
    expected, said = np.empty(200), np.empty(200)
    combine_rows(stayed.buffer, Z[n:], y[n:], weights[n:], expected)
    combine_rows(left.buffer, np.ascontiguousarray(Z[n:, staying]), y[n:], weights[n:], said)
    assert_allclose(said, expected, rtol=1e-9, atol=1e-9)  # only the order of sums differs
    assert_allclose(left.shares, stayed.shares[staying], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("K", [1, 3, 8])
def test_rows_in_parts_are_rows_at_once(K: int) -> None:
    Z, y = some_experts(300, K, seed=4)
    once, at_once = play(Z, y, np.ones(K))
    parted, parts = Mixture(np.ones(K)), np.empty(300)
    for t in [*range(100), *range(100, 300, 50)]:
        part = slice(t, t + (1 if t < 100 else 50))
        looked = parted.buffer.copy()
        announced = announce(unpack_compiled(looked, K), Z[t])
        combine_rows(parted.buffer, Z[part], y[part], np.ones(len(Z[part])), parts[part])
        assert_allclose(announced, parts[t], rtol=1e-12, atol=1e-12)
    assert np.array_equal(parts, once)
    assert np.array_equal(parted.buffer, at_once.buffer)


def test_experts_that_are_certain_and_wrong_do_not_end_it() -> None:
    Z = np.full((50, 2), -800.0)
    said, mixture = play(Z, np.ones(50), np.ones(2))
    assert np.isfinite(said).all()
    assert np.isfinite(mixture.buffer).all()


def test_a_weight_of_zero_teaches_nothing_but_the_time() -> None:
    Z, y = some_experts(30, 3, seed=2)
    _, mixture = play(Z, y, np.ones(3))
    combine_rows(mixture.buffer, Z[:1], y[:1], np.zeros(1), np.empty(1))  # the last row's step of Q is taken here
    (u, _, s, Q), (v, _, _, _), _ = mixture.stackers
    before = u.copy(), v.copy(), Q.copy()
    assert not s.any()
    combine_rows(mixture.buffer, Z[:1], y[:1], np.zeros(1), np.empty(1))
    for ours, earlier in zip((u, v, Q), before, strict=True):
        assert np.array_equal(ours, earlier)
    other = Mixture(np.ones(3))
    other.buffer[:] = mixture.buffer
    combine_rows(mixture.buffer, Z[:1], np.ones(1), np.zeros(1), np.empty(1))
    combine_rows(other.buffer, Z[:1], np.zeros(1), np.zeros(1), np.empty(1))
    assert np.array_equal(other.memory, mixture.memory)


def test_a_mixture_may_be_heard_more_than_its_stackers_and_its_snapshot_tells() -> None:
    Z, y = some_experts(300, 3, seed=4)
    half, out, again = 150, np.empty(300), np.empty(150)
    mixture = Mixture(np.ones(3), alone=0.8)
    combine_rows(mixture.buffer, Z[:half], y[:half], np.ones(half), out[:half])
    restored = Mixture.restore(mixture.snapshot())
    combine_rows(mixture.buffer, Z[half:], y[half:], np.ones(half), out[half:])
    combine_rows(restored.buffer, Z[half:], y[half:], np.ones(half), again)
    assert np.array_equal(again, out[half:])
    assert losses(out, y).sum() <= losses(Z, y[:, None]).sum(axis=0).min() + mixture_cost(300, 1 / 3, alone=0.8)
    assert mixture_cost(300, 1 / 3, alone=0.8) == pytest.approx(mixture_cost(300, 1 / 3) - np.log(2.0))
    with pytest.raises(SnapshotRefused):
        Mixture.restore(Snapshot("Mixture", {"alone": 1.5}, mixture.snapshot().arrays))


def test_a_file_from_before_there_was_a_third_stacker_goes_on_with_two() -> None:
    Z, y = some_experts(200, 3, seed=5)
    mixture, out = Mixture(np.ones(3), heard=2), np.empty(200)
    combine_rows(mixture.buffer, Z, y, np.ones(200), out)
    assert mixture.upper[3] == 0.0
    snapshot = mixture.snapshot()
    assert snapshot.arrays["upper"].shape == (3,)
    assert "u2" not in snapshot.arrays
    restored, again = Mixture.restore(snapshot), np.empty(200)
    combine_rows(mixture.buffer, Z, y, np.ones(200), out)
    combine_rows(restored.buffer, Z, y, np.ones(200), again)
    assert np.array_equal(again, out)


def test_where_experts_add_nothing_to_each_other_the_careful_stacker_costs_least() -> None:
    gained = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=300)
        y = (truth + rng.logistic(size=300) > 0).astype(float)
        Z = truth[:, None] + rng.normal(size=(300, 6))  # six of the same kind: their mean is what there is to know
        two, out = Mixture(np.ones(6), heard=2), np.empty(300)
        combine_rows(two.buffer, Z, y, np.ones(300), out)
        gained.append(losses(out, y).sum() - losses(play(Z, y, np.ones(6))[0], y).sum())
    assert np.mean(gained) > 1.0


@pytest.mark.parametrize("heard", [2, 3])
def test_merged_mixtures_keep_all_their_shares_in_a_file(heard: int) -> None:
    Z, y = some_experts(300, 3, seed=6)
    shards = Mixture(np.ones(3)), Mixture(np.ones(3), heard=heard)
    for number, shard in enumerate(shards):
        rows = slice(150 * number, 150 * (number + 1))
        combine_rows(shard.buffer, Z[rows], y[rows], np.ones(150), np.empty(150))
    merged = merged_mixtures(*shards, Mixture(np.ones(3), heard=2), losses(Z, y[:, None]).sum(axis=0))
    assert merged.heard == heard
    assert_allclose(merged.upper.sum(), 1.0)
    assert np.array_equal(Mixture.restore(merged.snapshot()).upper, merged.upper)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("memory", [-10.0, 0.0, 0.0]),
        ("upper", [1.5, -0.5, 0.0, 0.0]),
        ("upper", [0.0, 0.0, 0.0, 0.0]),
        ("shares", [0.0, 0.0]),
    ],
)
def test_numbers_that_no_rows_can_have_led_to_are_refused(name: str, values: list[float]) -> None:
    given = Mixture(np.ones(2)).snapshot()
    with pytest.raises(SnapshotRefused):
        Mixture.restore(Snapshot("Mixture", given.values, {**given.arrays, name: np.array(values)}))
