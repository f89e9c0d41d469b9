"""Online to batch beside batch estimators: the data sets are chosen by a rule, and every method is played."""

import math
from pathlib import Path

import numpy as np

from benchmarks.batch import METHODS, batch_table, choose, losses, shipped


def write_stream(folder: Path, name: str, rows: int, columns: int, classes: int = 2) -> None:
    rng = np.random.default_rng(0)
    lines = [",".join([*(f"x{j}" for j in range(columns)), "y"])]
    lines += [
        ",".join([*(f"{value:.3f}" for value in rng.normal(size=columns)), str(t % classes)]) for t in range(rows)
    ]
    (folder / f"{name}.csv").write_text("\n".join(lines))


def test_data_sets_are_chosen_by_their_shape_and_their_labels_alone(tmp_path: Path) -> None:
    write_stream(tmp_path, "b_first_of_its_shape", 600, 3)
    write_stream(tmp_path, "c_same_shape", 600, 3)
    write_stream(tmp_path, "d_other_shape", 600, 4)
    write_stream(tmp_path, "e_too_short", 499, 2)
    write_stream(tmp_path, "f_too_long", 5001, 1)
    write_stream(tmp_path, "g_three_classes", 600, 5, classes=3)
    assert list(choose(tmp_path)) == ["b_first_of_its_shape", "d_other_shape"]


def test_scikit_learns_data_sets_give_ten() -> None:
    data = shipped()
    assert len(data) == 10
    assert all(set(y) == {0.0, 1.0} and len(X) == len(y) for X, y in data.values())


def test_every_method_is_played_and_its_difference_told() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2)) * [1.0, 100.0] + [0.0, 1e4]
    y = (X[:, 0] + rng.logistic(size=120) > 0.0).astype(np.float64)
    found = losses(X, y, splits=2, smp_splits=1, states=3)
    assert tuple(found) == METHODS
    for method, by_split in found.items():
        played = [loss for loss in by_split if not math.isnan(loss)]
        assert len(played) == (1 if method.startswith("SMP") else 2)
        assert all(0.3 < loss < 0.75 for loss in played)  # ln 2 is what knowing nothing costs
    table = batch_table({"made": (X, y)}, {"made": found})
    assert len(table.rows[0]) == len(table.heading) == 3 + len(METHODS)
    difference = np.mean(np.array(found["Auto, average"]) - found["maximum likelihood"])
    assert table.rows[0][4].startswith(f"{difference:+.4f} ±")
    assert len(table.notes) == len(METHODS) - 1
    found["SMP"] = [math.nan, math.nan]
    without = batch_table({"made": (X, y)}, {"made": found})
    assert without.rows[0][3 + METHODS.index("SMP")] == "–"
    assert not any(note.startswith("SMP:") for note in without.notes)
