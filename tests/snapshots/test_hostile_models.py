"""Model files with right checksums that lie: refused in a sentence, before anything is allocated or computed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from attack.model_files import crafted_by_seed, models_to_craft_from, try_model
from golden_files import GOLDEN

from aioli.cli import main
from aioli.errors import SnapshotRefused
from aioli.evaluate.background import QUANTILES, Background
from aioli.learners.registry import restore_learner
from aioli.snapshots.codec import read_snapshot, to_bytes, write_snapshot
from aioli.snapshots.tree import Array, Snapshot
from aioli.streams.encoding import Encoder
from aioli.streams.files.table import NUMBER

SEEDS = range(40)


def with_array(snapshot: Snapshot, path: list[str], name: str, array: Array) -> Snapshot:
    if not path:
        return replace(snapshot, arrays={**snapshot.arrays, name: array})
    part = with_array(snapshot.parts[path[0]], path[1:], name, array)
    return replace(snapshot, parts={**snapshot.parts, path[0]: part})


def golden(name: str) -> Snapshot:
    return read_snapshot(GOLDEN / f"{name}.safetensors")


def test_a_number_of_features_that_the_arrays_do_not_have_costs_nothing(tmp_path: Path) -> None:
    taken = golden("RandomFeatures")
    parameters = {**taken.mapping("parameters"), "features": 2 * 10**7}
    write_snapshot(tmp_path / "model", replace(taken, values={**taken.values, "parameters": parameters}))
    assert main(["inspect", str(tmp_path / "model")]) == 1


@pytest.mark.parametrize("wrong", ["negative", "asymmetric", "indefinite"])
def test_a_matrix_that_is_no_covariance_is_refused(wrong: str) -> None:
    P = {
        "negative": -np.eye(3),
        "asymmetric": np.array([[1.0, 0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        "indefinite": np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]),
    }[wrong]
    with pytest.raises(SnapshotRefused, match="in a State, the matrix 'P' is not symmetric and positive"):
        restore_learner(with_array(golden("AIOLI"), ["state"], "P", P))


@pytest.mark.parametrize("place", [0, 1, 2, 4, 5])
def test_a_tally_that_counts_below_0_is_refused(place: int) -> None:
    taken = golden("AIOLI")
    tally = taken.part("state").array("tally").copy()
    tally[place] = -3.0
    with pytest.raises(SnapshotRefused, match="the array 'tally' counts -3, which is below 0"):
        restore_learner(with_array(taken, ["state"], "tally", tally))


def test_a_factor_of_no_positive_matrix_and_negative_squares_are_refused() -> None:
    taken = golden("KernelAIOLI")
    memory = taken.part("memory")
    factor, squares = memory.part("state").array("factor 0"), memory.part("kept").array("squares")
    with pytest.raises(SnapshotRefused, match="'factor 0' is of no positive matrix"):
        restore_learner(with_array(taken, ["memory", "state"], "factor 0", -factor))
    with pytest.raises(SnapshotRefused, match=r"'squares' counts .*, which is below 0"):
        restore_learner(with_array(taken, ["memory", "kept"], "squares", -squares))


def test_places_that_are_not_among_the_columns_are_refused() -> None:
    taken = Background(np.eye(3), np.ones(3), np.array([0, 2]), np.zeros((len(QUANTILES), 2))).snapshot()
    for name in ("places", "spread_places"):
        with pytest.raises(SnapshotRefused, match=f"'{name}' holds a place that is not among 3"):
            Background.restore(with_array(taken, [], name, np.array([0, 3])))


def test_counts_that_no_array_holds_are_refused() -> None:
    taken = Encoder({"x": NUMBER}, None).snapshot()
    taken = replace(taken, values={**taken.values, "averaged": ["x"]})
    for count in (1e300, -1.0, 0.5, np.nan):
        with pytest.raises(SnapshotRefused, match=r"counts of rows that are none|finite"):
            Encoder.restore(with_array(taken, [], "sums", np.array([[1.0, count]])))
    with pytest.raises(SnapshotRefused, match="'rows' is above 9,223,372,036,854,775,807"):
        Encoder.restore(replace(taken, values={**taken.values, "rows": 2**63}))


def test_what_is_not_the_learners_is_refused_in_a_sentence_by_inspect_and_predict(tmp_path: Path) -> None:
    models = models_to_craft_from(tmp_path)
    refused = 0
    for seed in SEEDS:
        origin, made = crafted_by_seed(seed, models)
        try:
            to_bytes(made)
        except SnapshotRefused:
            continue
        fate = try_model(made, tmp_path)
        assert fate.holds, (seed, origin, fate)
        refused += fate.status[0]
    assert refused > len(SEEDS) // 4
