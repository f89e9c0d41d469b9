"""The same rows are the same game: in every format and through every door, however they are cut on the way.

The same blocks of rows give the same bits. Rows that come one by one, or in chunks, are the same features to the bit. A
learner then grows row by row, and adds in another order: its probabilities are the same but for rounding, except where
it looks at how many columns there are, as the companions of `Auto` do.
"""

import csv
import gzip
import io
import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import AIOLI, Auto, TableLearner
from aioli.cli import main
from aioli.numerics.compiling import Vector
from aioli.snapshots.codec import read_snapshot
from aioli.store.models import STREAM
from aioli.streams.encoding import Encoder

ROWS = 400
ROUNDING = 1e-12  # probabilities: a row alone is added in another order than a block, a few ulp a row
LINEAR = 'Auto(budget="fast")'
TOLD = {"number": ["size", "price"], "category": ["colour", "shape"], "date": ["day"]}


def columns() -> dict[str, list[Any]]:
    """Numbers that begin late to be missing, categories and dates of which some are, and a label."""
    rng = np.random.default_rng(0)
    late = np.arange(ROWS)
    size, price = rng.normal(size=ROWS).round(3), rng.gamma(2.0, size=ROWS).round(3)
    colour, shape = rng.integers(1 + late // 40), rng.integers(3, size=ROWS)
    days = [date(2024, 1, 1) + timedelta(days=int(t)) for t in rng.integers(300, size=ROWS)]
    y = (size + 0.5 * (colour % 3) + rng.logistic(size=ROWS) > 0.5).astype(int)
    return {
        "price": [None if t > 250 and rng.random() < 0.2 else v for t, v in enumerate(price.tolist())],
        "colour": [None if t > 30 and rng.random() < 0.1 else f"c{v}" for t, v in enumerate(colour.tolist())],
        "day": [None if t > 120 and rng.random() < 0.1 else day for t, day in enumerate(days)],
        "size": [None if t > 180 and rng.random() < 0.2 else v for t, v in enumerate(size.tolist())],
        "shape": [f"s{v}" for v in shape.tolist()],
        "y": y.tolist(),
    }


def as_csv(table: dict[str, list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


def written(form: str, folder: Path) -> Path:
    """The rows as a file of this format."""
    table = columns()
    path = folder / f"rows.{form}"
    if form == "csv":
        path.write_bytes(as_csv(table))
    elif form == "csv.gz":
        path.write_bytes(gzip.compress(as_csv(table), mtime=0))
    elif form == "jsonl":
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
    else:
        arrow = pytest.importorskip("pyarrow")
        whole = arrow.table(table)
        if form.endswith("parquet"):
            size = int(form.split(".")[0])
            pytest.importorskip("pyarrow.parquet").write_table(whole, path, row_group_size=size)
        else:
            with arrow.ipc.new_file(path, whole.schema) as sink:
                sink.write_table(whole, max_chunksize=53)
    return path


def announced(path: str, learner: str, folder: Path, *options: str) -> tuple[Vector, list[str]]:
    """The probabilities of `aioli run`, and the features of the model that it saves."""
    out, model = folder / "p.csv", folder / "m.aioli"
    asked = ["--label", "y", "--learner", learner, "--predictions", str(out), "--save", str(model), "--json"]
    assert main(["run", path, *asked, *options]) == 0
    return np.loadtxt(out, delimiter=",", skiprows=1, usecols=1), features_of(model)


def features_of(model: Path) -> list[str]:
    return Encoder.restore(read_snapshot(model).part(STREAM).part("encoder")).features


@pytest.mark.parametrize("learner", ["AIOLI", "Auto"])
@pytest.mark.parametrize("form", ["csv.gz", "jsonl", "7.parquet", "1000.parquet", "arrow"])
def test_every_format_gives_the_same_bits(form: str, learner: str, tmp_path: Path) -> None:
    expected, features = announced(str(written("csv", tmp_path)), learner, tmp_path)
    assert np.ptp(expected) > 0.3  # it has something to say
    p, again = announced(str(written(form, tmp_path)), learner, tmp_path)
    assert again == features
    assert_array_equal(p, expected)


@pytest.mark.parametrize(("learner", "live"), [("AIOLI", False), ("Auto", False), ("AIOLI", True), (LINEAR, True)])
def test_a_pipe_is_the_same_game_as_the_file(learner: str, live: bool, tmp_path: Path) -> None:
    expected, features = announced(str(written("csv", tmp_path)), learner, tmp_path)
    model, out = tmp_path / "piped.aioli", tmp_path / "piped.csv"
    command = [sys.executable, "-m", "aioli", "run", "-", "--label", "y", "--learner", learner, "--save", str(model)]
    told = [word for kind, names in TOLD.items() for word in (f"--{kind}", ",".join(names))]
    told = told if learner == LINEAR else []  # the first row shows it too
    command += ["--predictions", "-", *told] if live else ["--predictions", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for line in as_csv(columns()).splitlines(keepends=True):
            process.stdin.write(line)
            if live:
                process.stdin.flush()
        said, wrong = process.communicate()
    assert process.returncode == 0, wrong
    lines = said.decode().splitlines() if live else out.read_text().splitlines()
    p = np.array([float(line.split(",")[0 if live else 1]) for line in lines[1:]])
    assert features_of(model) == features
    assert_allclose(p, expected, rtol=0.0, atol=ROUNDING if live else 0.0)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("learner", [AIOLI(), Auto(budget="fast", pairs=True)], ids=repr)
def test_frames_in_chunks_of_any_size_are_the_same_game_as_the_file(
    learner: AIOLI | Auto, size: int, library: str, tmp_path: Path
) -> None:
    frames: Any = pytest.importorskip(library)
    name = "AIOLI" if isinstance(learner, AIOLI) else LINEAR
    expected, features = announced(str(written("csv", tmp_path)), name, tmp_path)
    table = columns()
    y = table.pop("y")
    model, said = TableLearner(learner, number=TOLD["number"], category=TOLD["category"], date=TOLD["date"]), []
    for begin in range(0, ROWS, size):
        part = slice(begin, begin + size)
        frame = frames.DataFrame({column: values[part] for column, values in table.items()})
        said.append(model.learn_many(frame, y[part]))
    assert model.features_ == features
    bits = size >= ROWS and name == "AIOLI"
    assert_allclose(np.concatenate(said), expected, rtol=0.0, atol=0.0 if bits else ROUNDING)
