"""What is told of columns: the weights of the state, as sure as its curvature says, largest first, by name."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import make_labels, make_rows, state_by_definition, sums_of_surrogates

from aioli import AIOLI, OGD, Auto, KernelAIOLI, Wide
from aioli.evaluate.effects import Effect, effects, unit_of
from aioli.numerics.compiling import Matrix, Vector

ROWS = 200


def stream(columns: int = 3) -> tuple[Matrix, Vector]:
    X = make_rows("random", ROWS, columns, seed=4)
    return X, make_labels(X, seed=4)


def by_name(told: list[Effect]) -> dict[str, Effect]:
    assert len({effect.name for effect in told}) == len(told)
    return {effect.name: effect for effect in told}


@pytest.mark.parametrize("columns", [3, 70])  # a state that is wide is kept in another form
@pytest.mark.parametrize("intercept", [True, False])
def test_weights_and_deviations_are_those_of_the_quadratic(columns: int, intercept: bool) -> None:
    """Its curvature A is twice the inverse of a covariance; A is added up afresh here."""
    X, y = stream(columns)
    learner = AIOLI(radius=3.0, ridge=0.1, intercept=intercept)
    z = np.empty(ROWS)
    for t in range(ROWS):
        z[t] = learner.predict_logit(X[t])
        learner.learn(X[t], y[t])
    seen = np.column_stack([np.ones(ROWS), X]) if intercept else X
    P, w = state_by_definition(*sums_of_surrogates(learner._spec, seen, y, z))
    names = ["intercept"] * intercept + [f"column {j + 1}" for j in range(columns)]
    told = by_name(effects(learner))
    assert set(told) == set(names)
    # ROWS rank-one steps, each good to some ulp of the largest entry, on a curvature far from singular
    assert_allclose([told[name].weight for name in names], w, rtol=1e-9, atol=1e-10)
    deviations = [told[name].uncertainty for name in names]
    assert_allclose(deviations, np.sqrt(np.diag(P) / 2.0), rtol=1e-9)


def test_the_largest_comes_first() -> None:
    X, y = stream()
    learner = AIOLI()
    learner.learn_many(X, y)
    sizes = [abs(effect.weight) for effect in effects(learner)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(math.isfinite(size) for size in sizes)


@pytest.mark.parametrize("learner", [AIOLI(), Auto(), Auto(experts=1)])
def test_columns_have_their_names_and_tell_which_way_they_point(learner: Any) -> None:
    X, _ = stream()
    y = (X[:, 1] - 0.5 * X[:, 2] > 0.0).astype(np.float64)
    learner.learn_many(X, y)
    learner.feature_names_ = ["idle", "up", "down"]
    told = by_name(effects(learner))
    assert set(told) == {"intercept", "idle", "up", "down"}
    assert told["up"].weight > 0.0 > told["down"].weight
    assert abs(told["up"].weight) > abs(told["idle"].weight)
    assert all(effect.uncertainty > 0.0 for effect in told.values())


def test_more_rows_make_surer() -> None:
    X, y = stream()
    few, many = AIOLI(), AIOLI()
    few.learn_many(X[:50], y[:50])
    many.learn_many(X, y)
    for name, effect in by_name(effects(many)).items():
        before = by_name(effects(few))[name]
        assert effect.uncertainty < before.uncertainty


@pytest.mark.parametrize("learner", [KernelAIOLI(), Wide(), OGD()])
def test_who_has_no_weight_a_column_tells_none(learner: Any) -> None:
    X, y = stream()
    assert effects(learner) == []
    learner.learn_many(X, y)
    assert effects(learner) == []


@pytest.mark.parametrize("learner", [AIOLI(), Auto()])
def test_before_the_first_row_there_is_nothing_to_tell(learner: Any) -> None:
    assert effects(learner) == []


def test_a_column_that_came_late_is_told_too() -> None:
    X, y = stream()
    learner = AIOLI()
    learner.learn_many(X[:100, :2], y[:100])
    learner.grow(1)
    learner.learn_many(X[100:], y[100:])
    assert set(by_name(effects(learner))) == {"intercept", "column 1", "column 2", "column 3"}


def test_the_unit_is_that_of_the_learner() -> None:
    assert unit_of(AIOLI()) == "one unit of the column"
    assert "scale" in unit_of(Auto())
