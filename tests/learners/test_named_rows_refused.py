"""What `Auto` refuses of rows whose cells have names, and that it leaves nothing behind."""

from typing import Any

import numpy as np
import pytest
from named_visits import ROWS, make_bought, make_visits
from numpy.testing import assert_array_equal

from aioli import AIOLI, Auto
from aioli.errors import AioliError, CapabilityMissing, LabelRefused, RowRefused
from aioli.numerics.compiling import Vector

pd: Any = pytest.importorskip("pandas")


@pytest.fixture
def visits(rng: np.random.Generator) -> Any:
    return make_visits(rng)


@pytest.fixture
def bought(visits: Any, rng: np.random.Generator) -> Vector:
    return make_bought(visits, rng)


def test_a_learner_of_guests_goes_on_after_a_refused_row(visits: Any, bought: Vector) -> None:
    learner = Auto(guests=[lambda X: np.full(len(X), 0.4)], budget="fast")
    learner.learn_many(visits[:100], bought[:100])
    width = learner.n_features_
    for wrong, label in (({"port": "new"}, 7), ({"port": "new", "age": 1e300}, 1)):
        with pytest.raises(AioliError):
            learner.learn(visits.iloc[0].to_dict() | wrong, label)
        learner.predict(visits.iloc[0])
    learner.learn(visits.iloc[0].to_dict() | {"port": "new"}, 1)
    assert learner.n_features_ == len(learner.feature_names_ or []) == (width or 0) + 1


def test_what_is_refused_leaves_nothing(visits: Any, bought: Vector) -> None:
    learner = Auto()
    for wrong in (np.where(bought, "a", "b"), bought[:9]):
        with pytest.raises(AioliError):
            learner.learn_many(visits, wrong)
        with pytest.raises(AioliError):
            learner.learn_batch(visits, wrong)
        assert (learner.n_features_, learner.feature_names_) == (None, None)
    narrow = visits[["age", "fare"]].fillna(1.0)
    learner.learn_many(narrow[:300], bought[:300])
    before, with_gap = learner.snapshot(), narrow[300:350].copy()
    with_gap.iloc[3, 1] = np.nan
    with pytest.raises(LabelRefused):
        learner.learn(with_gap.iloc[3], 7)
    with pytest.raises(AioliError):
        learner.learn_batch(with_gap, bought[:3])
    with pytest.raises(RowRefused, match="has no column 'age'"):
        learner.learn_many(with_gap.drop(columns="age"), bought[300:350])
    assert_same(learner, Auto.restore(before), narrow[:5])
    learner.learn_many(with_gap, bought[300:350])
    assert learner.feature_names_ == ["age", "fare", "fare is missing"]


def assert_same(learner: Auto, other: Auto, rows: Any) -> None:
    assert learner.feature_names_ == other.feature_names_
    assert_array_equal(learner.predict_many(rows), other.predict_many(rows))


def test_a_learner_that_began_with_numbers_takes_numbers_alone(visits: Any, bought: Vector) -> None:
    learner = Auto()
    learner.learn_many(visits[["fare"]].to_numpy(), bought)
    assert_array_equal(learner.predict_many(visits[["fare"]]), learner.predict_many(visits[["fare"]].to_numpy()))
    with pytest.raises(RowRefused, match="a fresh Auto"):
        learner.predict_many(visits[["sex"]])
    with pytest.raises(AioliError, match="a fresh Auto"):
        learner.learn({"fare": 3.0}, 1)
    with pytest.raises(RowRefused, match="column 0 is nan"):
        Auto().learn_many([[np.nan, 1.0]], [1])  # an array has no place for a mark: the gap may be a mistake


@pytest.mark.parametrize("kind", [AIOLI, Auto])
def test_a_gap_of_a_nullable_column_is_a_sentence(kind: Any, visits: Any, bought: Vector) -> None:
    frame = visits[["fare", "age"]].convert_dtypes()
    if kind is Auto:
        assert len(Auto().learn_many(frame, bought)) == ROWS
    else:
        with pytest.raises(RowRefused, match=r"row \d+: column 1 is (missing|nan)"):
            AIOLI().learn_many(frame, bought)


@pytest.mark.parametrize("first", [{"x": 1e300, "c": "a"}, {"x": 1e300, "c": "a b"}])
def test_a_refused_first_announcement_leaves_nothing(first: dict[str, object]) -> None:
    learner = Auto()
    for announce in (learner.announce, lambda row: learner.announce_many([row])):
        with pytest.raises(AioliError):
            announce(first)
    learner.learn({"size": 1.0, "kind": "p"}, 1)
    assert learner.feature_names_ == ["size", "kind=p"]


def test_grow_is_refused_where_rows_have_names(visits: Any, bought: Vector) -> None:
    for learner in (Auto(), Auto(classes="any")):
        learner.learn_many(visits[["age", "fare"]], bought)
        assert learner.feature_names_ == ["age", "fare", "age is missing"]
        with pytest.raises(CapabilityMissing, match="grows by itself"):
            learner.grow(1, ["u"])


def test_names_that_were_given_before_are_of_numbers(visits: Any, bought: Vector) -> None:
    learner, plain = Auto(), Auto()
    learner.feature_names_ = ["fare", "vip"]
    said = learner.learn_many(visits[["vip", "fare"]], bought)
    assert_array_equal(said, plain.learn_many(visits[["fare", "vip"]].to_numpy(float), bought))
    with pytest.raises(RowRefused, match="give real numbers"):
        learner.learn_many(visits[["vip", "sex"]], bought)


@pytest.mark.parametrize("make", [Auto, lambda: Auto(classes="any")], ids=["two classes", "many"])
def test_a_column_of_a_refused_frame_is_not_asked_for_later(make: Any, visits: Any, bought: Vector) -> None:
    learner = make()
    learner.learn_many(visits, bought)
    before = learner.predict_many(visits)
    for wrong in ({"weights": [-1.0] * ROWS}, {"announced": learner.announce_many(visits[:3])}):
        with pytest.raises(AioliError):
            learner.learn_many(visits.assign(other=1.0), bought, **wrong)
    assert_array_equal(learner.predict_many(visits), before)
