"""Files of a forest: of one that grew, and what no game can have led to."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aioli import Forest
from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.forest.nodes import FEATURE, FIXED, LAST, ODDS, OWN, STOP


def rows_of(n: int, width: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, width)), rng.integers(0, 2, n).astype(np.float64)


@pytest.mark.parametrize("rows", [200, 400])
def test_a_forest_that_grew_many_columns_goes_on_from_its_file_bit_for_bit(rows: int, tmp_path: Path) -> None:
    forest = Forest()
    forest.learn_many(*rows_of(rows, 20))
    forest.grow(180)
    forest.save(tmp_path / "forest")
    restored = Forest.load(tmp_path / "forest")
    X, y = rows_of(300, 200, seed=1)
    assert np.array_equal(forest.learn_many(X, y), restored.learn_many(X, y))
    assert forest.memory_ == restored.memory_


def with_records(forest: Forest, place: int, value: float, inner: bool) -> Snapshot:
    """Return the forest's snapshot with this value at this place of its inner nodes, or of all."""
    whole = forest.snapshot()
    state = whole.part("state")
    records = state.array("records").copy()
    records[(records[:, FEATURE] >= 0.0) | (not inner), place] = value
    changed = replace(state, arrays={**state.arrays, "records": records})
    return replace(whole, parts={**whole.parts, "state": changed})


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *[(ODDS, -1.0), (ODDS, 0.0), (ODDS, 1e308), (ODDS, np.nan), (FEATURE, np.nan), (FEATURE, 1e9)],
        *[(LAST, 1e300), (LAST, -1.0), (STOP, -0.5), (STOP, 2.0), (OWN, 1e308), (FIXED, -1.0), (-1, -1.0)],
    ],
)
def test_nodes_that_no_rows_can_have_led_to_are_refused(place: int, value: float) -> None:
    forest = Forest(trees=4)
    forest.learn_many(*rows_of(300, 3))
    assert np.isfinite(Forest.restore(forest.snapshot()).predict(np.zeros(3)))
    with pytest.raises(SnapshotRefused):
        Forest.restore(with_records(forest, place, value, inner=place in (ODDS, FEATURE)))


@pytest.mark.parametrize("values", [{"rows": 2**63 - 1}, {"width": 10**13}, {"trees": 10**13}, {"classes": 10**12}])
def test_sizes_that_no_forest_has_are_refused_before_memory_is_asked_for(values: dict[str, int]) -> None:
    forest = Forest(trees=4)
    forest.learn_many(*rows_of(100, 3))
    whole = forest.snapshot()
    state = whole.part("state")
    changed = replace(state, values={**state.values, **values})
    with pytest.raises(SnapshotRefused):
        Forest.restore(replace(whole, parts={**whole.parts, "state": changed}))


def test_rows_without_ranks_are_refused() -> None:
    forest = Forest(trees=4)
    forest.learn_many(*rows_of(100, 3))
    whole = forest.snapshot()
    changed = replace(whole.part("state"), parts={})
    with pytest.raises(SnapshotRefused):
        Forest.restore(replace(whole, parts={**whole.parts, "state": changed}))
