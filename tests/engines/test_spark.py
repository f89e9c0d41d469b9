"""Spark beside one process, bit for bit: a fleet over a stream that is killed, one model over a frame."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE
from skip_report import SYSTEM

from aioli import AIOLI, Fleet
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import to_bytes

if os.environ.get("AIOLI_SPARK") != "1":
    pytest.skip(f"{SYSTEM} was not asked for Spark: AIOLI_SPARK=1, as .ci/run has it", allow_module_level=True)
pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("Java is not installed", allow_module_level=True)

HERE = Path(__file__).parent
FILES, EACH = 4, 300


def rows_of_stream() -> tuple[list[str], Matrix, Vector]:
    """The users, cells and labels of the stream, in its order."""
    rng = np.random.default_rng(0)
    n = FILES * EACH
    users = [f"u{k}" for k in rng.integers(0, 40, n)]
    X = rng.normal(size=(n, 3))
    return users, X, np.where(X[:, 0] + rng.logistic(size=n) > 0, 1.0, 0.0)


def write_rows(folder: Path) -> None:
    """Files of rows in any order within each, whose times are in the order of the stream."""
    users, X, y = rows_of_stream()
    rng = np.random.default_rng(1)
    (folder / "rows").mkdir()
    for file in range(FILES):
        path = folder / "rows" / f"{file}.json"
        order = rng.permutation(EACH) + file * EACH
        cells = [{"user": users[t], "seq": int(t), "y": y[t], "a": X[t, 0], "b": X[t, 1], "c": X[t, 2]} for t in order]
        path.write_text("\n".join(map(json.dumps, cells)) + "\n")
        os.utime(path, (1e9 + file, 1e9 + file))


def start(script: str, folder: Path, *more: str) -> "subprocess.Popen[bytes]":
    """A script of Spark's in a process of its own, whose folder of work is below this one too."""
    home = folder / "home"
    if not home.exists():
        home.mkdir()
        for entry in Path(pyspark.__file__).parent.iterdir():
            (home / entry.name).symlink_to(entry)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable}
    environment |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, str(HERE / script), str(folder), *more],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def finish(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait until a script has come to its end; leave nothing of it behind."""
    try:
        assert process.wait(timeout=PATIENCE) == 0, (folder / "log").read_text()[-3000:]
    finally:
        end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a script with all that it has started, as `kill -9` does, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=PATIENCE)


@pytest.fixture(scope="module", autouse=True)
def frame(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """`spark_model.py` and its folder: it plays beside the stream, since both wait for Java most of the time."""
    folder = tmp_path_factory.mktemp("frame")
    process = start("spark_model.py", folder)
    try:
        yield process, folder
    finally:
        end(process)


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a stream that was killed with all its processes, started again, and came to its end."""
    folder = tmp_path_factory.mktemp("stream")
    write_rows(folder)
    first = start("spark_stream.py", folder, "[01].json")  # never all of them, however late the kill comes
    commits = folder / "checkpoint" / "commits"
    try:
        for _ in range(6000):
            if first.poll() is not None or (commits.is_dir() and len(list(commits.glob("[0-9]*"))) >= 1):
                break
            time.sleep(0.1)
        assert first.poll() is None, (folder / "log").read_text()[-2000:]
    finally:
        end(first)
    assert not (folder / "fleet.aioli").exists()
    finish(start("spark_stream.py", folder), folder)
    return folder


def test_a_stream_that_was_killed_goes_on_as_one_process_would_have(stream: Path) -> None:
    users, X, y = rows_of_stream()
    fleet = Fleet(AIOLI(radius=2.0))
    p = fleet.learn_many(users, X, y)
    said = {row["seq"]: row["probability"] for row in json.loads((stream / "said.json").read_text())}
    assert sorted(said) == list(range(FILES * EACH))
    np.testing.assert_allclose([said[t] for t in range(len(p))], p, atol=1e-15)  # JSON's fifteen digits
    learned = Fleet.load(stream / "fleet.aioli")
    assert learned.rounds == fleet.rounds
    for key in fleet:
        mine, theirs = fleet[key], learned[key]
        assert isinstance(mine, AIOLI)
        assert isinstance(theirs, AIOLI)
        assert to_bytes(mine.snapshot()) == to_bytes(theirs.snapshot())


@pytest.fixture(scope="module")
def told(frame: tuple["subprocess.Popen[bytes]", Path]) -> dict[str, Any]:
    """What `spark_model.py` saw on a cluster of two executors, one of which it killed."""
    process, folder = frame
    finish(process, folder)
    said: dict[str, Any] = json.loads((folder / "told.json").read_text())
    said["file"] = AIOLI.load(folder / "model.aioli").rounds
    return said


def test_one_model_over_a_frame_is_that_of_one_process_though_an_executor_was_lost(told: dict[str, Any]) -> None:
    assert len(told["killed"]) == 1
    assert told["rounds"] == told["file"] == 600
    assert told["merges"] == [3, 3]
    assert told["same learner"]
    assert told["same announced"]


def test_auto_over_a_frame_is_that_of_one_process(told: dict[str, Any]) -> None:
    assert told["same Auto"]


def test_predictions_are_a_column_of_the_frame(told: dict[str, Any]) -> None:
    assert told["predictions differ by"] < 1e-14  # sums of products of many rows, grouped as their batches are
    assert told["null where a feature is missing"] == [5]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("repeated", "the row whose seq is 9: column 'seq' comes twice; drop repeated rows"),
        ("no order", "a row of the frame: column 'seq' is missing; leave such rows out"),
        ("no label", "the row whose seq is 11: the label is"),
        ("infinite", "the row whose seq is 8: column 'b' is inf; fill it"),
        ("text", "column 'c' holds string, no numbers; cast it, or leave it out"),
        ("no column", "there is no column 'c'; there are seq, y, a, b"),
    ],
)
def test_frames_that_cannot_be_learned_are_refused_by_row_and_column(
    what: str, said: str, told: dict[str, Any]
) -> None:
    assert told["refused"][what].startswith(said)


def test_a_task_that_fails_every_time_is_told_and_nothing_was_learned(told: dict[str, Any]) -> None:
    is_named, note, learner = told["failure"]
    assert is_named == "True"
    assert "the learner given is as it was" in note
    assert learner == repr(AIOLI())


def test_a_frame_whose_driver_was_lost_between_rounds_goes_on_from_its_checkpoint(told: dict[str, Any]) -> None:
    resumed = told["resumed"]
    assert resumed["note"].startswith(
        "1 rounds of the frame were done; the learner given is as it was: call again with"
    )
    assert resumed["merges"] == [3, 4]  # three rounds, of which the second was merged twice
    assert resumed["same"]


def test_what_the_pages_show_of_spark_runs(stream: Path) -> None:  # spark_pages.py
    pages = stream / "pages"
    assert Fleet.load(pages / "fleet.aioli").rounds == AIOLI.load(pages / "model.aioli").rounds == 200
    assert list((pages / "predicted").glob("*.parquet"))
