"""The study of mixed files, on one that the test makes."""

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from benchmarks.mixed_files import mixed_table


def test_a_made_file_is_measured_with_everybody(tmp_path: Path) -> None:
    for name in ("river", "vowpalwabbit"):
        pytest.importorskip(name)
    rng = np.random.default_rng(0)
    with (
        gzip.open(tmp_path / "made.mixed.csv.gz", "wt", newline="") as mixed,
        gzip.open(tmp_path / "made.svm.gz", "wt") as prepared,
    ):
        rows = csv.writer(mixed)
        rows.writerow(["size", "colour", "y"])
        for _ in range(60):
            size, colour = rng.normal(), int(rng.integers(2))
            y = int(size + colour + rng.logistic() > 0.5)
            rows.writerow([f"{size:.3f}", ["red", "blue"][colour], y])
            prepared.write(f"{y} 1:{size:.3f} {2 + colour}:1\n")
    table = mixed_table(tmp_path, 60)
    ((name, count, *losses, _),) = table.rows
    assert (name, count) == ("made", "60")
    assert losses[0] == losses[1]  # the order of columns changes nothing
    assert all(0.0 < float(loss) < 2.0 for loss in losses)
