"""Online to batch: a uniform sample of rounds, the average of their states, and the corollary's bound."""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from support import make_labels, make_rows

from aioli import AIOLI, OGD, Auto, OnlineToBatch
from aioli.errors import CapabilityMissing
from aioli.learners.auto.auto import Auto as AutoItself
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import logit, sigmoid_many
from aioli.paper import corollary

SAME = 1e-12  # rows at once are matrix products, rows one by one are loops: a few ulp apart in a hundred rounds
LEARNERS: dict[str, Callable[[], Any]] = {"AIOLI": AIOLI, "Auto": lambda: Auto(experts=3), "OGD": OGD}


def stream(n: int = 150, d: int = 3, seed: int = 4) -> tuple[Matrix, Vector]:
    X = make_rows("random", n, d, seed)
    return X, make_labels(X, seed)


def standard_error(values: Any) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


# ---- the average


def test_rounds_are_kept_in_full_until_there_are_too_many() -> None:
    model = OnlineToBatch(AIOLI(), states=5, share=1.0)
    X, y = stream(n=5)
    model.learn_many(X, y)
    assert model.kept_rounds_ == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("m", [1, 2, 7])
def test_the_prediction_is_the_average_of_the_learner_as_it_was_before_the_kept_rounds(name: str, m: int) -> None:
    X, y = stream()
    model = OnlineToBatch(LEARNERS[name](), states=m, seed=3, share=1.0)
    announced = model.learn_many(X, y)
    learner, said, before = LEARNERS[name](), [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        if t in model.kept_rounds_:
            before.append(learner.predict_many(X[:20]))
        said.append(learner.learn(x, label))
    assert len(before) == m
    assert_allclose(model.predict_many(X[:20]), np.mean(before, axis=0), rtol=SAME)
    assert_allclose(announced, said, rtol=SAME)
    assert_allclose([model.predict(x) for x in X[:20]], model.predict_many(X[:20]), rtol=SAME)
    assert_allclose(sigmoid_many(model.predict_logit_many(X[:20])), model.predict_many(X[:20]), rtol=1e-11)
    assert_allclose(model.predict_logit(X[7]), model.predict_logit_many(X)[7], rtol=SAME)
    assert (model.rounds, model.n_features_) == (len(X), 3)
    assert_allclose(model.loss, learner.loss, rtol=SAME)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("m", [1, 4])
def test_learning_rows_at_once_is_learning_them_one_by_one(name: str, m: int) -> None:
    X, y = stream()
    whole, single, chunked = (OnlineToBatch(LEARNERS[name](), states=m, seed=1) for _ in range(3))
    announced = whole.learn_many(X, y)
    assert_allclose([single.learn(x, label) for x, label in zip(X, y, strict=True)], announced, rtol=SAME)
    for part in np.array_split(np.arange(len(X)), 11):
        chunked.learn_many(X[part], y[part])
    assert whole.kept_rounds_ == single.kept_rounds_ == chunked.kept_rounds_
    for other in (single, chunked):
        assert_allclose(other.predict_many(X), whole.predict_many(X), rtol=SAME)


def test_an_average_of_states_that_are_sure_keeps_its_digits() -> None:
    X = np.tile([[100.0], [-100.0]], (200, 1))
    model = OnlineToBatch(AIOLI(radius=20.0), states=3, share=0.5)
    model.learn_many(X, X[:, 0] > 0)
    z = model.predict_logit_many([[30.0], [50.0], [-50.0]])
    each = np.array([state.predict_logit_many([[30.0], [50.0], [-50.0]]) for state in model._averaged()])
    assert_array_equal(model.predict_many([[50.0]]), [1.0])
    assert (each.min(axis=0) <= z).all()
    assert (z <= each.max(axis=0)).all()
    assert z[1] > 36.8  # beyond the log-odds of the float64 next to 1


def test_the_seed_decides_and_nothing_else() -> None:
    X, y = stream()
    models = [OnlineToBatch(AIOLI(), states=3, seed=seed) for seed in (5, 5, 6)]
    for model in models:
        model.learn_many(X, y)
    assert models[0].kept_rounds_ == models[1].kept_rounds_ != models[2].kept_rounds_
    assert_array_equal(models[0].predict_many(X), models[1].predict_many(X))


def test_a_share_averages_the_states_of_the_last_rounds() -> None:
    X, y = stream()
    whole, half = OnlineToBatch(AIOLI(), states=9, share=1.0), OnlineToBatch(AIOLI(), states=9)
    for model in (whole, half):
        model.learn_many(X, y)
    assert half.kept_rounds_ == [t for t in whole.kept_rounds_ if t > len(X) / 2]
    assert half.excess_risk_bound() == 2.0 * whole.excess_risk_bound()
    latest = OnlineToBatch(AIOLI(), states=2, share=1e-9)
    latest.learn_many(X, y)
    assert len(latest.kept_rounds_) == 1


def test_before_the_first_row_it_says_one_half() -> None:
    model = OnlineToBatch()
    assert isinstance(model.learner_, AutoItself)
    assert (model.predict([1.0, 2.0]), model.predict_logit([1.0, 2.0])) == (0.5, 0.0)
    assert (model.rounds, model.n_features_, model.kept_rounds_) == (0, None, [])
    assert model.excess_risk_bound() == math.inf


def test_weights_and_sparse_rows_reach_the_learner() -> None:
    X, y = stream()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    model, learner, single = OnlineToBatch(AIOLI(), states=2), AIOLI(), OnlineToBatch(AIOLI(), states=2)
    assert_allclose(model.learn_many(sparse.csr_array(X), y, weights), learner.learn_many(X, y, weights), rtol=SAME)
    assert_allclose(model.loss, learner.loss, rtol=SAME)
    for x, label, weight in zip(X, y, weights, strict=True):
        single.learn(x, label, weight)
    assert_allclose(single.predict_many(X), model.predict_many(X), rtol=SAME)


# ---- the bound


@pytest.mark.parametrize("make", [AIOLI, Auto])
def test_the_bound_is_the_certificate_over_the_rows(make: Callable[[], Any]) -> None:
    X, y = stream()
    model, learner = OnlineToBatch(make(), states=2, share=1.0), make()
    model.learn_many(X, y)
    learner.learn_many(X, y)
    for tight in (False, True):
        assert_allclose(model.certificate(tight), learner.certificate(tight), rtol=1e-9)  # a difference of losses
        assert model.excess_risk_bound(tight) == float(model.certificate(tight)) / len(X)
    with pytest.raises(CapabilityMissing, match="OGD has no certificate"):
        OnlineToBatch(OGD()).certificate()


@pytest.mark.parametrize("law", corollary.LAWS)
def test_the_mean_excess_risk_is_below_the_corollarys_bound(law: str) -> None:
    rows = [row for seed in range(12) for row in corollary.measure(corollary.Draw(law, 300, seed))]
    for variant in {row.learner for row in rows}:
        mine = [row for row in rows if row.learner == variant]
        for excess in ([row.one for row in mine], [row.many for row in mine]):
            beyond = np.array(excess) - [row.certificate for row in mine]
            assert np.mean(excess) + 4 * standard_error(excess) < mine[0].bound  # far below: no luck is needed
            assert np.mean(beyond) < 4 * standard_error(beyond)  # the certificate is nearer: luck is allowed for


# ---- its life


@pytest.mark.parametrize("name", LEARNERS)
def test_a_copied_or_pickled_model_goes_on_equal_and_alone(name: str) -> None:
    X, y = stream()
    model = OnlineToBatch(LEARNERS[name](), states=3)
    model.learn_many(X[:60], y[:60])
    twins = [copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))]
    before = model.predict_many(X)
    for twin in twins:
        assert_array_equal(twin.predict_many(X), before)
        twin.learn_many(X[60:], y[60:])
    assert_array_equal(model.predict_many(X), before)
    model.learn_many(X[60:], y[60:])
    for twin in twins:
        assert twin.kept_rounds_ == model.kept_rounds_
        assert_array_equal(twin.predict_many(X), model.predict_many(X))


def test_it_tells_what_it_is() -> None:
    X, y = stream()
    model = OnlineToBatch(OGD(), states=3, seed=7)
    assert repr(model) == f"OnlineToBatch({OGD()!r}, states=3, seed=7, share=0.5)"
    model.learn_many(X, y)
    assert repr(model).endswith("share=0.5)  # 150 rows, 2 states averaged")


# ---- what is refused


@pytest.mark.parametrize("at", [0, 1, 100])
def test_what_is_refused_leaves_no_trace_and_names_its_row(at: int) -> None:
    X, y = stream()
    model = OnlineToBatch(AIOLI(), states=4, share=1.0)
    if at:
        model.learn_many(X[:at], y[:at])
    before = pickle.dumps(model)
    bad, long = X[at:].copy(), X[at:].copy()
    bad[40, 1], long[40, 1] = math.nan, 1e200
    mixed = np.where(y[at:] == 1.0, 1.0, -1.0)
    mixed[41] = 0.0
    weights = np.ones(len(bad))
    weights[43] = -1.0
    for message, rows, labels, stakes in (
        ("row 40: column 1 is nan", bad, y[at:], None),
        ("row 40: column 1 is 1e.200", long, y[at:], None),
        ("row 41: labels 0 and -1", X[at:], mixed, None),
        ("row 43: weight is -1", X[at:], y[at:], weights),
        ("weights of shape", X[at:], y[at:], np.ones(len(bad) + 1)),
    ):
        with pytest.raises(ValueError, match=message):
            model.learn_many(rows, labels, stakes)
        assert pickle.dumps(model) == before
    for x, label in (([1.0, math.nan, 0.0], 1), ([1.0, 0.0, 0.0], "yes")):
        with pytest.raises(ValueError, match="nothing was learned"):
            model.learn(x, label)
        assert pickle.dumps(model) == before


def test_weights_for_a_learner_that_takes_none_are_refused() -> None:
    X, y = stream()
    model = OnlineToBatch(OGD())
    for refused in (lambda: model.learn_many(X, y, np.ones(len(y))), lambda: model.learn(X[0], 1, 2.0)):
        with pytest.raises(ValueError, match="OGD takes none"):
            refused()
    assert model.rounds == 0


def test_a_state_from_before_the_first_row_takes_no_row_of_another_width() -> None:
    model = OnlineToBatch(AIOLI(), states=1)
    model.learn([1.0, 2.0, 3.0], 1)
    assert model.kept_rounds_ == [1]
    assert model.predict([3.0, 2.0, 1.0]) == 0.5
    for ask, row in ((model.predict, [1.0]), (model.predict_many, [[1.0]]), (model.predict_logit_many, [[1.0]])):
        with pytest.raises(ValueError, match="this learner knows 3"):
            ask(row)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"states": 0}, "states is 0; it must be a whole number of at least 1"),
        ({"states": 2.0}, "states is 2.0"),
        ({"states": True}, "states is True"),
        ({"seed": -1}, "seed is -1; it must be a whole number of at least 0"),
        ({"share": 0.0}, "share is 0.0; it must be a number above 0 and at most 1"),
        ({"share": "all"}, "share is 'all'"),
        ({"learner": AIOLI}, "give a learner"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnlineToBatch(**given)


def test_a_learner_that_has_learned_is_refused_and_a_fresh_one_stays_fresh() -> None:
    X, y = stream()
    template = AIOLI()
    OnlineToBatch(template).learn_many(X, y)
    assert template.rounds == 0
    template.learn_many(X, y)
    with pytest.raises(ValueError, match="has learned from 150 rows already"):
        OnlineToBatch(template)


def test_log_odds_of_learners_that_have_none_stay_finite() -> None:
    model = OnlineToBatch(OGD(radius=1e3, widest=1e3), states=2)
    X = np.array([[1e3], [-1e3]])
    model.learn_many(np.tile(X, (5, 1)), [1, 0] * 5)
    z = model.predict_logit_many(X)
    assert np.isfinite(z).all()
    assert_allclose(z[0], logit(float(np.clip(model.predict(X[0]), 0.0, 1 - 2**-53))), rtol=1e-9)
