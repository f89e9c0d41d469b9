"""Predictions as files: every row, its probability to the last bit, and its label, whatever the labels are called."""

import csv
import importlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aioli.numerics.compiling import Vector
from aioli.snapshots.whole_files import os_errors_naming, replacing
from aioli.store.predictions import write_predictions
from aioli.store.spool import Kept, Spool

NAMES = [("no", "yes"), ('a "b", c', "line\nbreak"), ("größe", "大"), ("x" * 10_000, "0")]
P: Vector = np.array([0.1, 1.0 / 3.0, 5e-324, 1.0 - 2.0**-53, 0.5])
Y: Vector = np.array([0.0, 1.0, 0.0, 1.0, 0.0])


def read(path: Path) -> tuple[list[int], list[float], list[str | None]]:
    rows: list[dict[str, Any]]
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{**row, "label": row["label"] or None} for row in csv.DictReader(file)]
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
    else:
        rows = importlib.import_module("pyarrow.parquet").read_table(path).to_pylist()
    told = [(int(row["row"]), float(row["probability"]), row["label"]) for row in rows]
    return [row[0] for row in told], [row[1] for row in told], [row[2] for row in told]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("names", NAMES)
def test_what_is_read_is_what_was_announced(
    names: tuple[str, str], ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioli.store.spool.AT_ONCE", 3)  # so that pieces meet
    out = tmp_path / f"out{ending}"
    with Spool.beside(str(out)) as spool:
        spool.add(P, Y)
        spool.add(P[:2], None)
        write_predictions(str(out), spool, names)
        assert [path.name for path in tmp_path.iterdir()] == [out.name]
    rows, p, labels = read(out)
    assert rows == [1, 2, 3, 4, 5, 6, 7]
    assert p == [*P, *P[:2]]
    assert labels == [*(names[int(y)] for y in Y), None, None]


def test_a_spool_goes_on_behind_the_rows_that_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    with Spool(path) as spool:
        spool.add(P[:2], Y[:2])
        after_two = spool.kept
        spool.add(P[2:], Y[2:])
        spool.sync()
    with pytest.raises(ValueError, match="are not those of the run"):
        Spool(path, Kept(2, 0, "0" * 64))
    with Spool(path, after_two) as spool:
        spool.add(P[4:], Y[4:])
        ((first, entries),) = list(spool)
        assert first == 0
        assert entries["probability"].tolist() == [P[0], P[1], P[4]]
    with pytest.raises(ValueError, match="missing or cut short"):
        Spool(path, Kept(4))


def write_half(target: Path) -> None:
    with os_errors_naming(target), replacing(target) as file:
        file.write(b"half")
        raise OSError(28, "No space left on device")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(OSError, match="No space left") as told:
        write_half(target)
    assert told.value.filename == str(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with replacing(target) as file:
        file.write(b"new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_spool_whose_write_failed_halfway_is_never_taken_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with Spool(tmp_path / "spool") as spool:
        spool.add(P, Y)

        def half(handle: int, data: bytes) -> int:
            write(handle, bytes(data)[: len(data) // 2])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(OSError, match="No space left"):
            spool.sync()
        monkeypatch.undo()
        with pytest.raises(OSError, match="the predictions of some rows could not be written"):
            spool.sync()  # a second flush would write the first half again
