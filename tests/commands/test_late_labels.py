"""aioli run with labels that come late: by rows, by batches and by time, and what is refused."""

import importlib
import json
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import Auto
from aioli.cli import main
from aioli.evaluate.comparison import Comparison
from aioli.evaluate.delay import Delay
from aioli.evaluate.progressive import progressive
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.filestream import FileStream, Reading
from aioli.streams.synthetic_stream import SyntheticStream

ROWS = 600
SAME = 1e-9  # rows in groups of other sizes: matrix products or loops


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    """A file with a row an hour."""
    rng = np.random.default_rng(0)
    lines = ["x,hour,clicked"]
    for t in range(ROWS):
        x, hour = rng.normal(), datetime(2024, 1, 1) + timedelta(hours=t)
        lines.append(f"{x:.4f},{hour:%Y-%m-%d %H:%M:%S},{int(x + rng.logistic() > 0)}")
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["run", *map(str, arguments), "--label", "clicked", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def rows_of(path: Path) -> tuple[Matrix, Vector]:
    with FileStream(str(path), Reading(label="clicked")) as stream:
        (batch,) = list(stream)
    assert isinstance(batch.X, np.ndarray)
    assert batch.y is not None
    return batch.X, batch.y


@pytest.mark.parametrize(
    ("asked", "delay", "game"),
    [
        (["--delay", "100"], Delay(rows=100), "labels 100 rows late"),
        (["--batch", "100"], Delay(batch=100), "labels in batches of 100 rows"),
        (["--delay", "3d", "--time", "hour"], Delay(rows=71), "labels 3 d late"),  # before the row 72 hours later
        (["--delay", "90m", "--time", "hour"], Delay(rows=1), "labels 90 m late"),
    ],
)
def test_the_command_plays_the_game_of_the_library(
    clicks: Path, asked: list[str], delay: Delay, game: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, clicks, *asked)
    expected = deque(progressive(Auto(), [rows_of(clicks)], delay=delay), maxlen=1).pop()
    assert found["rows"] == ROWS
    assert found["game"] == game
    assert_allclose(found["log_loss"], expected.log_loss, rtol=SAME)
    assert_allclose(found["base_rate"], expected.base_rate, rtol=SAME)


def test_a_game_in_time_says_nothing_of_delays(clicks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "game" not in told(capsys, clicks)


def test_predictions_are_in_the_order_of_the_rows_and_the_page_names_the_game(
    clicks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "p.csv", tmp_path / "page.html"
    told(capsys, clicks, "--delay", 50, "--predictions", out, "--report", page)
    lines = out.read_text().splitlines()[1:]
    labels = [line.rpartition(",")[2] for line in clicks.read_text().splitlines()[1:]]
    assert [line.rpartition(",")[2] for line in lines] == labels
    assert [line.partition(",")[0] for line in lines] == [str(t + 1) for t in range(ROWS)]
    assert "labels 50 rows late" in page.read_text()
    assert main(["run", str(clicks), "--label", "clicked", "--batch", "50"]) == 0
    assert "labels in batches of 50 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["--delay", "7d"], "say which column tells the time"),
        (["--delay", "500", "--time", "hour"], "a number is so many rows"),
        (["--time", "hour"], "--time needs --delay"),
        (["--delay", "soon"], "give a number of rows, such as 500, or a duration"),
        (["--delay", "5", "--batch", "5"], "give one of them"),
        (["--batch", "0"], "batch is 0; it must be at least 1"),
        (["--delay", "7d", "--time", "clicked"], "column 'clicked' tells no times"),
        (["--delay", "7d", "--time", "day"], "there is no column 'day'"),
    ],
)
def test_what_is_no_delay_is_refused_in_one_sentence(
    clicks: Path, asked: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(clicks), "--label", "clicked", *asked]) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_a_column_that_tells_the_time_may_be_skipped_as_a_feature(
    clicks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "run",
        str(clicks),
        "--label",
        "clicked",
        "--delay",
        "7d",
        "--time",
        "hour",
        "--learner",
        "AIOLI",
        "--json",
    ]
    assert main([*asked, "--skip", "hour"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["features"], told["game"]) == (1, "labels 7 d late")


def test_a_row_without_a_time_is_refused_by_its_line(clicks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = clicks.read_text().splitlines()
    x, _, label = lines[7].split(",")
    clicks.write_text("\n".join([*lines[:7], f"{x},,{label}", *lines[8:]]) + "\n")
    assert main(["run", str(clicks), "--label", "clicked", "--delay", "1d", "--time", "hour"]) == 1
    assert "line 8, column 'hour': the time of the row is missing" in capsys.readouterr().err


def test_an_adversary_cannot_be_late(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "synthetic:adversary", "--rows", "50", "--delay", "5"]) == 1
    assert "its labels cannot be late" in capsys.readouterr().err


def test_another_delay_is_another_run(
    clicks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioli.streams.files.byte_window.BLOCK", 1 << 12)
    monkeypatch.setattr("aioli.streams.blocks.ROWS", 100)
    kept = tmp_path / "kept"
    lines = clicks.read_text().splitlines()
    broken = tmp_path / "broken.csv"
    broken.write_text("\n".join([*lines, "1,2,3,4,5"]) + "\n")
    arguments = ["run", str(broken), "--label", "clicked", "--checkpoint", str(kept), "--every", "0", "--resume"]
    assert main([*arguments, "--delay", "10"]) == 1
    assert (kept / "run.aioli").exists()
    assert main(arguments) == 1
    assert "is the checkpoint of another run, whose delay was '10'" in capsys.readouterr().err


def late_river(X: Matrix, y: Vector, batch: int) -> list[float]:
    scaler = importlib.import_module("river.preprocessing").StandardScaler()
    model = scaler | importlib.import_module("river.linear_model").LogisticRegression()
    rows = [dict(enumerate(x)) for x in X.tolist()]
    said = []
    for start in range(0, len(y), batch):
        part = slice(start, start + batch)
        said += [model.predict_proba_one(row)[True] for row in rows[part]]
        for row, label in zip(rows[part], y[part], strict=True):
            model.learn_one(row, label == 1.0)
    return said


@pytest.mark.parametrize("asked", [["--batch", "100"], ["--delay", "40"], ["--delay", "2d", "--time", "hour"]])
def test_peers_predict_when_the_row_comes_and_learn_when_the_label_does(
    clicks: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("river", "vowpalwabbit", "sklearn"):
        pytest.importorskip(name)
    ours = told(capsys, clicks, *asked)
    assert main(["compare", str(clicks), "--label", "clicked", *asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == ROWS
    assert found["game"] == ours["game"]
    assert found["left_out"] == {}
    assert_allclose(found["base_rate"], ours["base_rate"], rtol=SAME)
    assert_allclose(found["learners"]["Auto"]["log_loss"], ours["log_loss"], rtol=SAME)
    assert len(found["learners"]) == 7
    if asked[0] == "--batch":
        X, y = rows_of(clicks)
        said = np.array(late_river(X, y, 100))
        expected = -np.log(np.where(y == 1.0, said, 1.0 - said)).mean()
        assert_allclose(found["learners"]["River scaled"]["log_loss"], expected, rtol=1e-6)


def test_a_peer_that_cannot_learn_late_is_left_out() -> None:
    class Half:
        def announce(self, X: Any, y: Vector, weights: Vector | None = None) -> Iterator[float]:  # noqa: ARG002  (a peer's signature)
            yield from np.full(len(y), 0.5)

        def close(self) -> None:
            pass

    stream = SyntheticStream("synthetic:logistic", 300, 0)
    comparison = Comparison(stream, Auto(), {"half": Half()}, delay=Delay(rows=10))
    deque(comparison.tables(), maxlen=0)
    comparison.close()
    assert comparison.rows == 300
    assert [entrant.left for entrant in comparison.entrants] == [
        "half is left out: it cannot learn from labels that come late"
    ]
