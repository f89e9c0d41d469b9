"""KernelAIOLI as a user meets it: AIOLI's own game, and more curves."""

import copy
import importlib
import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from support import make_labels, make_rows

from aioli import AIOLI, KernelAIOLI
from aioli.evaluate.hindsight import best_in_ball
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import Curvature

pairwise: Any = importlib.import_module("sklearn.metrics.pairwise")  # it has no types

TOLERANCE = 1e-8  # a few hundred rank-one steps of two different forms, whose conditions are at most 1e6 here


def stream(n: int = 200, d: int = 4, seed: int = 0, kind: str = "random") -> tuple[Matrix, Vector]:
    X = make_rows(kind, n, d, seed)
    return X, make_labels(X, seed)


def rings(n: int, seed: int) -> tuple[Matrix, Vector]:
    """Two rings, one inside the other, that touch."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n).astype(np.float64)
    angle, distance = rng.uniform(0, 2 * np.pi, size=n), 1.0 + y + 0.2 * rng.normal(size=n)
    return distance[:, None] * np.c_[np.cos(angle), np.sin(angle)], y


def bananas(n: int, seed: int) -> tuple[Matrix, Vector]:
    """Two crescents, each of which reaches into the other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n).astype(np.float64)
    angle = rng.uniform(0, np.pi, size=n)
    upper, lower = np.c_[np.cos(angle), np.sin(angle)], np.c_[1.0 - np.cos(angle), 0.5 - np.sin(angle)]
    return 2.0 * (np.where(y[:, None] == 1.0, upper, lower) + 0.1 * rng.normal(size=(n, 2))), y


def same(kernel: KernelAIOLI, finite: AIOLI) -> None:
    """The same loss, the same certificates, and the same dimension."""
    assert kernel.rounds == finite.rounds
    assert_allclose(kernel.loss, finite.loss, rtol=TOLERANCE, atol=TOLERANCE)
    assert_allclose(kernel.certificate(), finite.certificate(), rtol=TOLERANCE, atol=TOLERANCE)
    assert finite._state is not None
    learned = finite._state.width - finite._spec.ridge * np.trace(finite._state.covariance())
    assert_allclose(kernel.effective_dimension_, learned, atol=TOLERANCE)


@given(
    st.sampled_from(["random", "collinear", "repeated", "sparse"]),
    st.integers(1, 160),
    st.integers(1, 6),
    st.sampled_from(["tight", "paper", "full"]),
    st.booleans(),
    st.sampled_from([0.5, 1.0]),
    st.sampled_from([1.0, 0.99, 0.5]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_with_the_linear_kernel_it_is_aioli(
    kind: str,
    n: int,
    d: int,
    curvature: Curvature,
    intercept: bool,
    regulariser: float,
    forgetting: float,
    weighted: bool,
    as_csr: bool,
    seed: int,
) -> None:
    X, y = stream(n, d, seed, kind)
    weights = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 3.0, 60.0], size=n) if weighted else None
    rules: dict[str, Any] = {
        "radius": 3.0,
        "curvature": curvature,
        "intercept": intercept,
        "regulariser": regulariser,
        "forgetting": forgetting,
    }
    kernel, finite = KernelAIOLI("linear", **rules), AIOLI(**rules)
    given_rows = sparse.csr_array(X) if as_csr else X
    said, expected = kernel.learn_many(given_rows, y, weights), finite.learn_many(X, y, weights)
    assert_allclose(said, expected, atol=TOLERANCE)
    assert_allclose(kernel.predict_many(given_rows), finite.predict_many(X), atol=TOLERANCE)
    same(kernel, finite)
    proven, as_finite = kernel.certificate(tight=True), finite.certificate(tight=True)
    if forgetting == 1.0:
        assert_allclose(proven, as_finite, rtol=TOLERANCE, atol=TOLERANCE)
    else:  # the surrogates of the rows do not fade, as the state does
        assert proven <= as_finite + TOLERANCE * (1.0 + abs(as_finite))


def test_rows_as_long_as_they_may_be_keep_six_digits_and_longer_ones_are_refused() -> None:
    X, y = stream(n=300, d=3)
    X *= math.sqrt(4e9 / 16.0) / np.linalg.norm(X, axis=1).max()  # k(x,x)/λ = 4e9 for the longest
    kernel, finite = KernelAIOLI("linear", intercept=False), AIOLI(intercept=False)
    assert_allclose(kernel.learn_many(0.999 * X, y), finite.learn_many(0.999 * X, y), atol=1e-6)
    assert_allclose(kernel.predict_logit_many(X), finite.predict_logit_many(X), atol=1e-4)  # 1e-6 a row, over 300 rows
    with pytest.raises(ValueError, match=r"of length √k\(x,x\) = 15827.2 in the kernel's space.*nothing was learned"):
        kernel.learn_many(1.001 * X, y)
    assert kernel.rounds == 300


def test_late_labels_are_learned_where_they_were_announced() -> None:
    X, y = stream()
    delay, kernel, finite = 9, KernelAIOLI("linear"), AIOLI()
    announced: list[float] = []
    for t, x in enumerate(X):
        announced.append(finite.predict_logit(x))
        assert_allclose(kernel.predict_logit(x), announced[-1], atol=TOLERANCE)
        if t >= delay:
            for learner in (kernel, finite):
                learner.learn(X[t - delay], y[t - delay], logit=announced[t - delay])
    same(kernel, finite)
    at_once = KernelAIOLI("linear")
    at_once.learn_many(X[:-delay], y[:-delay], logits=announced[:-delay])
    same(at_once, finite)


def test_the_theorem_with_the_log_determinant_is_below_the_one_with_the_dimension() -> None:
    X, y = stream(300)
    curvatures: list[Curvature] = ["tight", "paper"]
    for curvature in curvatures:
        kernel, finite = KernelAIOLI("linear", curvature=curvature), AIOLI(curvature=curvature)
        kernel.learn_many(X, y)
        finite.learn_many(X, y)
        assert kernel.certificate() <= kernel.certificate().theorem <= finite.certificate().theorem < math.inf
    for irregular in (KernelAIOLI(curvature="full"), KernelAIOLI(regulariser=0.4), KernelAIOLI(forgetting=0.9)):
        irregular.learn_many(X, y)
        assert irregular.certificate().theorem == math.inf
    weighted = KernelAIOLI()
    weighted.learn(X[0], 1, weight=2.0)
    assert weighted.certificate().theorem == math.inf


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", pairwise.cosine_similarity])
@pytest.mark.parametrize("forgetting", [1.0, 0.98])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_learning_rows_at_once_is_learning_them_one_by_one(
    kernel: Any, forgetting: float, kind: Callable[[Matrix], Any]
) -> None:
    X, y = stream(n=180)
    single, many, pieces = (KernelAIOLI(kernel, degree=2, forgetting=forgetting) for _ in range(3))
    table = kind(X)
    announced = []
    for t, label in enumerate(y):
        predicted = single.predict(table[[t]])
        announced.append(single.learn(table[[t]], label))
        assert_allclose(announced[-1], predicted, rtol=1e-12)  # the same sums, the root found by another compiled loop
    assert_allclose(many.learn_many(table, y), announced, rtol=1e-9)
    ends = [0, 1, 100, 129, 180]
    for start, stop in itertools.pairwise(ends):
        assert_allclose(pieces.learn_many(table[start:stop], y[start:stop]), announced[start:stop], rtol=1e-9)
    for learner in (many, pieces):
        assert_allclose(learner.loss, single.loss, rtol=1e-10)
        assert_allclose(learner.certificate(), single.certificate(), rtol=1e-9)
        assert_allclose(learner.predict_many(table[:150]), single.predict_many(table[:150]), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("adversarial", [False, True])
@pytest.mark.parametrize("late", [0, 5])
def test_regret_against_the_best_function_of_the_ball_is_within_the_certificates(
    kernel: str, adversarial: bool, late: int
) -> None:
    X, y = stream(n=70, d=2, seed=3)
    learner = KernelAIOLI(kernel, gamma=0.5, degree=2, radius=3.0)
    announced: list[float] = []
    for t, x in enumerate(X):
        announced.append(learner.predict_logit(x))
        if adversarial:
            y[t] = float(announced[-1] <= 0.0)
        if t >= late:
            learner.learn(X[t - late], y[t - late], logit=announced[t - late] if late else None)
    X, y = X[: learner.rounds], y[: learner.rounds]
    K = pairwise.pairwise_kernels(X, metric=kernel, filter_params=True, gamma=0.5, degree=2, coef0=1.0) + 1.0
    g, basis = np.linalg.eigh(K)
    features = basis * np.sqrt(np.maximum(g, 0.0))  # by the representer theorem the best function is a θ over these
    best = best_in_ball(features, y, 3.0, intercept=False)
    regret = learner.loss - best.loss
    assert regret <= learner.certificate(tight=True) <= learner.certificate()
    if not late:
        assert learner.certificate() <= learner.certificate().theorem
    # the comparator touches the ball, so the tight certificate is the dual of one quadratic and not a loose number
    assert learner.certificate(tight=True) - regret < 0.5 * learner.loss


@pytest.mark.parametrize("make", [rings, bananas])
def test_what_no_line_can_part_costs_at_most_half(make: Callable[[int, int], tuple[Matrix, Vector]]) -> None:
    X, y = make(600, 0)
    linear, curved = AIOLI(), KernelAIOLI(gamma=1.0)
    linear.learn_many(X, y)
    curved.learn_many(X, y)
    assert curved.loss <= 0.5 * linear.loss


def test_growing_is_having_had_zeros_before() -> None:
    X, y = stream(n=120, d=5)
    X[:60, 3:] = 0.0
    for kernel in ("linear", "rbf", "laplacian", "poly"):
        for kind in (np.asarray, sparse.csr_array):
            grown = KernelAIOLI(kernel, gamma=0.4)
            first = grown.learn_many(kind(X[:60, :3]), y[:60])
            second = grown.grow(2).learn_many(kind(X[60:]), y[60:])
            whole = KernelAIOLI(kernel, gamma=0.4).learn_many(X, y)
            assert_allclose(np.concatenate([first, second]), whole, rtol=1e-10)
            assert grown.n_features_ == 5
    unsaid = KernelAIOLI()
    unsaid.learn_many(X[:, :4], y)
    assert unsaid.grow(1).gamma_ == 0.25
    with pytest.raises(ValueError, match="only named ones grow"):
        KernelAIOLI(pairwise.cosine_similarity).grow(1)


def test_effective_dimensions() -> None:
    X, y = stream(n=300, d=2)
    learner = KernelAIOLI(gamma=0.7)
    assert learner.effective_dimension_ == learner.effective_dimension() == 0.0
    asked = []
    for start in range(0, 300, 30):
        learner.learn_many(X[start : start + 30], y[start : start + 30])
        asked.append(learner.effective_dimension_)
    once = KernelAIOLI(gamma=0.7)
    once.learn_many(X, y)
    assert_allclose(once.effective_dimension_, asked[-1], rtol=1e-10)
    assert asked == sorted(asked)
    K = pairwise.rbf_kernel(X, gamma=0.7) + 1.0
    for ridge in (1e-3, 1.0, 100.0):
        direct = np.trace(K @ np.linalg.inv(K + ridge * np.eye(300)))
        assert_allclose(learner.effective_dimension(ridge), direct, rtol=1e-8)
    assert learner.effective_dimension() == learner.effective_dimension(1.0 / 16.0)
    assert asked[-1] <= learner.effective_dimension(8.0 / 16.0)  # h ≤ ¼, so D ⪰ 8λ
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="ridge is"):
            learner.effective_dimension(wrong)


def test_copies_and_pickles_live_their_own_lives() -> None:
    X, y = stream()
    learner = KernelAIOLI()
    learner.learn_many(X[:100], y[:100])
    twins = [copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    expected = learner.learn_many(X[100:], y[100:])
    for twin in twins:
        assert twin.rounds == 100
        assert_array_equal(twin.learn_many(X[100:], y[100:]), expected)


def test_it_tells_what_it_is_and_how_it_goes() -> None:
    learner = KernelAIOLI("poly", degree=2, radius=2.0)
    assert repr(learner).startswith(
        "KernelAIOLI(kernel='poly', gamma=None, degree=2, coef0=1.0, radius=2.0, ridge=None"
    )
    learner.learn_many(*stream(n=20))
    assert "# 20 rows of 4 columns" in repr(learner)
    assert learner.gamma_ == 0.25
    assert KernelAIOLI().certificate() == KernelAIOLI().certificate(tight=True) == 1.0
