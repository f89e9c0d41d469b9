"""Random features as a user meets them, and what is promised of the map."""

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import make_labels, make_rows

from aioli import AIOLI, EKF, FTRL, Auto, RandomFeatures
from aioli.errors import CapabilityMissing
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.kernel.bandwidth import BandwidthMixture
from aioli.learners.kernel.base_learner import BaseLearner
from aioli.learners.kernel.dictionary import KERNELS
from aioli.learners.kernel.feature_map_learner import default_learner
from aioli.learners.kernel.random_features import FourierMap, random_directions
from aioli.learners.protocol import Learner, saves
from aioli.numerics.compiling import Matrix, Vector

Again = Callable[[RandomFeatures, Path], RandomFeatures]


def rings(n: int, seed: int = 0) -> tuple[Matrix, Vector]:
    """Two rings, one within the other, that overlap a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n).astype(np.float64)
    radius, angle = 1.0 + y + 0.15 * rng.normal(size=n), rng.uniform(0.0, 2.0 * math.pi, size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def waves(features: int, width: int, kernel: str = "rbf", orthogonal: bool = True, seed: int = 0) -> FourierMap:
    W = random_directions(features // 2, width, kernel, orthogonal, np.random.default_rng(seed))
    return FourierMap(BaseLearner.fresh(default_learner()), 1.0, W)


def kernel_error(features: int, width: int, kernel: str = "rbf", orthogonal: bool = True, seeds: int = 20) -> float:
    """The root mean square error of the kernel over pairs of rows and draws of the directions."""
    X = 0.7 * np.random.default_rng(1).normal(size=(40, width)) / math.sqrt(width)
    exact = KERNELS[kernel](X, X)
    maps = [waves(features, width, kernel, orthogonal, seed).map(X) for seed in range(seeds)]
    return float(np.sqrt(np.mean([np.mean((F @ F.T - exact) ** 2) for F in maps])))


# ---- the map


@pytest.mark.parametrize(("kernel", "orthogonal"), [("rbf", True), ("rbf", False), ("laplacian", False)])
def test_the_error_of_the_kernel_falls_with_the_root_of_the_features(kernel: str, orthogonal: bool) -> None:
    sizes = np.array([32, 128, 512, 2048])
    errors = [kernel_error(size, 4, kernel, orthogonal) for size in sizes]
    slope, _ = np.polyfit(np.log(sizes), np.log(errors), 1)
    assert -0.6 < slope < -0.4  # -½; twenty draws leave a few hundredths


def test_orthogonal_directions_have_less_error() -> None:
    assert kernel_error(32, 16) < 0.8 * kernel_error(32, 16, orthogonal=False)


def test_orthogonal_directions_are_orthogonal_and_as_long_as_independent_ones() -> None:
    W = random_directions(4000, 4, "rbf", True, np.random.default_rng(0))
    products = np.einsum("gid,gjd->gij", W.reshape(1000, 4, 4), W.reshape(1000, 4, 4))
    assert_allclose(products[:, ~np.eye(4, dtype=bool)], 0.0, atol=1e-13)
    assert_allclose(W.T @ W / 4000, np.eye(4), atol=0.1)  # the covariance of N(0, I), 4000 draws


def test_more_columns_than_features_have_orthogonal_directions_too() -> None:
    W = random_directions(6, 1000, "rbf", True, np.random.default_rng(0))
    assert_allclose(W @ W.T, np.diag(np.diag(W @ W.T)), atol=1e-10)
    assert_allclose(np.diag(W @ W.T), 1000.0, rtol=0.2)  # chi-square of 1000, √(2/1000) of spread


def test_features_have_length_one_however_far_the_row() -> None:
    F = waves(64, 3).map(np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 3.0], [1e90, 0.0, -1e95]]))
    assert_allclose(np.linalg.norm(F, axis=1), 1.0, rtol=1e-14)


# ---- the game


def test_it_is_the_learner_underneath_on_the_features() -> None:
    X, y = rings(300)
    learner = RandomFeatures(AIOLI(3.0), features=32, bandwidth=0.5, seed=7)
    W = random_directions(16, 2, "rbf", True, np.random.default_rng([7, 0]))
    F = np.concatenate([np.cos(2.0 * X @ W.T), np.sin(2.0 * X @ W.T)], axis=1) / 4.0
    by_hand = AIOLI(3.0)
    assert_allclose(learner.learn_many(X, y), by_hand.learn_many(F, y), rtol=1e-9)
    assert_allclose(learner.loss, by_hand.loss, rtol=1e-12)
    assert_allclose(learner.certificate(tight=True), by_hand.certificate(tight=True), rtol=1e-6)
    assert learner.certificate().theorem == pytest.approx(by_hand.certificate().theorem)
    assert learner.certificate().against == "bandwidth 0.5"


@pytest.mark.parametrize("bandwidth", [0.5, "auto"])
@pytest.mark.parametrize("features", [16, 256])
def test_one_row_at_a_time_is_many_rows_at_once(bandwidth: float | str, features: int) -> None:
    X, y = rings(200)
    single, many = (RandomFeatures(features=features, bandwidth=bandwidth) for _ in range(2))
    said = []
    for x, label in zip(X, y, strict=True):
        said.append(single.predict(x))
        assert_allclose(single.learn(x, label), said[-1], rtol=1e-9)
    assert_allclose(many.learn_many(X, y), said, atol=1e-8)  # blocks round differently
    assert_allclose(many.loss, single.loss, rtol=1e-9)
    assert_allclose(many.predict_many(X), [single.predict(x) for x in X], atol=1e-8)
    assert many.rounds == single.rounds == 200


def test_predicting_changes_nothing() -> None:
    X, y = rings(200)
    learner = RandomFeatures(features=16)
    assert learner.predict(X[0]) == 0.5
    assert learner.n_features_ is None
    learner.learn_many(X, y)
    before = pickle.dumps(learner)
    learner.predict_many(X)
    learner.predict(X[0])
    assert pickle.dumps(learner) == before


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_it_bends_where_a_linear_learner_cannot(kernel: str) -> None:
    X, y = rings(1500)
    bent, linear = RandomFeatures(kernel=kernel), AIOLI()
    bent.learn_many(X, y)
    linear.learn_many(X, y)
    assert bent.loss < 0.4 * linear.loss


@pytest.mark.parametrize("bandwidth", [0.7, "auto"])
@pytest.mark.parametrize("adversarial", [False, True])
def test_regret_stays_below_the_certificate(bandwidth: float | str, adversarial: bool) -> None:
    X = make_rows("random", 150, 3, seed=4)
    y = make_labels(X, 4)
    learner = RandomFeatures(features=16, bandwidth=bandwidth)
    for t, x in enumerate(X):
        if adversarial:
            y[t] = float(learner.predict(x) <= 0.5)
        learner.learn(x, y[t])
    certificate = learner.certificate(tight=True)
    assert certificate <= learner.certificate() + 1e-9
    known = learner._forecaster
    if isinstance(known, BandwidthMixture):  # the map that the certificate names; all rows were played on it
        assert known.scaling is not None
        named = known.maps[int(np.argmax(known.shares))]
        assert isinstance(named, FourierMap)
        F = named.map(known.scaling(X))
    else:
        assert isinstance(known, FourierMap)
        F = known.map(X)
    best = best_in_ball(F, y, certificate.radius, intercept=True)
    assert learner.loss - best.loss <= certificate + 1e-6


@pytest.mark.parametrize("underneath", [Auto(2), EKF(0.1), FTRL(1.0)])
def test_any_learner_may_play_underneath(underneath: Learner) -> None:
    X, y = rings(300)
    learner = RandomFeatures(underneath, features=16)
    learner.learn_many(X, y)
    linear = AIOLI()
    linear.learn_many(X, y)
    assert learner.loss < 0.75 * linear.loss
    assert "regret" in repr(learner)


def test_a_learner_that_knows_no_weights_refuses_them() -> None:
    X, y = rings(20)
    learner = RandomFeatures(FTRL(1.0), features=8, bandwidth=1.0)
    learner.learn(X[0], y[0], weight=1.0)
    with pytest.raises(ValueError, match="takes neither weights nor late labels"):
        learner.learn(X[1], y[1], weight=2.0)
    assert math.isinf(learner.certificate())


class Subclass(FTRL):
    """A learner that the package does not export: no snapshot of it could be restored from a file."""


@pytest.mark.parametrize("bandwidth", [0.7, "auto"])
def test_a_base_learner_from_elsewhere_is_copied_and_pickled_but_not_saved(
    bandwidth: float | str, tmp_path: Path
) -> None:
    X, y = rings(140)
    learner = RandomFeatures(Subclass(1.0), features=8, bandwidth=bandwidth)
    learner.learn_many(X[:70], y[:70])
    assert not saves(learner)
    with pytest.raises(CapabilityMissing, match=r"Subclass has no snapshot.*pickle it"):
        learner.save(tmp_path / "never.aioli")
    assert not list(tmp_path.iterdir())
    copies = copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))
    said = learner.learn_many(X[70:], y[70:])
    for copied in copies:
        assert_array_equal(copied.learn_many(X[70:], y[70:]), said)


@pytest.mark.parametrize("bandwidth", [0.7, "auto"])
def test_a_late_label_is_counted_where_it_was_announced(bandwidth: float | str) -> None:
    X, y = rings(100)
    learner = RandomFeatures(features=16, bandwidth=bandwidth)
    learner.learn_many(X[:80], y[:80])
    z = learner.predict_logit(X[80])
    learner.learn_many(X[81:], y[81:])
    before = learner.loss
    announced = learner.learn(X[80], y[80], weight=0.5, logit=z)
    assert_allclose(announced, 1.0 / (1.0 + math.exp(-z)), rtol=1e-12)
    assert_allclose(learner.loss - before, 0.5 * math.log1p(math.exp(-z if y[80] else z)), rtol=1e-9)


def saved(learner: RandomFeatures, folder: Path) -> RandomFeatures:
    learner.save(folder / "model.aioli")
    return RandomFeatures.load(folder / "model.aioli")


@pytest.mark.parametrize("again", [saved, lambda a, _: pickle.loads(pickle.dumps(a)), lambda a, _: copy.copy(a)])
@pytest.mark.parametrize("bandwidth", [0.7, "auto"])
@pytest.mark.parametrize("underneath", [None, AIOLI(2.0, intercept=False), Auto(2), EKF(0.1)])
@pytest.mark.parametrize("stop", [0, 2, 70])
def test_stopping_and_going_on_is_never_stopping(
    again: Again, bandwidth: float | str, underneath: Learner | None, stop: int, tmp_path: Path
) -> None:
    X, y = rings(140)
    stopped, never = (RandomFeatures(underneath, features=8, bandwidth=bandwidth, seed=3) for _ in range(2))
    if stop:
        never.learn_many(X[:stop], y[:stop])
        stopped.learn_many(X[:stop], y[:stop])
    stopped.feature_names_ = ["east", "north"]
    stopped = again(stopped, tmp_path)
    assert stopped.feature_names_ == ["east", "north"]
    assert stopped.loss == never.loss
    assert_array_equal(stopped.learn_many(X[stop:], y[stop:]), never.learn_many(X[stop:], y[stop:]))
    assert stopped.certificate() == never.certificate()
    assert repr(stopped) == repr(never)


# ---- what is refused


@pytest.mark.parametrize("bandwidth", [0, 0.0, -1.0, math.nan, math.inf, "median", None, [1.0]])
def test_a_bandwidth_must_be_a_number_above_zero_or_auto(bandwidth: float) -> None:
    with pytest.raises(ValueError, match=r'bandwidth is .*; it must be a finite number above 0, or "auto"'):
        RandomFeatures(bandwidth=bandwidth)


@pytest.mark.parametrize("features", [0, -2, 3, 2.0, "many", True])
def test_features_must_be_even(features: int) -> None:
    with pytest.raises(ValueError, match=r"features is .*; it must be an even whole number of at least 2"):
        RandomFeatures(features=features)


def test_other_parameters_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="kernel is 'cubic'; it must be 'rbf' or 'laplacian'"):
        RandomFeatures(kernel="cubic")
    with pytest.raises(ValueError, match="seed is -1"):
        RandomFeatures(seed=-1)
    trained = AIOLI()
    trained.learn([1.0], 1)
    with pytest.raises(ValueError, match="learner has learned from 1 rows already"):
        RandomFeatures(trained)
    with pytest.raises(ValueError, match="takes no rows of length 1"):
        RandomFeatures(AIOLI(1e-6, 7e-7))


@pytest.mark.parametrize("bandwidth", [0.7, "auto"])
def test_what_is_refused_leaves_no_trace(bandwidth: float | str) -> None:
    X, y = rings(100)
    learner = RandomFeatures(features=16, bandwidth=bandwidth)
    with pytest.raises(ValueError, match="column 1 is nan"):
        learner.learn([1.0, math.nan], 1)
    assert learner.n_features_ is None
    learner.learn_many(X[:60], y[:60])
    before = pickle.dumps(learner)
    broken = X[60:].copy()
    broken[-1, 0] = math.nan
    for wrong, labels, weights, said in [
        (broken, y[60:], None, "row 39: column 0 is nan"),
        (X[60:, :1], y[60:], None, "rows have 1 columns; this learner knows 2"),
        (1e101 * X[60:], y[60:], None, "row 0: column"),
        (X[60:], y[60:] + 1.0, None, "the label is"),
        (X[60:], y[60:], np.full(40, -1.0), "weight is"),
        (X[60:], y[60:], np.full(40, 1e9), "weight is"),
    ]:
        with pytest.raises(ValueError, match=said):
            learner.learn_many(wrong, labels, weights)
    assert pickle.dumps(learner) == before
    learner.feature_names_ = ["east", "north"]
    with pytest.raises(ValueError, match="column 'north' is inf"):
        learner.predict([0.0, math.inf])
