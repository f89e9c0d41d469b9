"""AIOLI as a user meets it."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import KINDS, make_labels, make_rows, state_by_definition, sums_of_surrogates
from thoroughness import in_full_or_quickly

from aioli import AIOLI, Algorithm2
from aioli.evaluate.hindsight import best_in_ball
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many
from aioli.outcomes.two_classes import Tally


def example_stream(n: int = 200, d: int = 4, seed: int = 0) -> tuple[Matrix, Vector]:
    X = make_rows("random", n, d, seed)
    return X, make_labels(X, seed)


def knowledge(learner: AIOLI) -> tuple[Matrix, Vector, Vector]:
    assert learner._state is not None
    return learner._state.P, learner._state.w, learner._state.tally


@given(
    st.sampled_from(KINDS),
    st.integers(1, in_full_or_quickly(60, 20)),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_predictions_are_those_of_algorithm_2(kind: str, n: int, d: int, seed: int, adversarial: bool) -> None:
    X = make_rows(kind, n, d, seed)
    X /= np.linalg.norm(X, axis=1, keepdims=True) + 1e-300  # its curvature knows only R: make every ‖x‖ = R
    y = make_labels(X, seed)
    quick = AIOLI(radius=3.0, regulariser=1.0, curvature="paper", intercept=False)
    literal = Algorithm2(radius=3.0, widest=1.0, intercept=False)
    for t, x in enumerate(X):
        if not x.any():
            continue
        if adversarial:
            y[t] = float(quick.predict(x) <= 0.5)
        assert_allclose(quick.learn(x, y[t]), literal.learn(x, y[t]), atol=1e-6)


def test_one_row_at_a_time_is_many_rows_at_once() -> None:
    X, y = example_stream()
    single, many = AIOLI(), AIOLI()
    predicted = []
    for x, label in zip(X, y, strict=True):
        predicted.append(single.predict(x))
        assert_allclose(single.learn(x, label), predicted[-1], rtol=1e-13)
    assert_allclose(many.learn_many(X, y), predicted, rtol=1e-10)
    assert single.rounds == many.rounds == len(X)
    assert_allclose(single.loss, many.loss, rtol=1e-12)


def test_predicting_changes_nothing() -> None:
    X, y = example_stream()
    learner = AIOLI()
    assert learner.predict(X[0]) == 0.5
    assert learner.n_features_ is None
    learner.learn_many(X, y)
    before = [array.copy() for array in knowledge(learner)]
    learner.predict(X[0])
    learner.predict_many(X)
    learner.predict_logit(X[0])
    for old, new in zip(before, knowledge(learner), strict=True):
        assert np.array_equal(old, new)


def test_a_label_may_be_said_in_any_of_the_usual_ways() -> None:
    X, y = example_stream()
    expected = AIOLI().learn_many(X, y)
    for labels in (
        y.astype(bool),
        y.astype(int),
        2 * y - 1,
        (2 * y - 1).astype(np.int8),
        y.tolist(),
        y[:, None],
    ):
        assert np.array_equal(AIOLI().learn_many(X, labels), expected)
    ways: list[tuple[object, object]] = [
        (False, True),
        (0, 1),
        (-1, 1),
        (0.0, 1.0),
        (np.False_, np.True_),
        (np.int64(-1), np.int64(1)),
    ]
    for no, yes in ways:
        learner = AIOLI()
        assert_allclose([learner.learn(x, yes if t else no) for x, t in zip(X, y, strict=True)], expected, rtol=1e-10)


def test_an_intercept_is_a_column_of_ones() -> None:
    X, y = example_stream()
    with_intercept = AIOLI(intercept=True).learn_many(X, y)
    assert_allclose(AIOLI(intercept=False).learn_many(np.c_[np.ones(len(X)), X], y), with_intercept, rtol=1e-12)


def test_a_late_label_is_learned_from_where_the_learner_stands_and_counted_where_it_was_announced() -> None:
    X, y = example_stream()
    delay, learner = 7, AIOLI(intercept=False)
    announced: list[float] = []
    present: list[float] = []
    for t, x in enumerate(X):
        announced.append(learner.predict_logit(x))
        if t >= delay:
            present.append(learner.predict_logit(X[t - delay]))
            p = learner.learn(X[t - delay], y[t - delay], logit=announced[t - delay])
            assert_allclose(p, sigmoid_many(announced[t - delay]))
    n = len(X) - delay
    A, b = sums_of_surrogates(learner._spec, X[:n], y[:n], np.array(present))
    assert_allclose(learner.loss, softplus_many(np.where(y[:n] > 0.5, -1.0, 1.0) * announced[:n]).sum(), rtol=1e-12)
    P, w = state_by_definition(A, b)
    assert_allclose(knowledge(learner)[0], P, atol=1e-10)
    assert_allclose(knowledge(learner)[1], w, atol=1e-9)
    best = best_in_ball(X[:n], y[:n], learner.radius, intercept=False)
    assert learner.loss - best.loss <= learner.certificate(tight=True)
    many = AIOLI(intercept=False)
    many.learn_many(X[:n], y[:n], logits=announced[:n])
    assert_allclose(many.loss, learner.loss, rtol=1e-10)


def test_growing_is_having_had_zeros_before() -> None:
    X, y = example_stream(n=120, d=5)
    X[:60, 3:] = 0.0
    grown = AIOLI()
    first = grown.learn_many(X[:60, :3], y[:60])
    second = grown.grow(2).learn_many(X[60:], y[60:])
    assert_allclose(np.concatenate([first, second]), AIOLI().learn_many(X, y), rtol=1e-10)
    assert grown.n_features_ == 5


def test_growing_in_the_factored_form_is_having_had_zeros_before() -> None:
    X, y = example_stream(n=120, d=5)
    X[:60, 3:] = 0.0
    grown, wide = AIOLI(), AIOLI()
    grown.learn_many(X[:60, :3], y[:60])
    wide.learn_many(X[:60], y[:60])
    for learner in (grown, wide):
        assert learner._state is not None
        learner._state.factor()
    assert_allclose(grown.grow(2).learn_many(X[60:], y[60:]), wide.learn_many(X[60:], y[60:]), rtol=1e-10)


@pytest.mark.parametrize("factored", [False, True])
def test_merging_two_halves_is_the_sum_of_their_surrogates(factored: bool) -> None:
    X, y = example_stream(n=200)
    left, right = AIOLI(intercept=False), AIOLI(intercept=False)
    halves = [left.learn_many(X[:90], y[:90]), right.learn_many(X[90:], y[90:])]
    z = np.concatenate(halves)
    A, b = sums_of_surrogates(left._spec, X, y, np.log(z / (1 - z)))
    if factored:
        assert right._state is not None
        right._state.factor()
    losses = left.loss + right.loss
    left.merge(right)
    P, w = state_by_definition(A, b)
    assert left._state is not None
    assert_allclose(left._state.covariance(), P, rtol=1e-8, atol=1e-10)
    assert_allclose(left._state.w, w, rtol=1e-8, atol=1e-9)
    assert left.rounds == 200
    assert_allclose(left.loss, losses)
    # and the certificate is one for the pooled game
    best = best_in_ball(X, y, left.radius, intercept=False)
    assert left.loss - best.loss <= left.certificate(tight=True) <= left.certificate() + 1e-9


def test_merging_with_nothing_is_a_copy() -> None:
    X, y = example_stream()
    empty, full = AIOLI(), AIOLI()
    full.learn_many(X, y)
    assert np.array_equal(empty.merge(full).predict_many(X), full.predict_many(X))
    full.learn(X[0], y[0])
    assert empty.rounds == 200
    assert full.merge(AIOLI()).rounds == 201


def test_merging_refuses_other_rules_and_other_widths() -> None:
    X, y = example_stream()
    learner, narrow = AIOLI(), AIOLI()
    learner.learn_many(X, y)
    narrow.learn_many(X[:, :2], y)
    with pytest.raises(ValueError, match="other rules"):
        learner.merge(AIOLI(radius=2.0))
    with pytest.raises(ValueError, match=r"2 columns cannot merge into 4; grow\(\)"):
        learner.merge(narrow)


def test_very_many_rounds_with_a_constant_zero_and_a_collinear_column_stay_the_definition() -> None:
    rng = np.random.default_rng(0)
    X = np.empty((in_full_or_quickly(1_000_000, 100_000), 4))
    X[:, :2] = rng.normal(size=(len(X), 2))
    X[:, 2] = X[:, 0]
    X[:, 3] = 0.0
    y = (X[:, 0] - 0.5 * X[:, 1] + rng.logistic(size=len(X)) > 0).astype(float)
    learner = AIOLI(intercept=False)
    p = learner.learn_many(X, y)
    A, b = sums_of_surrogates(learner._spec, X, y, np.log(p / (1 - p)))
    P, w = state_by_definition(A, b)
    assert learner._state is not None
    assert_allclose(learner._state.covariance(), P, rtol=1e-5, atol=1e-8)
    assert_allclose(X[-50:] @ learner._state.w, X[-50:] @ w, atol=1e-6)
    assert learner._state.tally[Tally.ROUNDS] == len(X)


def test_names_of_columns_appear_in_messages_and_grow() -> None:
    X, y = example_stream()
    learner = AIOLI()
    learner.learn_many(X, y)
    learner.feature_names_ = ["age", "income", "height", "weight"]
    learner.grow(1, names=["city=Oslo"])
    assert learner.feature_names_ == ["age", "income", "height", "weight", "city=Oslo"]
    with pytest.raises(ValueError, match="column 'income' is nan"):
        learner.learn([1.0, float("nan"), 0.0, 0.0, 0.0], 1)
    with pytest.raises(ValueError, match="2 names came for 5 columns"):
        learner.feature_names_ = ["a", "b"]


def test_repr_tells_the_parameters_and_how_it_goes() -> None:
    X, y = example_stream()
    learner = AIOLI(radius=2.0)
    assert repr(learner).startswith("AIOLI(radius=2.0, ridge=None, regulariser=1.0, curvature='tight'")
    learner.learn_many(X, y)
    assert "200 rows of 4 columns" in repr(learner)


def test_rows_come_in_chunks_and_it_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = example_stream(n=300)
    whole = AIOLI().learn_many(X, y)
    monkeypatch.setattr("aioli.streams.rows.CHUNK_BYTES", 40 * 64)
    assert_allclose(AIOLI().learn_many(X, y), whole, rtol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 10.0, 1e3, 1e6])
def test_a_heavy_row_leads_to_its_label_and_not_beyond(weight: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = make_labels(X, 0)
    learner = AIOLI()
    p = learner.learn_many(X, y, weights=np.full(300, weight))
    assert_allclose(learner.loss, -weight * np.log(np.where(y == 1, p, 1 - p)).sum(), rtol=1e-9)
    assert learner.loss / weight < 1.5 * 300  # nats a row; without care it is thousands
    best = best_in_ball(X, y, learner.radius, weights=np.full(300, weight))
    assert learner.loss - best.loss <= learner.certificate(tight=True) * (1 + 1e-9)
    assert learner.certificate(tight=True) <= learner.certificate() * (1 + 1e-9)


def test_a_heavy_row_ends_where_its_own_equation_says() -> None:
    learner = AIOLI(intercept=False)
    x = np.array([1.0, -2.0])
    learner.learn(x, 1, weight=50.0)
    v = float(x @ x) * 16.0  # 1/λ = B² = 16
    u = float(learner.coefficients_ @ x)
    assert_allclose(u - 0.5 * 50.0 * v / (1.0 + np.exp(u)), 0.0, atol=1e-9)  # u + (ωv/2)(σ(u) - 1) = m = 0


def test_a_copy_learns_by_itself() -> None:
    X, y = example_stream()
    learner = AIOLI()
    learner.learn_many(X, y)
    twin = copy.copy(learner)
    twin.learn(X[0], y[0])
    assert learner.rounds == 200
    assert twin.rounds == 201


def test_threads_that_predict_together_leave_blas_as_it_was() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    learner = AIOLI()
    X = make_rows("random", 400, 300, seed=0)
    learner.learn_many(X, make_labels(X, 0))
    expected = learner.predict_many(X)

    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(learner.predict_many, [X] * 16):
                assert_allclose(found, expected, rtol=1e-12)
        assert threads() == before
