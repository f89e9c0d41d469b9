"""A pooled fleet: keys add to what all know, and what is proven of each key's regret holds on any game."""

import math
from pathlib import Path

import numpy as np
import pytest
from keyed_streams import keyed_rows, learn_in_batches
from scipy.optimize import minimize

from aioli import AIOLI, Fleet
from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.fleet.keys import Key
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit_many, softplus_many
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.snapshots.tree import Snapshot


def losses(z: Vector, y: Vector) -> Vector:
    return softplus_many(np.where(y > 0.5, -z, z))


def best_in_ball(X: Matrix, y: Vector, offsets: Vector, radius: float) -> float:
    """The least loss of an offset plus θᵀx that a search finds within the ball: an upper bound of the least."""

    def loss(theta: Vector) -> float:
        size = float(np.linalg.norm(theta))
        inside = theta if size <= radius else theta * radius / size
        return float(losses(offsets + X @ inside, y).sum())

    starts = [np.zeros(X.shape[1]), X.T @ (y - 0.5)]
    return min(float(minimize(loss, start, method="Powell", options={"maxiter": 20}).fun) for start in starts)


@pytest.mark.parametrize("seed", range(4))
def test_the_certificate_of_a_key_is_at_least_its_regret(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys, X, y = keyed_rows(240, 3, 4, seed=seed, scale=float(rng.choice([1.0, 4.0])))
    if seed % 2:  # an adversary: whatever is likely does not happen
        y = np.where(rng.random(240) < 0.9, np.arange(240) % 2, y)
    make = AIOLI(radius=2.0, curvature="paper" if seed == 3 else "tight", forgetting=0.99 if seed == 2 else 1.0)
    fleet = Fleet(make, pooling="global", ridges=[0.5, 8.0])
    z = finite_logit_many(learn_in_batches(fleet, keys, X, y, seed))
    one = make.restore(make.snapshot())
    offsets = finite_logit_many(np.array([one.learn(x, label) for x, label in zip(X, y, strict=True)]))
    rows = np.column_stack([np.ones(240), X])
    for number, key in enumerate(fleet):
        mine = [t for t, other in enumerate(keys) if other == key]
        lost = float(losses(z[mine], y[mine]).sum())
        regret = lost - best_in_ball(rows[mine], y[mine], offsets[mine], 2.0)
        assert fleet.by_key()["loss"][number] == pytest.approx(lost, abs=1e-9)
        assert regret <= fleet.certificate(key) < math.inf
        assert fleet.by_key()["certificate"][number] == fleet.certificate(key)


def test_a_new_key_starts_from_what_all_know() -> None:
    rng = np.random.default_rng(0)
    n, d, count = 4000, 5, 400
    numbers = rng.integers(0, count, size=n)
    theta = rng.normal(size=d) * 2.0 + 0.5 * rng.normal(size=(count, d))
    X = rng.normal(size=(n, d))
    y = np.where((X * theta[numbers]).sum(axis=1) + rng.logistic(size=n) > 0, 1.0, 0.0)
    pooled, alone, together = Fleet(pooling="global"), Fleet(), AIOLI()
    p, q, r = pooled.learn_many(numbers, X, y), alone.learn_many(numbers, X, y), together.learn_many(X, y)
    nats = [-np.log(np.where(y > 0.5, each, 1.0 - each)).mean() for each in (p, r, q)]
    assert nats[0] < nats[1] < nats[2]
    assert pooled.predict("nobody", X[0]) != 0.5
    assert sum(pooled.shares_.values()) == pytest.approx(1.0)
    assert not alone.shares_


@pytest.mark.parametrize("form", ["packed", "full"])
def test_pooled_models_do_not_depend_on_batches_or_budget_and_survive_files(form: str, tmp_path: Path) -> None:
    keys, X, y = keyed_rows(900, 4, 80)
    X[[isinstance(key, bytes) for key in keys]] += 2e4  # some models turn to factors
    make, half = AIOLI(radius=50.0), 500
    whole = Fleet(make, pooling="global", form=form)  # type: ignore[arg-type]  # one of the forms
    p = whole.learn_many(keys, X, y)
    fleet = Fleet(make, pooling="global", form=form, hot_models=12, spill=tmp_path)  # type: ignore[arg-type]  # one of the forms
    first = learn_in_batches(fleet, keys[:half], X[:half], y[:half], 1)
    assert fleet.on_disk > 20
    fleet = Fleet.restore(from_bytes(to_bytes(fleet.snapshot())), hot_models=8)
    np.testing.assert_array_equal(np.append(first, learn_in_batches(fleet, keys[half:], X[half:], y[half:], 2)), p)
    assert to_bytes(fleet.snapshot()) == to_bytes(whole.snapshot())
    np.testing.assert_array_equal(fleet.predict_many(keys, X), whole.predict_many(keys, X))
    single = [whole.predict(key, x) for key, x in zip(keys[:20], X, strict=False)]
    np.testing.assert_array_equal(whole.predict_many(keys[:20], X[:20]), single)
    own = whole[keys[0]]
    assert own.predict(X[0]) == whole.predict(keys[0], X[0])
    assert own.rounds == keys.count(keys[0])
    before = to_bytes(whole.snapshot())
    assert own.learn(X[0], 1) == whole.predict(keys[0], X[0])
    assert to_bytes(whole.snapshot()) == before


def test_pooled_fleets_grow_and_merge() -> None:
    keys, X, y = keyed_rows(600, 4, 30)
    one, other = Fleet(pooling="global"), Fleet(pooling="global")
    one.learn_many(keys[:300], X[:300, :3], y[:300])
    one.grow(1)
    other.learn_many(keys[300:], X[300:], y[300:])
    losses_apart: dict[Key, float] = dict.fromkeys([*one, *other], 0.0)
    for fleet in (one, other):
        for key, loss in zip(fleet, fleet.by_key()["loss"], strict=True):
            losses_apart[key] += float(loss)
    one.merge(other)
    assert one.rounds == 600
    np.testing.assert_allclose(one.by_key()["loss"], [losses_apart[key] for key in one], rtol=1e-12)
    assert np.isfinite(one.learn_many(keys, X, y)).all()


def test_pooling_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterRefused, match="pooling is 'all'"):
        Fleet(pooling="all")  # type: ignore[arg-type]  # refused
    with pytest.raises(ParameterRefused, match="ridges"):
        Fleet(pooling="global", ridges=[])
    fleet = Fleet(pooling="global")
    fleet.learn_many([1, 2], np.ones((2, 1)), [0, 1])
    whole = fleet.snapshot()
    common = whole.part("common")
    bad = Snapshot(common.kind, common.values, {"log_shares": np.zeros(4)}, common.parts)
    with pytest.raises(SnapshotRefused, match="do not add up to 1"):
        Fleet.restore(Snapshot(whole.kind, whole.values, whole.arrays, {**whole.parts, "common": bad}))
