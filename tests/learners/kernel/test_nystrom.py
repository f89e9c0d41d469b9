"""Nyström: the dictionary, the learner that grows and shrinks with it, and the exact kernel learner it becomes."""

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import cho_factor, cho_solve
from support import make_labels, make_rows

from aioli import AIOLI, FTRL, Auto, KernelAIOLI, Nystrom
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.kernel.dictionary import KERNELS, Dictionary
from aioli.learners.kernel.nystrom_map import NystromMap
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.curvature import tight_curvature_many
from aioli.numerics.logistic import sigmoid, sigmoid_many, softplus_many
from aioli.numerics.root import root

Again = Callable[[Nystrom, Path], Nystrom]


def example(n: int, d: int = 2, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (np.sin(3.0 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=n) > 0.0).astype(np.float64)


def map_of(learner: Nystrom) -> NystromMap:
    assert isinstance(learner._forecaster, NystromMap)
    return learner._forecaster


def kernel_learner(K: Matrix, y: Vector, radius: float, ridge: float, c: float) -> Vector:
    """The kernel's learner by its definition: Gaussian-process regression on working responses, solved afresh."""
    z = np.zeros(len(y))
    h, u = np.zeros(len(y)), np.zeros(len(y))
    for t in range(len(y)):
        k = K[:t, t]
        v, m = K[t, t] / ridge, 0.0
        if t:
            factor = cho_factor(K[:t, :t] + np.diag(2.0 * ridge / h[:t]))
            v = (K[t, t] - k @ cho_solve(factor, k)) / ridge
            m = float(k @ cho_solve(factor, u[:t]))
        z[t] = root(m, 0.5 * c * v)
        h[t] = tight_curvature_many(np.array([z[t]]), np.array([radius * math.sqrt(K[t, t])]))[0]
        u[t] = z[t] + (y[t] - sigmoid(z[t])) / h[t]
    return sigmoid_many(z)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("intercept", [True, False])
def test_with_accuracy_0_and_room_for_all_it_is_the_kernel_learner(kernel: str, intercept: bool) -> None:
    X, y = example(120, d=3)
    X[100:] = X[:20]  # rows that came before add nothing to the dictionary
    learner = Nystrom(AIOLI(8.0, 0.1, 0.5, intercept=intercept), 120, 0.0, 0.8, kernel)
    exact = kernel_learner(KERNELS[kernel](X / 0.8, X / 0.8) + float(intercept), y, 8.0, 0.1, 0.5)
    assert_allclose(learner.learn_many(X, y), exact, atol=1e-8)
    assert learner.dictionary_sizes_ == [100]
    gamma = 0.5 / 0.8**2 if kernel == "rbf" else 1.0 / 0.8
    public = KernelAIOLI(kernel, gamma, radius=8.0, ridge=0.1, regulariser=0.5, intercept=intercept)
    assert_allclose(public.learn_many(X, y), exact, atol=1e-8)
    assert_allclose(learner.certificate(), public.certificate(), rtol=1e-6)


def test_a_better_accuracy_is_nearer_to_the_kernel_learner() -> None:
    X, y = example(300)
    exact = Nystrom(points=300, accuracy=0.0, bandwidth=1.0).learn_many(X, y)
    distances = []
    for accuracy in (0.3, 0.03, 0.003, 0.0003):
        learner = Nystrom(points=300, accuracy=accuracy, bandwidth=1.0)
        distances.append(float(np.abs(learner.learn_many(X, y) - exact).max()))
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.01


def moving(n: int) -> tuple[Matrix, Vector]:
    """Rows that leave where they were for good, after a third of them."""
    X, y = example(n)
    X[n // 3 :] += [30.0, 0.0]
    return X, y


def test_a_full_dictionary_moves_with_its_rows_and_keeps_its_certificate() -> None:
    X, y = moving(1500)
    learner = Nystrom(AIOLI(4.0, 0.1), points=20, bandwidth=0.7)
    learner.learn_many(X, y)
    expert = map_of(learner)
    assert learner.dictionary_sizes_ == [20]
    moved = expert.dictionary.points[:, 0] > 15.0 / 0.7
    assert 5 <= moved.sum() <= 20
    residuals = 1.0 - np.sum(expert.dictionary.coordinates(X[-200:] / 0.7) ** 2, axis=1)
    assert residuals.mean() < 0.5
    stuck = Nystrom(Auto(1), points=20, bandwidth=0.7)  # which cannot be restricted
    stuck.learn_many(X[:600], y[:600])
    assert stuck.dictionary_sizes_ == [20]
    assert learner.certificate(tight=True) <= learner.certificate()


@pytest.mark.parametrize("adversarial", [False, True])
def test_regret_stays_below_the_certificate_through_exchanges(
    adversarial: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = moving(1200)
    learner = Nystrom(AIOLI(4.0, 0.1, intercept=False), points=20, accuracy=0.001, bandwidth=0.7)
    played: list[Matrix] = [np.empty((0, 0))]  # every row so far, as seen, in the coordinates of now
    exchanges = []
    volumes: list[float] = []  # log det K before each exchange
    learn, drop = NystromMap._learn, Dictionary.drop

    def learning(self: NystromMap, F: Matrix, y: Vector, w: None, z: None, rows: slice, said: Vector) -> None:
        learn(self, F, y, w, z, rows, said)
        before = np.zeros((len(played[0]), F.shape[1]))
        before[:, : played[0].shape[1]] = played[0]
        played[0] = np.concatenate([before, F[rows]])

    def dropping(self: Dictionary, j: int) -> tuple[Vector, Vector]:
        volumes.append(-2.0 * float(np.log(np.abs(np.diag(self.U))).sum()))
        cosines, sines = drop(self, j)
        for i, (c, s) in enumerate(zip(cosines, sines, strict=True), j):
            played[0][:, [i, i + 1]] = played[0][:, [i, i + 1]] @ np.array([[c, s], [-s, c]])
        played[0] = played[0][:, :-1].copy()
        exchanges.append(j)
        return cosines, sines

    monkeypatch.setattr(NystromMap, "_learn", learning)
    monkeypatch.setattr(Dictionary, "drop", dropping)
    for t, x in enumerate(X):
        if adversarial:
            y[t] = float(learner.predict(x) <= 0.5)
        learner.learn(x, y[t])
    assert len(exchanges) >= 5
    assert np.diff(volumes).min() >= math.log(4.0) - 1e-9  # so exchanges come to an end: det K is at most 1
    best = best_in_ball(played[0], y, 4.0, intercept=False)
    assert learner.loss - best.loss <= learner.certificate(tight=True) + 1e-6
    assert (learner.loss > best.loss) == adversarial


# ---- the game


@pytest.mark.parametrize(("bandwidth", "points"), [(0.7, 20), (0.7, 200), ("auto", 30)])
def test_one_row_at_a_time_is_many_rows_at_once(bandwidth: float | str, points: int) -> None:
    X, y = moving(450)
    single, many = (Nystrom(points=points, bandwidth=bandwidth) for _ in range(2))
    said = []
    for x, label in zip(X, y, strict=True):
        said.append(single.predict(x))
        assert_allclose(single.learn(x, label), said[-1], atol=1e-8)
    assert_allclose(many.learn_many(X, y), said, atol=1e-6)  # U and P round differently in blocks
    assert_allclose(many.loss, single.loss, rtol=1e-7)
    assert many.dictionary_sizes_ == single.dictionary_sizes_
    assert_allclose(many.predict_many(X), [single.predict(x) for x in X], atol=1e-6)


def test_weights_and_late_labels_pass_through() -> None:
    X, y = example(80)
    learner = Nystrom(AIOLI(4.0), points=80, accuracy=0.2, bandwidth=1.0)
    weights = np.linspace(0.0, 2.0, 80)
    logits = np.linspace(-1.0, 1.0, 80)
    learner.learn_many(X, y, weights, logits)
    losses = softplus_many(np.where(y == 1.0, -logits, logits))
    assert_allclose(learner.loss, weights @ losses, rtol=1e-12)


def test_it_bends_where_a_linear_learner_cannot() -> None:
    X, y = example(1500)
    bent, linear = Nystrom(points=100), AIOLI()
    bent.learn_many(X, y)
    linear.learn_many(X, y)
    assert bent.loss < 0.6 * linear.loss
    assert len(bent.dictionary_sizes_) == 4


def saved(learner: Nystrom, folder: Path) -> Nystrom:
    learner.save(folder / "model.aioli")
    return Nystrom.load(folder / "model.aioli")


@pytest.mark.parametrize("again", [saved, lambda a, _: pickle.loads(pickle.dumps(a)), lambda a, _: copy.deepcopy(a)])
@pytest.mark.parametrize("bandwidth", [0.7, "auto"])
@pytest.mark.parametrize("underneath", [None, Auto(2)])
def test_stopping_and_going_on_is_never_stopping(
    again: Again, bandwidth: float | str, underneath: Learner | None, tmp_path: Path
) -> None:
    X, y = moving(240)
    stopped, never = (Nystrom(underneath, points=12, bandwidth=bandwidth) for _ in range(2))
    never.learn_many(X[:150], y[:150])
    stopped.learn_many(X[:150], y[:150])
    stopped = again(stopped, tmp_path)
    assert_array_equal(stopped.learn_many(X[150:], y[150:]), never.learn_many(X[150:], y[150:]))
    assert repr(stopped) == repr(never)


# ---- what is refused


@pytest.mark.parametrize("points", [0, -1, 2.5, "all", True])
def test_a_budget_is_a_whole_number_of_points(points: int) -> None:
    with pytest.raises(ValueError, match=r"points is .*; it must be a whole number of at least 1"):
        Nystrom(points=points)


@pytest.mark.parametrize("accuracy", [-0.1, 1.0, math.nan, "0.1"])
def test_an_accuracy_is_a_share_of_the_kernel(accuracy: float) -> None:
    with pytest.raises(ValueError, match=r"accuracy is .*; it must be a number from 0 to 1"):
        Nystrom(accuracy=accuracy)


def test_a_learner_that_cannot_grow_is_refused() -> None:
    with pytest.raises(ValueError, match="must be able to grow with the dictionary: AIOLI or Auto"):
        Nystrom(FTRL(1.0))


def test_what_is_refused_leaves_no_trace() -> None:
    X, y = moving(100)
    learner = Nystrom(points=10)
    learner.learn_many(X[:60], y[:60])
    before = pickle.dumps(learner)
    broken = X[60:].copy()
    broken[-1, 1] = math.nan
    with pytest.raises(ValueError, match="row 39: column 1 is nan"):
        learner.learn_many(broken, y[60:])
    with pytest.raises(ValueError, match="the row has 3 columns; this learner knows 2"):
        learner.learn([1.0, 2.0, 3.0], 1)
    assert pickle.dumps(learner) == before


def test_a_budget_of_one_and_hard_rows_are_no_trouble() -> None:
    for kind in ("repeated", "sparse", "ill-scaled", "collinear"):
        X = make_rows(kind, 150, 3, seed=1)
        y = make_labels(X, 1)
        for points in (1, 50):
            learner = Nystrom(points=points)
            p = learner.learn_many(X, y)
            assert np.isfinite(p).all()
            assert np.isfinite(learner.certificate())
