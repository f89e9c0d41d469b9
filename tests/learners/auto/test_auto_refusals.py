"""What Auto refuses; a refused call changes nothing."""

from pathlib import Path

import numpy as np
import pytest
from auto_memory import example_stream, memory

from aioli import AIOLI, Auto


def test_a_file_of_another_learner_is_refused(tmp_path: Path) -> None:
    AIOLI().save(tmp_path / "other.aioli")
    with pytest.raises(ValueError, match="holds a learner of type 'AIOLI', not 'Auto'"):
        Auto.load(tmp_path / "other.aioli")


@pytest.mark.parametrize("bad", [0, 12, -1, 2.5, "three"])
def test_a_number_of_experts_out_of_range_is_refused(bad: int) -> None:
    with pytest.raises(ValueError, match=r"experts is .*from 1 to 11"):
        Auto(bad)


@pytest.mark.parametrize("bad", ["slow", "", 3, None])
def test_a_budget_that_there_is_not_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r'budget is .*"fast" or "usual"'):
        Auto(budget=bad)
    with pytest.raises(ValueError, match=r"experts is .*from 1 to 8"):
        Auto(9, budget="fast")


@pytest.mark.parametrize(
    "row", [[np.nan, 0.0, 0.0, 0.0], [np.inf, 0.0, 0.0, 0.0], [1e200, 0.0, 0.0, 0.0], [1.0], ["a"] * 4]
)
def test_a_row_that_is_no_row_is_refused_and_nothing_changes(row: list[float]) -> None:
    X, y = example_stream()
    learner = Auto()
    learner.learn_many(X, y)
    before = memory(learner)
    for form in (row, np.array(row)):
        with pytest.raises(ValueError, match=r"column|values of type"):
            learner.learn(form, 1)
        with pytest.raises(ValueError, match=r"column|values of type"):
            learner.predict(form)
    with pytest.raises(ValueError, match="label"):
        learner.learn(X[0], 2)
    with pytest.raises(ValueError, match=r"row 1"):
        learner.learn_many([X[0], X[1] * np.nan], [0, 1])
    assert before == memory(learner)


def test_merging_is_refused_with_its_reason() -> None:
    with pytest.raises(ValueError, match="do not merge"):
        Auto().merge(Auto())


def test_a_weight_too_heavy_is_refused() -> None:
    with pytest.raises(ValueError, match=r"row 0: weight is 1e\+20; .*at most 1e\+06"):
        Auto().learn([1.0], 1, weight=1e20)
