"""What columns do: the coefficients of the state, as sure as its curvature says, and what a step of each leads to."""

import math
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import make_labels, make_rows, state_by_definition, sums_of_surrogates

from aioli import AIOLI, OGD, Auto, KernelAIOLI, Wide
from aioli.evaluate.effects import Coefficient, coefficients, effects, unit_of
from aioli.evaluate.run import Run
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import logit, sigmoid
from aioli.streams.filestream import FileStream, Reading

ROWS = 200


def stream(columns: int = 3) -> tuple[Matrix, Vector]:
    X = make_rows("random", ROWS, columns, seed=4)
    return X, make_labels(X, seed=4)


def by_name(told: list[Coefficient]) -> dict[str, Coefficient]:
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
    told = by_name(coefficients(learner))
    assert set(told) == set(names)
    # ROWS rank-one steps, each good to some ulp of the largest entry, on a curvature far from singular
    assert_allclose([told[name].weight for name in names], w, rtol=1e-9, atol=1e-10)
    deviations = [told[name].uncertainty for name in names]
    assert_allclose(deviations, np.sqrt(np.diag(P) / 2.0), rtol=1e-9)


def test_the_largest_comes_first() -> None:
    X, y = stream()
    learner = AIOLI()
    learner.learn_many(X, y)
    sizes = [abs(effect.weight) for effect in coefficients(learner)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(math.isfinite(size) for size in sizes)


@pytest.mark.parametrize("learner", [AIOLI(), Auto(), Auto(experts=1)])
def test_columns_have_their_names_and_tell_which_way_they_point(learner: Any) -> None:
    X, _ = stream()
    y = (X[:, 1] - 0.5 * X[:, 2] > 0.0).astype(np.float64)
    learner.learn_many(X, y)
    learner.feature_names_ = ["idle", "up", "down"]
    told = by_name(coefficients(learner))
    assert set(told) == {"intercept", "idle", "up", "down"}
    assert told["up"].weight > 0.0 > told["down"].weight
    assert abs(told["up"].weight) > abs(told["idle"].weight)
    assert all(effect.uncertainty > 0.0 for effect in told.values())


def test_more_rows_make_surer() -> None:
    X, y = stream()
    few, many = AIOLI(), AIOLI()
    few.learn_many(X[:50], y[:50])
    many.learn_many(X, y)
    for name, effect in by_name(coefficients(many)).items():
        before = by_name(coefficients(few))[name]
        assert effect.uncertainty < before.uncertainty


@pytest.mark.parametrize("learner", [KernelAIOLI(), Wide(), OGD()])
def test_who_has_no_weight_a_column_tells_none(learner: Any) -> None:
    X, y = stream()
    assert coefficients(learner) == []
    learner.learn_many(X, y)
    assert coefficients(learner) == []


@pytest.mark.parametrize("learner", [AIOLI(), Auto()])
def test_before_the_first_row_there_is_nothing_to_tell(learner: Any) -> None:
    assert coefficients(learner) == []


def test_a_column_that_came_late_is_told_too() -> None:
    X, y = stream()
    learner = AIOLI()
    learner.learn_many(X[:100, :2], y[:100])
    learner.grow(1)
    learner.learn_many(X[100:], y[100:])
    assert set(by_name(coefficients(learner))) == {"intercept", "column 1", "column 2", "column 3"}


def test_the_unit_is_that_of_the_learner() -> None:
    assert unit_of(AIOLI()) == "one unit of the column"
    assert "scale" in unit_of(Auto())


# ---- steps from the average row


def write_paints(path: Path, rows: int = 4000, unit: float = 1.0) -> Path:
    """Red is bought more often, blue less often, and so is what is heavy; green comes only in the second half."""
    rng = np.random.default_rng(2)
    lines = ["weight,colour,price,bought"]
    for t in range(rows):
        weight, price = rng.normal(size=2)
        colour = ["red", "blue", "grey", "green"][rng.integers(3 if 2 * t < rows else 4)]
        z = {"red": 1.5, "blue": -1.5}.get(colour, 0.0) - weight
        lines.append(f"{unit * weight + 7:.6f},{colour},{price:.6f},{int(rng.random() < 1 / (1 + math.exp(-z)))}")
    path.write_text("\n".join(lines) + "\n")
    return path


def learned(path: Path, learner: Any, scale: bool = False) -> Run:
    with FileStream(str(path), Reading(label="bought", scale=scale)) as stream:
        run = Run(stream, learner)
        deque(run.tables(), maxlen=0)
        run.close()
    return run


@pytest.mark.parametrize(
    ("learner", "scale"), [(AIOLI(), False), (AIOLI(radius=30.0), True), (Auto(), False), (Auto(experts=3), True)]
)
def test_a_step_leads_from_the_average_row_the_way_that_the_data_went(
    learner: Any, scale: bool, tmp_path: Path
) -> None:
    run = learned(write_paints(tmp_path / "paints.csv"), learner, scale)
    found = effects(learner, run.taught)
    assert found is not None
    steps = {effect.name: effect for effect in found.steps}
    assert set(steps) == {"weight", "price", "colour=red", "colour=blue", "colour=grey", "colour=green"}
    assert steps["colour=red"].log_odds > 3 * steps["colour=red"].uncertainty > 0.0
    assert steps["colour=blue"].log_odds < -3 * steps["colour=blue"].uncertainty < 0.0
    assert steps["weight"].log_odds < -3 * steps["weight"].uncertainty < 0.0
    assert abs(steps["price"].log_odds) < 0.2 > abs(steps["colour=grey"].log_odds)
    assert 0.4 < found.average < 0.6
    assert found.steps[0].name in ("colour=red", "colour=blue")
    for name, effect in steps.items():
        assert effect.level == ("colour" in name)
        assert_allclose(effect.probability, sigmoid(logit(found.average) + effect.log_odds), rtol=1e-12)


@pytest.mark.parametrize("scale", [True, False])
def test_the_levels_of_a_category_are_told_against_their_average(scale: bool, tmp_path: Path) -> None:
    """Their effects, weighted by their shares of the rows, cancel: a category as a whole adds nothing."""
    path = write_paints(tmp_path / "paints.csv")
    learner = Auto()
    found = effects(learner, learned(path, learner, scale).taught)
    assert found is not None
    colours = [line.split(",")[1] for line in path.read_text().splitlines()[1:]]
    mean = sum(
        effect.log_odds * colours.count(effect.name.removeprefix("colour=")) / len(colours)
        for effect in found.steps
        if effect.level
    )
    assert_allclose(mean, 0.0, atol=1e-9)


def test_a_step_does_not_depend_on_the_unit_of_a_column(tmp_path: Path) -> None:
    steps = []
    for unit in (1.0, 1e6):
        learner = Auto()
        found = effects(learner, learned(write_paints(tmp_path / f"{unit}.csv", 600, unit), learner).taught)
        assert found is not None
        steps.append({effect.name: effect.log_odds for effect in found.steps})
    for name, log_odds in steps[0].items():
        assert_allclose(steps[1][name], log_odds, rtol=1e-3, atol=1e-6)  # six digits of a weight are written


@pytest.mark.parametrize("learner", [AIOLI(), Auto(), Wide()])
def test_columns_that_came_late_have_the_names_of_the_stream(
    learner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioli.streams.files.byte_window.BLOCK", 1 << 10)  # green comes in a later table
    monkeypatch.setattr("aioli.streams.blocks.ROWS", 30)
    run = learned(write_paints(tmp_path / "paints.csv", 300), learner)
    assert learner.feature_names_ == list(run.stream.features)
    assert "colour=green" in learner.feature_names_


def test_without_an_intercept_there_is_no_average_row() -> None:
    X, y = stream()
    learner = AIOLI(intercept=False)
    learner.learn_many(X, y)
    assert effects(learner) is None
    assert len(coefficients(learner)) == 3
