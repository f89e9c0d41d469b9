"""A fleet over a stream of Spark's: played, killed with -9, started again, compared with one process bit for bit."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from skip_report import SYSTEM

from aioli import AIOLI, Fleet
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import to_bytes

if os.environ.get("AIOLI_SPARK") != "1":
    pytest.skip(f"{SYSTEM} was not asked for Spark: AIOLI_SPARK=1, as .ci/run has it", allow_module_level=True)
pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("Java is not installed", allow_module_level=True)

HERE = Path(__file__).parent
FILES, EACH = 4, 300


def write_rows(folder: Path) -> tuple[list[str], Matrix, Vector]:
    """Files of rows in any order within each, whose times are in the order of the stream."""
    rng = np.random.default_rng(0)
    n = FILES * EACH
    users = [f"u{k}" for k in rng.integers(0, 40, n)]
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + rng.logistic(size=n) > 0, 1.0, 0.0)
    (folder / "rows").mkdir()
    for file in range(FILES):
        path = folder / "rows" / f"{file}.json"
        order = rng.permutation(EACH) + file * EACH
        cells = [{"user": users[t], "seq": int(t), "y": y[t], "a": X[t, 0], "b": X[t, 1], "c": X[t, 2]} for t in order]
        path.write_text("\n".join(map(json.dumps, cells)) + "\n")
        os.utime(path, (1e9 + file, 1e9 + file))
    return users, X, y


def start(folder: Path) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, str(HERE / "spark_stream.py"), str(folder)],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def test_a_stream_that_was_killed_goes_on_as_one_process_would_have(tmp_path: Path) -> None:
    users, X, y = write_rows(tmp_path)
    fleet = Fleet(AIOLI(radius=2.0))
    p = fleet.learn_many(users, X, y)
    first = start(tmp_path)
    commits = tmp_path / "checkpoint" / "commits"
    for _ in range(1200):
        if first.poll() is not None or (commits.is_dir() and len(list(commits.glob("[0-9]*"))) >= 1):
            break
        time.sleep(0.1)
    assert first.poll() is None, (tmp_path / "log").read_text()[-2000:]
    os.killpg(first.pid, 9)
    first.wait(timeout=30)
    assert not (tmp_path / "fleet.aioli").exists()
    second = start(tmp_path)
    try:
        assert second.wait(timeout=120) == 0, (tmp_path / "log").read_text()[-3000:]
    finally:
        if second.poll() is None:
            os.killpg(second.pid, 9)
            second.wait(timeout=30)
    said = {row["seq"]: row["probability"] for row in json.loads((tmp_path / "said.json").read_text())}
    assert sorted(said) == list(range(FILES * EACH))
    np.testing.assert_allclose([said[t] for t in range(len(p))], p, atol=1e-15)  # JSON's fifteen digits
    learned = Fleet.load(tmp_path / "fleet.aioli")
    assert learned.rounds == fleet.rounds
    for key in fleet:
        mine, theirs = fleet[key], learned[key]
        assert isinstance(mine, AIOLI)
        assert isinstance(theirs, AIOLI)
        assert to_bytes(mine.snapshot()) == to_bytes(theirs.snapshot())
