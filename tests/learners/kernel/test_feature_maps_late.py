"""Kernel approximations where labels come late: what a ticket keeps, new maps, and bandwidths that retire."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import AIOLI, OGD, Auto, Nystrom, RandomFeatures
from aioli.errors import CapabilityMissing
from aioli.learners.kernel.bandwidth import RATIOS, BandwidthMixture
from aioli.learners.kernel.feature_map_learner import FeatureMapLearner
from aioli.learners.kernel.few_rows import FEW
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_loops import MEMORY
from aioli.states.mixture.mixture import Mixture

MAKERS = [lambda: Nystrom(points=16), lambda: RandomFeatures(features=16)]


def waves(n: int, spread: float = 1.0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) * spread
    return X, (np.sin(3.0 * X[:, 0] / spread) * np.cos(2.0 * X[:, 1] / spread) > 0.0).astype(float)


def mixture_of(learner: FeatureMapLearner) -> BandwidthMixture:
    assert isinstance(learner._forecaster, BandwidthMixture)
    return learner._forecaster


@pytest.mark.parametrize("make", MAKERS)
def test_a_ticket_keeps_what_each_bandwidth_said(make: Callable[[], FeatureMapLearner]) -> None:
    X, y = waves(150 + FEW)  # as many as are asked for by matrix products
    learner = make()
    learner.learn_many(X[:150], y[:150])
    tickets = learner.announce_many(X[150:])
    mixture = mixture_of(learner)
    assert mixture.scaling is not None
    for i, each in enumerate(mixture.maps):
        assert_array_equal(tickets.memory[:, i], each.logits(mixture.scaling(X[150:])))
    assert tickets.memory.shape == (FEW, len(RATIOS) + MEMORY)
    learner.learn_many(X[150:], y[150:], announced=tickets)
    assert mixture.combination.late is not None
    assert mixture.combination.late.awake
    assert learner.bandwidths_ == dict(zip(RATIOS, mixture.combination.late.shares.tolist(), strict=True))


@pytest.mark.parametrize("make", MAKERS)
def test_rows_announced_before_there_is_a_map_are_learned_on_it(make: Callable[[], FeatureMapLearner]) -> None:
    X, y = waves(120)
    learner = make()
    early = learner.announce_many(X[:3])
    assert learner.n_features_ is None
    assert_array_equal(early.probabilities, 0.5)
    learner.learn_many(X[3:100], y[3:100])
    before = learner.loss
    learner.learn_many(X[:3], y[:3], announced=early)
    assert_allclose(learner.loss - before, 3.0 * np.log(2.0))
    late = mixture_of(learner).combination.late
    assert late is not None
    assert late.awake


@pytest.mark.parametrize("make", MAKERS)
def test_a_ticket_outlives_the_map_that_made_it(make: Callable[[], FeatureMapLearner]) -> None:
    X, y = waves(3000)
    X[1000:] *= 30.0  # typical distances move, so that a new epoch begins
    learner = make()
    learner.learn_batch(X[:900], y[:900])
    tickets = learner.announce_many(X[900:950])
    maps = mixture_of(learner).maps
    for first in range(950, 2950, 100):
        learner.learn_batch(X[first : first + 100], y[first : first + 100])
    assert mixture_of(learner).maps is not maps
    said = learner.learn_many(X[900:950], y[900:950], announced=tickets)
    assert_array_equal(said, tickets.probabilities)
    assert learner.rounds == 2950
    assert np.isfinite(learner.certificate())
    assert_array_equal(learner.announce_many(X).probabilities, learner.predict_many(X))


@pytest.mark.parametrize("make", MAKERS)
def test_a_bandwidth_that_has_retired_keeps_its_place_in_tickets(
    make: Callable[[], FeatureMapLearner], monkeypatch: pytest.MonkeyPatch
) -> None:
    for mixture in (Mixture, LateMixture):
        monkeypatch.setattr(mixture, "negligible", lambda m: (np.arange(m.shares.size) == 3) * 1.0)
    X, y = waves(4300)
    learner = make()
    learner.learn_batch(X[:100], y[:100])
    waiting = learner.announce_many(X[100:150])
    for first in range(150, 4250, 500):
        learner.learn_batch(X[first : first + 500], y[first : first + 500])
    assert learner.bandwidths_[2.0] == 0.0
    learner.learn_many(X[100:150], y[100:150], announced=waiting)
    assert learner.bandwidths_[2.0] == 0.0
    assert_allclose(sum(learner.bandwidths_.values()), 1.0)


def test_with_one_bandwidth_the_base_learner_keeps_its_own_memory() -> None:
    X, y = waves(300)
    for make in (lambda b: Nystrom(b, 16, bandwidth=1.0), lambda b: RandomFeatures(b, 16, bandwidth=1.0)):
        of_auto, of_aioli = make(Auto()), make(AIOLI())
        for learner in (of_auto, of_aioli):
            for first in range(0, 300, 50):
                learner.learn_batch(X[first : first + 50], y[first : first + 50])
        assert of_auto.announce(X[0]).memory is not None
        assert of_aioli.announce(X[0]).memory is None
        assert np.isfinite(of_auto.certificate())


def test_a_base_learner_without_late_labels_refuses() -> None:
    X, y = waves(20)
    learner = RandomFeatures(OGD(), 8)
    learner.learn_many(X, y)
    with pytest.raises(CapabilityMissing, match="takes neither weights nor late labels"):
        learner.announce(X[0])
    with pytest.raises(CapabilityMissing, match="takes neither weights nor late labels"):
        learner.learn_batch(X, y)
    assert learner.rounds == 20
