"""The bandwidth that nobody has to choose: scales, samples, epochs, and the mixture around the median distance."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from aioli import AIOLI, Nystrom, RandomFeatures
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.kernel.bandwidth import RATIOS, BandwidthMixture
from aioli.learners.kernel.feature_map_learner import FeatureMapLearner
from aioli.learners.kernel.prepared_row import PAST_LOSS, PAST_REGRET
from aioli.learners.kernel.random_features import FourierMap
from aioli.learners.kernel.scales import METRICS, SAMPLE, Sample, Scaling
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.mixture.mixture import Mixture, mixture_cost


def bent(n: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.sin(4.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0.0).astype(np.float64)


def drifting(n: int) -> tuple[Matrix, Vector]:
    """A column whose spread grows without end."""
    X, y = bent(n)
    return np.column_stack([X, np.linspace(0.0, 1.0, n) ** 2 * 1e4]), y


def mixture_of(learner: FeatureMapLearner) -> BandwidthMixture:
    assert isinstance(learner._forecaster, BandwidthMixture)
    return learner._forecaster


# ---- scales


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_after_scaling_the_median_distance_is_one(kernel: str) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 1e6, 1e-6] + [0.0, 1e7, 1.0]
    U = Scaling.of(X, kernel)(X)
    assert_allclose(np.median(pdist(U, METRICS[kernel])), 1.0, rtol=1e-9)
    assert_allclose(U.std(axis=0), U.std(), rtol=1e-6)  # 1e7 leaves nine digits of a spread of 1


def test_a_column_that_never_moves_counts_for_nothing() -> None:
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    assert Scaling.of(X, "rbf").unit[0] == 0.0
    assert_array_equal(Scaling.of(np.ones((5, 2)), "rbf")(np.array([[7.0, 9.0]])), 0.0)


@pytest.mark.parametrize("learner", [RandomFeatures(features=16), Nystrom(points=30)])
def test_unit_and_origin_of_a_column_do_not_matter(learner: FeatureMapLearner) -> None:
    X, y = bent(300)
    plain = copy.copy(learner).learn_many(X, y)
    moved = copy.copy(learner).learn_many(X * [1e6, -1e-5] + [1e3, 7.0], y)
    # a mirrored column has other cosines, and the same kernel: Nyström alone does not notice
    again = copy.copy(learner).learn_many(X * [1e6, 1e-5] + [1e3, 7.0], y)
    assert_allclose(again, plain, atol=1e-4)  # 7 + 1e-5·x leaves ten digits, and each row is learned from
    if isinstance(learner, Nystrom):
        assert_allclose(moved, plain, atol=1e-4)


def test_constant_huge_and_tiny_rows_are_no_trouble() -> None:
    y = np.tile([0.0, 1.0, 1.0], 40)
    for X in (
        np.ones((120, 2)),
        np.random.default_rng(0).normal(size=(120, 2)) * [1e99, 1e-99],
        np.where(np.arange(240).reshape(120, 2) == 201, 1e95, 1.0),
    ):
        for learner in (RandomFeatures(features=8), Nystrom(points=5)):
            assert np.isfinite(learner.learn_many(X, y)).all()
            assert np.isfinite(learner.predict_many(-X)).all()


# ---- the sample


@given(st.lists(st.integers(1, 700), min_size=1, max_size=12))
def test_the_sample_is_evenly_spaced_however_rows_come(sizes: list[int]) -> None:
    sample = Sample(1)
    total = 0
    for size in sizes:
        while size:
            take = min(size, sample.until_due)
            rows = np.arange(total, total + take, dtype=np.float64)
            sample.keep(rows[:, None], rows % 2.0, rows + 1.0)
            total += take
            size -= take
            if total & (total - 1) == 0:
                sample.thin()
    rows, labels, weights = sample.kept
    assert_array_equal(rows[:, 0], np.arange(0, total, sample.stride))
    assert_array_equal(labels, rows[:, 0] % 2.0)
    assert_array_equal(weights, rows[:, 0] + 1.0)
    assert sample.whole == (total < SAMPLE)
    assert sample.count >= min(total, SAMPLE // 2)


# ---- the mixture


def test_nothing_is_said_of_the_first_rows() -> None:
    X, y = bent(5)
    learner = RandomFeatures(features=8)
    assert_array_equal(learner.learn_many(X[:4], y[:4]), 0.5)
    assert math.isinf(RandomFeatures(features=8).certificate()) is False
    assert learner.predict(X[4]) != 0.5
    assert sum(learner.bandwidths_.values()) == pytest.approx(1.0)


def test_the_first_rows_are_learned_again_on_every_new_map() -> None:
    X, y = bent(64)
    learner = RandomFeatures(features=8)
    learner.learn_many(X, y)
    mixture = mixture_of(learner)
    scaling = Scaling.of(X, "rbf")
    assert mixture.scaling is not None
    assert_array_equal(mixture.scaling.unit, scaling.unit)
    for i, expert in enumerate(mixture.maps):
        assert expert.rounds == 64
        assert isinstance(expert, FourierMap)
        fresh = learner._maps().fresh(2, RATIOS[i], i)
        fresh.play(scaling(X), y, None, None)
        assert_allclose(expert.loss, fresh.loss, rtol=1e-12)


def test_the_whole_is_never_far_behind_a_bandwidth() -> None:
    X, y = bent(1500)
    learner = RandomFeatures(features=32)
    learner.learn_many(X[:512], y[:512])  # from here on the map is fixed
    mixture = mixture_of(learner)
    begun, before = learner.loss, [expert.loss for expert in mixture.maps]
    learner.learn_many(X[512:], y[512:])
    assert mixture.tally[PAST_LOSS] == 0.0
    for expert, loss in zip(mixture.maps, before, strict=True):
        if expert.rounds == 1500:  # those that retired are behind for good
            assert learner.loss - begun <= expert.loss - loss + mixture_cost(1500, 1e-3)
    assert learner.loss <= min(expert.loss for expert in mixture.maps if expert.rounds == 1500) + 10.0


def test_a_bandwidth_that_nobody_heeds_twice_retires_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = bent(2500)
    learner = RandomFeatures(features=16)
    monkeypatch.setattr(Mixture, "negligible", lambda _: np.array([True, False, False, False]))
    learner.learn_many(X, y)
    assert learner.bandwidths_[RATIOS[0]] == 0.0
    assert [expert.rounds for expert in mixture_of(learner).maps] == [2048, 2500, 2500, 2500]
    assert sum(learner.bandwidths_.values()) == pytest.approx(1.0)
    assert np.isfinite(learner.predict_many(X[:5])).all()
    assert np.isfinite(learner.certificate())


def test_where_scales_drift_a_new_epoch_begins_and_the_certificate_covers_all() -> None:
    X, y = drifting(3000)
    learner = RandomFeatures(features=16)
    epochs: list[tuple[int, float, list[Matrix]]] = []
    seen = 0
    for end in (1024, 2048, 3000):
        learner.learn_many(X[seen : end - 1], y[seen : end - 1])
        mixture = mixture_of(learner)
        past = float(mixture.tally[PAST_LOSS])
        named = int(np.argmax(mixture.shares))
        expert = mixture.maps[named]
        assert isinstance(expert, FourierMap)
        assert mixture.scaling is not None
        epochs.append((end - expert.rounds - 1, past, [expert.map(mixture.scaling(X))]))
        learner.learn_many(X[end - 1 : end], y[end - 1 : end])
        seen = end
    assert mixture_of(learner).tally[PAST_LOSS] > 0.0
    starts = sorted({start for start, _, _ in epochs})
    assert len(starts) > 1
    best = 0.0
    for start, end in zip(starts, [*starts[1:], 3000], strict=True):
        F = next(maps[0] for begun, _, maps in reversed(epochs) if begun == start)
        best += best_in_ball(F[start:end], y[start:end], 8.0).loss
    # a different bandwidth may have been named at the very end of an epoch, so the comparison is with these
    assert learner.loss - best <= learner.certificate() + 1e-6
    assert np.isfinite(mixture_of(learner).tally[PAST_REGRET])


def test_a_fixed_bandwidth_takes_columns_as_they_come() -> None:
    X, y = bent(100)
    narrow = RandomFeatures(features=8, bandwidth=0.5)
    wide = RandomFeatures(features=8, bandwidth=5.0)
    assert_allclose(narrow.learn_many(X, y), wide.learn_many(10.0 * X, y), rtol=1e-9)
    assert narrow.bandwidths_ == {0.5: 1.0}


def test_weights_multiply_what_is_counted() -> None:
    X, y = bent(200)
    plain, weighted = RandomFeatures(features=8), RandomFeatures(features=8)
    plain.learn_many(X, y)
    weighted.learn_many(X, y, np.ones(200))
    assert weighted.loss == plain.loss
    nothing = RandomFeatures(AIOLI(4.0), features=8)
    nothing.learn_many(X, y, np.zeros(200))
    assert nothing.loss == 0.0
    assert_allclose(nothing.predict_many(X), 0.5, atol=0.02)  # the last label is remembered, weightless
