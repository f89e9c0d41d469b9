"""Forest: what it learns that no line can say, and that it forgets, is bounded, saved and refused as it should be."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aioli import AIOLI, Forest
from aioli.errors import CapabilityMissing, ParameterRefused, SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot


def bent(rows: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    return X, (np.abs(X[:, 0]) + 0.3 * rng.normal(size=rows) > np.abs(X[:, 1])).astype(np.float64)


def loss(p: Vector, y: Vector) -> float:
    return float(-np.log(np.where(y == 1.0, p, 1.0 - p)).mean())


def test_a_forest_learns_what_no_line_can_say() -> None:
    X, y = bent(3000)
    assert loss(Forest(trees=8).learn_many(X, y), y) < 0.6 * loss(AIOLI().learn_many(X, y), y)


def test_a_forest_follows_when_the_world_turns() -> None:
    X, y = bent(4000)
    turned = np.where(np.arange(4000) < 2000, y, 1.0 - y)
    p = Forest(trees=8).learn_many(X, turned)
    assert loss(p[3000:], turned[3000:]) < 0.6


def test_a_column_of_noise_costs_little() -> None:
    X, y = bent(2500)
    noisy = np.column_stack([X, np.random.default_rng(1).normal(size=(2500, 8))])
    assert loss(Forest(trees=8).learn_many(noisy, y), y) < 1.35 * loss(Forest(trees=8).learn_many(X, y), y)


def test_a_forest_goes_on_from_its_file_bit_for_bit(tmp_path: Path) -> None:
    X, y = bent(300)
    forest = Forest(trees=5)
    forest.learn_many(X[:150], y[:150])
    forest.save(tmp_path / "forest.aioli")
    again = Forest.load(tmp_path / "forest.aioli")
    assert_array_equal(again.learn_many(X[150:], y[150:]), forest.learn_many(X[150:], y[150:]))
    assert (tmp_path / "forest.aioli").stat().st_size < 2 * forest.memory_ + 100_000


def test_it_tells_what_it_is_made_of() -> None:
    forest = Forest(trees=4)
    assert repr(forest) == "Forest(trees=4)"
    X, y = bent(100)
    forest.learn_many(X, y)
    assert "100 rows of 4 columns" in repr(forest)
    assert np.isclose(sum(forest.weights_.values()), 1.0)
    with pytest.raises(CapabilityMissing, match=r"Auto\(\) has one"):
        forest.certificate()


@pytest.mark.parametrize("trees", [0, -1, 1.5, "ten", True])
def test_a_number_of_trees_that_is_none_is_refused(trees: object) -> None:
    with pytest.raises(ParameterRefused, match="trees"):
        Forest(trees)  # type: ignore[arg-type]  # refused


def test_a_file_whose_tree_is_none_is_refused() -> None:
    X, y = bent(60)
    forest = Forest(trees=2)
    forest.learn_many(X, y)
    whole = forest.snapshot()
    state = whole.part("state")
    records = state.array("records").copy()
    records[0, 0] = 0.0  # the root is its own child
    broken = Snapshot(state.kind, state.values, {**state.arrays, "records": records}, state.parts)
    with pytest.raises(SnapshotRefused, match="no tree"):
        Forest.restore(Snapshot(whole.kind, whole.values, whole.arrays, {**whole.parts, "state": broken}))
