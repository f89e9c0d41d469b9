"""Auto over shards: columns surveyed first, experts that merge, a certificate for all rows, and little lost."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto
from aioli.engines.shards import learn_in_shards
from aioli.errors import CapabilityMissing, ParameterRefused, RowRefused
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.protocol import shards
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.states.mixture.column_statistics import TOP
from aioli.states.mixture.survey import ColumnSurvey


def stream(n: int = 1200, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 1e4, 1e-3, 1.0] + [0.0, 5e4, 0.0, -1.0]
    score = X[:, 0] - (X[:, 1] - 5e4) / 1e4 + X[:, 3] ** 2 - 1.0
    return X, (score + rng.logistic(size=n) > 0).astype(float)


def surveyed(X: Matrix, k: int) -> ColumnSurvey:
    survey = ColumnSurvey(X[:3])
    for part in np.array_split(X[3:], k):
        survey.merge(ColumnSurvey(X[:3]).count(part))
    return survey


@pytest.mark.parametrize("k", [1, 2, 7])
def test_surveys_of_parts_are_the_survey_of_the_whole(k: int) -> None:
    X, _ = stream()
    whole, merged = ColumnSurvey(X[:3]).count(X[3:]), surveyed(X, k)
    assert merged.rows == whole.rows == len(X)
    assert_allclose(merged.views().moments(), whole.views().moments(), rtol=1e-9)
    assert_array_equal(merged.views().columns[TOP], whole.views().columns[TOP])
    for view in ("standard", "peak"):
        for found, expected in zip(merged.views().scaling(view), whole.views().scaling(view), strict=True):
            assert_allclose(found, expected, rtol=0.25)  # one factor for all columns, of rows as each part met them
    again = ColumnSurvey.restore(from_bytes(to_bytes(merged.snapshot())))
    assert to_bytes(again.snapshot()) == to_bytes(merged.snapshot())


def test_surveys_refuse_what_they_cannot_count() -> None:
    X, _ = stream(20)
    survey = ColumnSurvey(X[:3])
    with pytest.raises(ParameterRefused, match="first is '2 rows'; it must be 3 rows or more"):
        ColumnSurvey(X[:2])
    with pytest.raises(ParameterRefused, match="other first rows"):
        survey.merge(ColumnSurvey(X[1:4]))
    with pytest.raises(RowRefused, match="nan"):
        survey.count(np.full((1, 4), np.nan))
    with pytest.raises(ValueError, match="columns"):
        survey.count(X[:, :2])
    assert survey.rows == 3


@pytest.mark.parametrize("kind", [Auto(budget="fast"), Auto(experts=11)])
def test_fixed_columns_stay_and_travel_with_the_learner(kind: Auto) -> None:
    X, y = stream(300)
    learner = copy.deepcopy(kind).fix_columns(surveyed(X, 3))
    assert shards(learner)
    assert learner.n_features_ == 4
    before = learner.snapshot().part("player").part("views").array("columns")
    p = learner.learn_many(X[:200], y[:200])
    assert_array_equal(learner.snapshot().part("player").part("views").array("columns"), before)
    again = Auto.restore(from_bytes(to_bytes(learner.snapshot())))
    assert shards(again)
    assert_array_equal(again.learn_many(X[200:], y[200:]), learner.learn_many(X[200:], y[200:]))
    single = copy.deepcopy(kind).fix_columns(surveyed(X, 3))
    assert_allclose([single.learn(x, t) for x, t in zip(X[:60], y[:60], strict=True)], p[:60], atol=1e-9)
    with pytest.raises(CapabilityMissing, match="before the first row"):
        learner.fix_columns(surveyed(X, 2))


def test_experts_merge_as_their_states_do_and_losses_add() -> None:
    X, y = stream(600)
    since = Auto(budget="fast").fix_columns(surveyed(X, 2))
    since.learn_many(X[:100], y[:100])
    left, right = copy.deepcopy(since), copy.deepcopy(since)
    left.learn_many(X[100:350], y[100:350])
    right.learn_many(X[350:], y[350:])
    ensembles = [learner._linear_experts for learner in (left, right, since)]
    assert all(ensembles)
    expected = [a.merged(b, c) for a, b, c in zip(*(each.states for each in ensembles if each), strict=True)]
    losses = left.loss + right.loss - since.loss
    swapped = copy.deepcopy(right).merge(left, since=since)
    merged = copy.deepcopy(left).merge(right, since=since)._linear_experts
    assert merged is not None
    for state, wanted in zip(merged.states, expected, strict=True):
        assert_array_equal(state.buffer, wanted.buffer)
    assert merged.loss == pytest.approx(losses, rel=1e-12)
    assert merged.rounds == 600
    assert_allclose(swapped.predict_many(X), merged.predict_many(X), atol=1e-8)
    assert swapped.weights_ == pytest.approx(merged.weights_, abs=1e-8)


@pytest.mark.parametrize("schedule", [None, [40], [3, 10, 11]])
def test_the_certificate_of_all_shards_is_at_least_their_regret(schedule: list[int] | None) -> None:
    X, y = stream(320)
    survey = surveyed(X, 4)
    run = learn_in_shards(Auto(budget="fast").fix_columns(survey), [(X[i::4], y[i::4]) for i in range(4)], schedule)
    learner = run.learner
    assert isinstance(learner, Auto)
    proven = learner.certificate()
    kind = "standard" if "standard" in proven.against else "peak"
    seen = survey.views().of_rows_apart(X)[("standard", "peak").index(kind)]
    best = best_in_ball(seen, y, proven.radius, intercept=False)
    assert learner.loss - best.loss <= proven
    assert proven.theorem == np.inf


def test_eight_shards_lose_little_of_what_one_machine_knows() -> None:
    X, y = stream(4000)
    n = 3200
    one = Auto(budget="fast")
    one.learn_many(X[:n], y[:n])
    parts = [(X[i:n:8], y[i:n:8]) for i in range(8)]
    many = learn_in_shards(Auto(budget="fast").fix_columns(surveyed(X[:n], 8)), parts).learner

    def loss(p: Vector) -> float:
        return float(-np.log(np.where(y[n:] == 1, p, 1 - p)).mean())

    assert loss(many.predict_many(X[n:])) <= 1.02 * loss(one.predict_many(X[n:]))


def test_what_does_not_read_the_same_columns_does_not_merge_and_stays_as_it_was() -> None:
    X, y = stream(60)
    fixed = Auto(budget="fast").fix_columns(surveyed(X, 2))
    fixed.learn_many(X, y)
    other = Auto(budget="fast").fix_columns(surveyed(X[:30], 2))
    other.learn_many(X, y)
    free, announced = Auto(budget="fast"), copy.deepcopy(fixed)
    free.learn_many(X, y)
    announced.announce(X[0])
    before = to_bytes(fixed.snapshot())
    with pytest.raises(ParameterRefused, match="other surveys"):
        fixed.merge(other)
    for wrong in (free, announced, Auto()):
        with pytest.raises(CapabilityMissing, match="do not merge"):
            fixed.merge(wrong)
    with pytest.raises(CapabilityMissing, match=r"Auto\(budget='fast'\)"):
        Auto().fix_columns(surveyed(X, 2))
    assert to_bytes(fixed.snapshot()) == before
