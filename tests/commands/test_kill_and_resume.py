"""A run that is killed, at any moment and as often as you like, ends as one that was left alone."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_files import HEADER, visits, write_visits
from patience import PATIENCE
from thoroughness import in_full_or_quickly

ROWS = 3_000
# Where to kill: before or after the n-th call of a function that a checkpoint, or the end of a run, comes through.
STAGES = [
    ("aioli.snapshots.codec", "_encoded", 3, False),  # nothing has been written
    ("aioli.snapshots.whole_files", "_sync", 5, True),  # a file is whole, but has not got its name
    ("aioli.snapshots.whole_files", "os.replace", 4, True),  # it has, but nobody knows it on the disk
    ("aioli.store.checkpoints", "Checkpoints.keep", 1, False),  # there is no checkpoint yet
    ("aioli.store.checkpoints", "Spool.sync", 2, True),  # predictions are further than the checkpoint
    ("aioli.store.checkpoints", "Checkpoints.keep", 5, True),
    ("aioli.commands.summary", "write_predictions", 1, False),
    ("aioli.store.predictions", "_write_parquet", 1, True),  # whole, but under another name
    ("aioli.commands.summary", "write_predictions", 1, True),
    ("aioli.evaluate.regret", "best_in_ball", 3, True),
    ("aioli.store.checkpoints", "Checkpoints.remove", 1, False),
    ("aioli.store.checkpoints", "Checkpoints.remove", 1, True),
]


@pytest.mark.parametrize(
    ("source", "learner", "ending", "times"),
    [
        ("visits.csv", "AIOLI", ".parquet", in_full_or_quickly(20, 5)),
        ("visits.csv.gz", "Auto", ".parquet", in_full_or_quickly(10, 3)),
        ("visits.parquet", "Auto", ".csv", in_full_or_quickly(10, 3)),
        ("visits.parquet", "AIOLI", ".jsonl", in_full_or_quickly(10, 3)),
    ],
)
def test_whatever_is_killed_goes_on_to_the_very_same_end(
    source: str, learner: str, ending: str, times: int, tmp_path: Path
) -> None:
    file = write_visits(tmp_path / source, ROWS)
    stages = STAGES if (source, learner) == ("visits.csv", "AIOLI") else []
    told = played(
        tmp_path,
        arguments=[str(file), "--label", "bought", "--learner", learner],
        ending=ending,
        seed=times,
        times=times,
        most=3,
        stages=stages,
    )
    assert told["differences"] == []
    assert told["identical"] == told["runs"] == times + len(stages)
    assert told["staged"] == len(stages)
    assert told["stops"] >= told["middle"] >= times  # each was killed between its first checkpoint and its end


@pytest.mark.parametrize(
    ("source", "learner", "late"),
    [
        ("visits.parquet", "AIOLI", ["--batch", "700"]),
        ("visits.csv", "AIOLI", ["--delay", "30d", "--time", "day"]),
        *in_full_or_quickly([("visits.csv", "Auto", ["--delay", "60"])], []),
    ],
)
def test_rows_that_wait_for_their_labels_survive_it_too(
    source: str, learner: str, late: list[str], tmp_path: Path
) -> None:
    rows = ROWS if learner == "AIOLI" else in_full_or_quickly(ROWS, 1_200)  # of which the first table has 1,000
    file = write_visits(tmp_path / source, rows)
    arguments = [str(file), "--label", "bought", "--learner", learner, *late]
    stage = ("aioli.store.checkpoints", "Checkpoints.keep", 3, True)
    times, block = in_full_or_quickly(5, 2 if learner == "AIOLI" else 1), 1 << (14 if rows == ROWS else 11)
    told = played(
        tmp_path, arguments=arguments, ending=".csv", seed=5, times=times, most=3, stages=[stage], block=block
    )
    assert told["differences"] == []
    assert told["identical"] == told["runs"] == times + 1
    assert told["staged"] == 1


def test_labels_of_a_second_file_survive_it_too(tmp_path: Path) -> None:
    rows, labels, cells = tmp_path / "rows.csv", tmp_path / "labels.csv", list(visits(ROWS))
    seen = [",".join([f"v{t}", str(t), *each[:-1]]) for t, each in enumerate(cells)]
    rows.write_text("\n".join(["visit,at," + ",".join(HEADER[:-1]), *seen]) + "\n")
    late = sorted((t + 7 * (t % 40), t) for t in range(ROWS) if t % 11)
    labels.write_text("\n".join(["visit,at,bought", *(f"v{t},{when},{cells[t][-1]}" for when, t in late)]) + "\n")
    arguments = [str(rows), "--labels", str(labels), "--key", "visit", "--time", "at", "--learner", "AIOLI"]
    times, stage = in_full_or_quickly(5, 2), ("aioli.store.checkpoints", "Checkpoints.keep", 5, True)
    told = played(tmp_path, arguments=arguments, ending=".csv", seed=5, times=times, most=3, stages=[stage])
    assert told["differences"] == []
    assert told["identical"] == told["runs"] == times + 1
    assert told["staged"] == 1


def test_tolerant_runs_with_weights_and_keys_survive_it_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    rows = [f"v{t},{1 + t % 3},{','.join(cells)}" for t, cells in enumerate(visits(ROWS))]
    rows = [row.rpartition(",")[0] + "," if t % 9 == 4 else row for t, row in enumerate(rows)]  # without a label
    rows = [
        row.replace(",1,", ",-1,", 1) if t % 50 == 0 else row[:4] if t % 70 == 1 else row for t, row in enumerate(rows)
    ]
    file.write_bytes("\n".join(["visit,w," + ",".join(HEADER), *rows, "the end", ""]).encode("utf-16"))
    options = ["--on-error", "skip", "--weight", "w", "--key", "visit", "--encoding", "utf-16", "--learner", "AIOLI"]
    arguments = [str(file), "--label", "bought", *options]
    times, stage = in_full_or_quickly(5, 1), ("aioli.store.checkpoints", "Checkpoints.keep", 5, True)
    told = played(tmp_path, arguments=arguments, ending=".csv", seed=3, times=times, most=3, stages=[stage])
    assert told["differences"] == []
    assert told["identical"] == told["runs"] == times + 1
    assert told["staged"] == 1


def played(folder: Path, **case: Any) -> dict[str, Any]:
    """What `killing.py` tells of a case."""
    (folder / "runs").mkdir()
    (folder / "case.json").write_text(json.dumps({"folder": str(folder / "runs"), **case}))
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    found = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killing.py")), str(folder / "case.json")],
        capture_output=True,
        text=True,
        env=alone,
        timeout=PATIENCE,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    told: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return told
