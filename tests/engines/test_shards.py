"""Shards of one model, merged with their ancestor: the definition, in any schedule, and the certificate holds."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import make_labels, state_by_definition, sums_of_surrogates

from aioli import AIOLI, Forest
from aioli.engines.shards import (
    FAN_IN,
    geometric_schedule,
    learn_in_shards,
    learn_shard,
    merge_by_tree,
    merge_shards,
)
from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.evaluate.hindsight import best_in_ball
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import from_bytes, to_bytes


def example_stream(n: int = 200) -> tuple[Matrix, Vector]:
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, make_labels(X, 1)


def parts_of(X: Matrix, y: Vector, k: int) -> list[tuple[Matrix, Vector]]:
    return list(zip(np.array_split(X, k), np.array_split(y, k), strict=True))


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("schedule", [[300], [1, 2, 50], [7, 20, 60, 61, 100]])
def test_the_merged_state_is_the_definition(schedule: list[int], factored: bool) -> None:
    X, y = example_stream(n=300)
    first = AIOLI(intercept=False)
    head = first.learn_many(X[:20], y[:20])
    if factored:
        assert first._state is not None
        first._state.factor()
    run = learn_in_shards(first, parts_of(X[20:], y[20:], 4), schedule)
    p = np.concatenate([head, *run.announced])
    A, b = sums_of_surrogates(first._spec, X, y, np.log(p / (1 - p)))
    P, w = state_by_definition(A, b)
    merged = run.learner
    assert isinstance(merged, AIOLI)
    assert merged._state is not None
    assert merged._state.factored == factored
    assert_allclose(merged._state.covariance(), P, rtol=1e-10, atol=1e-12)
    assert_allclose(merged._state.w, w, rtol=1e-10, atol=1e-12)
    assert merged.rounds == 300
    assert_allclose(merged.loss, -np.log(np.where(y == 1, p, 1 - p)).sum(), rtol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_certificate_is_at_least_the_regret_after_any_schedule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(20, 200)), int(rng.integers(1, 5)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 10.0])
    y = (X @ rng.normal(size=d) + rng.logistic(size=n) > 0).astype(float)
    if seed % 3 == 0:
        y = rng.integers(0, 2, n).astype(float)
    learner = AIOLI(
        radius=float(rng.choice([1.0, 4.0, 20.0])),
        regulariser=float(rng.choice([0.5, 1.0])),
        forgetting=float(rng.choice([1.0, 1.0, 0.9])),
    )
    head = int(rng.integers(0, n))
    if head:
        learner.learn_many(X[:head], y[:head])
    ends = sorted(set(rng.integers(1, n, size=int(rng.integers(1, 6))).tolist()))
    merged = learn_in_shards(learner, parts_of(X[head:], y[head:], k), ends).learner
    assert isinstance(merged, AIOLI)
    best = best_in_ball(X, y, merged.radius)
    assert merged.rounds == n
    assert merged.loss - best.loss <= merged.certificate(tight=True) <= merged.certificate() + 1e-9


def test_the_order_of_merging_does_not_matter_and_groups_may_merge_first() -> None:
    X, y = example_stream(n=240)
    for forgetting in (1.0, 0.95):
        since = AIOLI(forgetting=forgetting)
        since.learn_many(X[:30], y[:30])
        shards = []
        for part in parts_of(X[30:], y[30:], 4):
            shards.append(copy.deepcopy(since))
            shards[-1].learn_many(*part)
        a, b, c, d = shards
        home = [to_bytes(shard.snapshot()) for shard in shards]
        in_order = copy.deepcopy(a).merge(b, since).merge(c, since).merge(d, since)
        in_groups = copy.deepcopy(d).merge(a, since).merge(copy.deepcopy(c).merge(b, since), since)
        assert_allclose(in_groups.predict_many(X), in_order.predict_many(X), rtol=1e-10)
        assert_allclose(in_groups.certificate(), in_order.certificate(), rtol=1e-9)
        ancestor = to_bytes(since.snapshot())
        assert merge_shards(home, ancestor) == to_bytes(in_order.snapshot())
        assert merge_shards([], ancestor) == ancestor


def test_many_shards_are_merged_by_a_tree_of_groups() -> None:
    X, y = example_stream(n=200)
    since = to_bytes(AIOLI().snapshot())
    homes = [learn_shard(since, part)[0] for part in parts_of(X, y, FAN_IN + 4)]
    groups = [merge_shards(homes[:FAN_IN], since), merge_shards(homes[FAN_IN:], since)]
    assert merge_by_tree(homes, since) == merge_shards(groups, since)
    assert merge_by_tree(homes[:FAN_IN], since) == groups[0]
    at_once, by_tree = (AIOLI.restore(from_bytes(merge(homes, since))) for merge in (merge_shards, merge_by_tree))
    assert by_tree.rounds == 200
    assert_allclose(by_tree.predict_many(X), at_once.predict_many(X), rtol=1e-10)
    assert_allclose(by_tree.certificate(), at_once.certificate(), rtol=1e-10)


def test_shards_that_grew_since_count_their_ancestor_once() -> None:
    X, y = example_stream(n=200)
    since = AIOLI()
    since.learn_many(X[:50, :3], y[:50])
    left, right = copy.deepcopy(since).grow(1), copy.deepcopy(since).grow(1)
    left.learn_many(X[50:120], y[50:120])
    right.learn_many(X[120:], y[120:])
    grown = copy.deepcopy(left).merge(right, since=since)
    assert_allclose(
        grown.predict_many(X), left.merge(right, since=copy.deepcopy(since).grow(1)).predict_many(X), rtol=1e-12
    )
    assert grown.rounds == 200


def test_what_is_no_ancestor_is_refused_and_nothing_changes() -> None:
    X, y = example_stream()
    left, right, stranger, wide = AIOLI(), AIOLI(), AIOLI(), AIOLI()
    left.learn_many(X[:100], y[:100])
    right.learn_many(X[100:], y[100:])
    stranger.learn_many(X[::-1][:90], y[:90])
    wide.learn_many(np.hstack([X, X])[:5], y[:5])
    before = to_bytes(left.snapshot())
    for since, told in (
        (stranger, "not what both learners went on from"),
        (wide, "more columns"),
        (AIOLI(radius=2.0), "other rules"),
    ):
        with pytest.raises(ParameterRefused, match=told):
            left.merge(right, since=since)
    with pytest.raises(ParameterRefused, match="has not gone on"):
        left.merge(AIOLI(), since=stranger)
    assert to_bytes(left.snapshot()) == before
    with pytest.raises(CapabilityMissing, match="Forest cannot learn in shards"):
        learn_in_shards(Forest(), [(X, y)])


def test_a_schedule_goes_on_by_its_factor_to_the_last_row() -> None:
    assert geometric_schedule(100, first=10, factor=2.0) == [10, 20, 40, 80, 100]
    assert geometric_schedule(10, first=10) == [10]
    assert geometric_schedule(3, first=1, factor=1.0001) == [1, 2, 3]
    assert geometric_schedule(0) == []
    for first, factor in ((0, 2.0), (1, 1.0)):
        with pytest.raises(ParameterRefused):
            geometric_schedule(10, first, factor)
    X, y = example_stream(n=50)
    with pytest.raises(ParameterRefused, match="schedule"):
        learn_in_shards(AIOLI(), [(X, y)], [0, 5])
    uneven = learn_in_shards(AIOLI(), [(X[:5], y[:5]), (X[5:], y[5:]), (X[:0], y[:0])], [4])
    assert [len(p) for p in uneven.announced] == [5, 45, 0]
    assert uneven.learner.rounds == 50
