"""scikit-learn's face where labels come in batches: each batch is learned from what was said of it before."""

import numpy as np
import pytest
from face_streams import LEARNERS, stream
from numpy.testing import assert_array_equal
from scipy import sparse

from aioli import Auto
from aioli.learners.baselines.ogd import OGD
from aioli.sklearn import AIOLIClassifier

BATCHES = np.array_split(np.arange(120), 7)


@pytest.mark.parametrize("name", LEARNERS)
def test_batches_that_are_scored_and_then_learned_are_the_game_of_announcements(name: str) -> None:
    X, y = stream()
    model, learner = AIOLIClassifier(LEARNERS[name]()), LEARNERS[name]()
    for number, part in enumerate(BATCHES):
        tickets = learner.announce_many(X[part])
        if number:
            assert_array_equal(model.predict_proba(X[part])[:, 1], tickets.probabilities)
        learner.learn_many(X[part], y[part], announced=tickets)
        model.partial_fit(X[part], y[part], classes=[0, 1])
    assert_array_equal(model.predict_proba(X)[:, 1], learner.predict_many(X))
    assert model.learner_.loss == learner.loss
    assert model.learner_.rounds == learner.rounds == len(X)


def test_weights_reach_the_batch_and_rows_of_no_weight_are_left_out() -> None:
    X, y = stream()
    weights = np.where(np.arange(120) % 3, 0.5, 0.0)
    model, learner = AIOLIClassifier(), Auto()
    for part in BATCHES:
        taught = part[weights[part] > 0.0]
        learner.learn_batch(X[taught], y[taught], weights[taught])
        model.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weights[part])
    assert_array_equal(model.predict_proba(X)[:, 1], learner.predict_many(X))


def test_a_sparse_batch_is_a_batch() -> None:
    X, y = stream()
    model, learner = AIOLIClassifier(), Auto()
    for part in BATCHES:
        rows = sparse.csr_array(X[part])
        learner.learn_batch(rows, y[part])
        model.partial_fit(rows, y[part], classes=[0, 1])
    assert_array_equal(model.predict_proba(X)[:, 1], learner.predict_many(X))


def test_batches_of_one_row_are_the_game_with_labels_in_time() -> None:
    X, y = stream()
    learner, single = Auto(), AIOLIClassifier()
    for x, label in zip(X, y, strict=True):
        learner.learn_many(x[None, :], [label])
        single.partial_fit(x[None, :], [label], classes=[0, 1])
    assert_array_equal(single.predict_proba(X)[:, 1], learner.predict_many(X))


@pytest.mark.parametrize("average", [None, 4])
def test_a_learner_that_cannot_learn_late_plays_batches_in_time(average: int | None) -> None:
    X, y = stream()
    batched, single = (AIOLIClassifier(OGD(), average=average) for _ in range(2))
    for part in BATCHES:
        batched.partial_fit(X[part], y[part], classes=[0, 1])
    for t in range(len(X)):
        single.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
    assert_array_equal(batched.predict_proba(X), single.predict_proba(X))


def test_a_batch_that_is_refused_leaves_no_announcement_behind() -> None:
    X, y = stream()
    model, other = (AIOLIClassifier().partial_fit(X[:40], y[:40], classes=[0, 1]) for _ in range(2))
    with pytest.raises(ValueError, match="weight"):
        model.partial_fit(X[40:80], y[40:80], sample_weight=np.full(40, 1e308))
    for each in (model, other):
        each.partial_fit(X[80:], y[80:])
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))
