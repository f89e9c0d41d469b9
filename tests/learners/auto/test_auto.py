"""Auto as a user meets it."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from auto_memory import ensemble_of, example_stream, memory, resumed_from_file
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import KINDS, make_labels, make_rows

from aioli import Auto
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.auto.experts import EXPERTS
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.two_classes import Tally
from aioli.states.mixture.mixture import mixture_cost
from aioli.states.mixture.views import Views

labellings = st.sampled_from(["logistic", "adversary", "drift", "runs"])


def play(learner: Auto, X: Matrix, labelling: str, seed: int) -> Vector:
    y = make_labels(X, seed)
    if labelling == "drift":
        y[len(y) // 2 :] = 1.0 - y[len(y) // 2 :]
    elif labelling == "runs":
        y[:] = np.arange(len(y)) // 20 % 2
    for t, x in enumerate(X):
        if labelling == "adversary":
            y[t] = float(learner.predict(x) <= 0.5)
        learner.learn(x, y[t])
    return y


@given(st.sampled_from(KINDS), st.integers(2, 120), st.integers(1, 5), st.integers(0, 10**6), labellings)
@settings(max_examples=30)
def test_regret_stays_below_the_certificate(kind: str, n: int, d: int, seed: int, labelling: str) -> None:
    X = make_rows(kind, n, d, seed)
    learner = Auto()
    y = play(learner, X, labelling, seed)
    tight, running = learner.certificate(tight=True), learner.certificate()
    views = dict(zip(("standard", "peak"), Views(d).of_rows(X)[:2], strict=True))
    for certificate in (tight, running):
        (view,) = (rows for name, rows in views.items() if f"the {name} view" in certificate.against)
        best = best_in_ball(view, y, certificate.radius, intercept=False)
        assert learner.loss - best.loss <= certificate + 1e-6 * (1.0 + abs(certificate))
    assert tight <= running + 1e-9
    assert running <= running.theorem
    # and nobody loses more over any expert than the mixture may cost
    total = sum(expert.prior for expert in EXPERTS)
    for expert, state in zip(EXPERTS, ensemble_of(learner).states, strict=True):
        assert learner.loss <= state.tally[Tally.LOSS] + mixture_cost(n, expert.prior / total) + 1e-6


def test_one_row_at_a_time_is_many_rows_at_once() -> None:
    X, y = example_stream()
    single, many = Auto(), Auto()
    predicted = []
    for x, label in zip(X, y, strict=True):
        predicted.append(single.predict(x))
        assert_allclose(single.learn(x, label), predicted[-1], rtol=1e-10)
    assert_allclose(many.learn_many(X, y), predicted, atol=1e-9)
    assert_allclose(single.loss, many.loss, rtol=1e-10)
    assert_allclose(single.predict_many(X), many.predict_many(X), atol=1e-9)


def test_predicting_changes_nothing() -> None:
    X, y = example_stream()
    learner = Auto()
    assert learner.predict(X[0]) == 0.5
    assert learner.n_features_ is None
    learner.learn_many(X, y)
    before = memory(learner)
    learner.predict(X[0])
    learner.predict(X[0].tolist())
    learner.predict_many(X)
    assert before == memory(learner)


@pytest.mark.parametrize("kind", ["random", "sparse", "repeated"])
def test_unit_and_origin_of_a_column_do_not_matter(kind: str) -> None:
    X = make_rows(kind, 500, 5, seed=3)
    y = make_labels(X, 3)
    rng = np.random.default_rng(0)
    plain = Auto().learn_many(X, y)
    units = 10.0 ** rng.uniform(-6, 6, 5)
    origins = 10.0 * X.std(axis=0) * rng.uniform(-1, 1, 5)
    assert_allclose(Auto().learn_many(X * units, y), plain, atol=1e-6)  # rounding of each entry, carried along
    assert_allclose(Auto().learn_many(X + origins, y), plain, atol=1e-6)


@pytest.mark.parametrize(
    "again", [resumed_from_file, lambda a, _: pickle.loads(pickle.dumps(a)), lambda a, _: copy.deepcopy(a)]
)
@pytest.mark.parametrize("experts", [None, 3])
def test_stopping_and_going_on_is_never_stopping(
    again: Callable[[Auto, Path], Auto], experts: int | None, tmp_path: Path
) -> None:
    X, y = example_stream()
    stopped, never = Auto(experts), Auto(experts)
    never.learn_many(X[:150], y[:150])
    stopped.learn_many(X[:150], y[:150])
    stopped.feature_names_ = never.feature_names_ = list("abcd")
    stopped = again(stopped, tmp_path)
    assert np.array_equal(stopped.learn_many(X[150:], y[150:]), never.learn_many(X[150:], y[150:]))
    assert stopped.learn(X[0], 1) == never.learn(X[0], 1)
    assert memory(stopped) == memory(never)
    assert stopped.feature_names_ == list("abcd")


def test_an_untrained_learner_can_be_saved(tmp_path: Path) -> None:
    Auto(2).save(tmp_path / "fresh.aioli")
    assert Auto.load(tmp_path / "fresh.aioli").experts == 2


def test_growing_is_having_had_zeros_before() -> None:
    X, y = example_stream(n=160, d=5)
    X[:80, 3:] = 0.0
    grown, wide = Auto(), Auto()
    first = grown.learn_many(X[:80, :3], y[:80])
    second = grown.grow(2, names=["new", "newer"]).learn_many(X[80:], y[80:])
    assert_allclose(np.r_[first, second], wide.learn_many(X, y), atol=1e-9)
    assert grown.feature_names_ == ["x0", "x1", "x2", "new", "newer"]


def test_a_late_label_counts_where_it_was_announced() -> None:
    X, y = example_stream(n=200)
    learner, announced, losses = Auto(), [], 0.0
    for t, x in enumerate(X):
        announced.append(learner.predict_logit(x))
        if t >= 5:
            z = announced[t - 5]
            assert_allclose(learner.learn(X[t - 5], y[t - 5], logit=z), 1 / (1 + np.exp(-z)), rtol=1e-12)
            losses += float(np.logaddexp(0.0, -z if y[t - 5] else z))
    assert_allclose(learner.loss, losses, rtol=1e-10)
    many = Auto()
    many.learn_many(X[:195], y[:195], logits=announced[:195])
    assert_allclose(many.loss, learner.loss, rtol=1e-10)
    best = best_in_ball(Views(4).of_rows(X[:195])[0], y[:195], 8.0, intercept=False)
    if "standard" in learner.certificate().against:
        assert learner.loss - best.loss <= learner.certificate()


def test_weights_multiply_the_loss_and_what_is_learned() -> None:
    X, y = example_stream()
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 4.0], size=len(X))
    learner = Auto()
    p = learner.learn_many(X, y, weights=weights)
    assert_allclose(learner.loss, -(weights * np.log(np.where(y == 1, p, 1 - p))).sum(), rtol=1e-9)
    single = Auto()
    q = [single.learn(x, t, weight=w) for x, t, w in zip(X, y, weights, strict=True)]
    assert_allclose(q, p, atol=1e-9)


def test_the_fast_budget_is_the_usual_one_without_the_experts_that_bend_as_they_like(tmp_path: Path) -> None:
    X, y = example_stream()
    fast, eight = Auto(budget="fast"), Auto(8)
    assert np.array_equal(fast.learn_many(X, y), eight.learn_many(X, y))
    assert len(fast.weights_) == 8
    assert repr(fast).startswith("Auto(budget='fast'")
    again = resumed_from_file(fast, tmp_path)
    assert again.budget == "fast"
    assert again.learn(X[0], 1) == fast.learn(X[0], 1)


def test_experts_that_bend_do_not_play_on_rows_too_wide_for_them() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 70))
    y = (X[:, 0] > 0.0).astype(float)
    learner, late = Auto(), Auto()
    learner.learn_many(X, y)
    views = {expert.view for expert in ensemble_of(learner).playing}
    assert "ramp" in views
    assert "ripple" not in views
    assert learner.weights_["AIOLI on the ripple view, λ = 0.01"] == 0.0
    announced = late.announce_many(X)  # before the first row, nobody knows that they do not play
    late.learn_many(X, y, announced=announced)
    assert late.rounds == 40
    assert_allclose(sum(late.weights_.values()), 1.0)


def test_rows_of_other_types_are_the_same_rows() -> None:
    X, y = example_stream()
    X = np.round(X * 8) / 8
    expected = Auto().learn_many(X, y)
    for rows in (X.astype(np.float32), np.asfortranarray(X), X.tolist()):
        assert np.array_equal(Auto().learn_many(rows, y), expected)
    learner = Auto()
    single = [learner.learn(x.astype(np.float32), int(t)) for x, t in zip(X, y, strict=True)]
    assert_allclose(single, expected, atol=1e-9)


def test_wide_rows_play_the_same_game_in_blocks() -> None:
    X = make_rows("random", 300, 260, seed=1)
    y = make_labels(X, 1)
    single = Auto(experts=2)
    rows = [single.learn(x, t) for x, t in zip(X, y, strict=True)]
    assert_allclose(Auto(experts=2).learn_many(X, y), rows, atol=1e-8)


def test_repr_tells_how_it_goes() -> None:
    X, y = example_stream()
    learner = Auto()
    assert repr(learner) == "Auto()"
    learner.learn_many(X, y)
    assert repr(learner).startswith("Auto()  # 300 rows of 4 columns, ")


def test_values_too_small_to_square_are_no_harm() -> None:
    learner = Auto()
    for t in range(200):
        p = learner.learn(np.array([1e-161 if t == 1 else 0.0, 1e-300 * t]), t % 2)
        assert 0.0 < p < 1.0
    assert np.isfinite(Auto().learn_many([[1e-161], [0.0], [5e-324], [0.0]], [0, 1, 0, 1])).all()
    assert memory(learner)  # no file is written of numbers that are not finite


def test_the_theorem_does_not_speak_of_late_labels() -> None:
    learner = Auto()
    for _ in range(50):
        learner.learn([1.0], 1, logit=-50.0)
    assert learner.certificate().theorem == np.inf
    assert learner.certificate() >= 2400.0


@pytest.mark.parametrize("scale", [1e-160, 1e-170, 1e-300])
def test_a_column_whose_squares_are_zero_in_float64_is_learned(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + 0.3 * rng.logistic(size=400) > 0).astype(float)
    usual, tiny = Auto(), Auto()
    usual.learn_many(X, y)
    tiny.learn_many(X * [scale, 1.0], y)
    assert tiny.loss < 1.1 * usual.loss < 0.6 * 400 * np.log(2.0)
