"""Any learner of two classes plays one class against the rest."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import aioli
from aioli import AIOLI, OGD, SMP, Auto, KernelAIOLI, Nystrom, OneVsRest, RandomFeatures, Wide
from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.learners.protocol import Capability, certifies, saves
from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import to_bytes

BINARY_ONLY = ("AWV", "Algorithm2", "EKF", "FTRL", "Foster", "OGD", "ONS")


def stream(n: int = 60) -> tuple[Matrix, list[str]]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    codes = np.argmax(3.0 * X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(n, 3)), axis=1)
    return X, ["red", "green", "blue"] + [["red", "green", "blue"][k] for k in codes[3:]]


@pytest.mark.parametrize("make", [Wide, RandomFeatures, Nystrom, KernelAIOLI])
def test_classes_make_one_against_the_rest_of_a_learner_of_two(make: type) -> None:
    learner = make(classes=["red", "green", "blue"])
    assert isinstance(learner, OneVsRest)
    assert type(learner.learner) is make
    assert learner.classes_ == ["red", "green", "blue"]
    assert isinstance(make(), make)


def test_a_class_that_comes_late_is_as_if_it_had_been_declared() -> None:
    X, labels = stream()
    labels[:20] = ["red", "green"] * 10
    labels[20] = "blue"
    met, declared = OneVsRest(AIOLI(), "any"), OneVsRest(AIOLI(), ["red", "green", "blue"])
    met.learn_many(X, labels)
    declared.learn_many(X, labels)
    for label in met.classes_:
        late, always = met.games_[label], declared.games_[label]
        assert saves(late)
        assert saves(always)
        assert to_bytes(late.snapshot()) == to_bytes(always.snapshot())


def test_the_normalised_loss_is_at_most_that_of_the_games_together() -> None:
    X, labels = stream()
    learner = OneVsRest(OGD(), ["red", "green", "blue"])
    learner.learn_many(X, labels)
    assert learner.loss <= sum(game.loss for game in learner.games_.values())


def test_sparse_rows_stay_sparse_and_are_the_same_game() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((120, 50)) < 0.1) * 1.0
    codes = np.argmax(X[:, :3] + 0.01 * rng.random((120, 3)), axis=1)
    few, many = Wide(experts=2, classes="any"), Wide(experts=2, classes="any")
    assert Capability.SPARSE_ROWS in few.capabilities
    dense = few.learn_many(X, codes)
    assert_array_equal(many.learn_many(sparse.csr_array(X), codes), dense)
    assert_array_equal(many.learn(sparse.csr_array(X[:1]), codes[0]), few.learn(X[0], codes[0]))


def test_the_learner_sees_what_no_linear_learner_sees() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    rings = np.digitize(np.hypot(*X.T), [0.8, 1.5])
    bent, straight = KernelAIOLI(classes="any"), AIOLI(classes="any")
    for learner in (bent, straight):
        learner.learn_many(X, rings)
    assert bent.loss < 0.8 * straight.loss


@pytest.mark.parametrize("name", BINARY_ONLY)
def test_a_learner_of_two_classes_refuses_a_third_and_names_who_takes_it(name: str) -> None:
    learner = getattr(aioli, name)()
    with pytest.raises(ValueError, match=r"label is 2.*Auto\(classes=…\)"):
        learner.learn([0.5], 2)
    assert learner.rounds == 0


def test_a_batch_estimator_of_two_classes_refuses_a_third() -> None:
    with pytest.raises(ValueError, match=r"row 2: the label is .*2.*Auto\(classes=…\)"):
        SMP().fit([[0.5], [1.0], [2.0]], [0, 1, 2])


def test_what_cannot_play_one_class_against_the_rest_is_refused() -> None:
    with pytest.raises(CapabilityMissing, match=r"Auto\(classes=…\)"):
        OneVsRest(Auto())
    with pytest.raises(ParameterRefused, match="of many classes"):
        OneVsRest(AIOLI(classes="any"))
    with pytest.raises(ParameterRefused, match="of many classes"):
        RandomFeatures(AIOLI(classes="any"))
    with pytest.raises(CapabilityMissing, match="takes none"):
        OneVsRest(OGD(), [1, 2, 3]).learn([0.5], 1, weight=2.0)


def test_certificates_are_sums_over_the_games() -> None:
    X, labels = stream()
    learner = OneVsRest(KernelAIOLI(gamma=1.0), ["red", "green", "blue"])
    learner.learn_many(X, labels)
    games = learner.games_.values()
    proven = learner.certificate()
    expected = (
        sum(game.certificate() for game in games if certifies(game)) + learner.loss - sum(game.loss for game in games)
    )
    assert_allclose(float(proven), expected)
    assert proven.radius == 4.0
    assert "games of two classes" in proven.against
    assert math.isfinite(proven.theorem)
