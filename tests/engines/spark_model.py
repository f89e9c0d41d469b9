"""Learns one model over a frame of Spark's while an executor is killed, and writes down what came of it.

Two executors are processes of their own here, so that one can be lost.
"""

import importlib
import json
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from aioli import AIOLI, Auto
from aioli.engines import spark_model
from aioli.engines.shards import Part, learn_in_shards, merge_shards
from aioli.engines.spark_frames import Frame, Session, predict_frame
from aioli.engines.spark_model import FrameColumns, learn_frame, survey_frame
from aioli.errors import AioliError
from aioli.snapshots.codec import to_bytes
from aioli.states.mixture.survey import ColumnSurvey

COLUMNS = FrameColumns(order="seq", label="y", features=["a", "b", "c"])
ROWS, SHARDS, SCHEDULE = 600, 17, [8, 20]  # more shards than one merge takes in: there is a tree of merges
KILLED_AFTER = 1  # merge of three


def session(folder: Path) -> Session:
    """A cluster of two executors on this machine."""
    builder = importlib.import_module("pyspark.sql").SparkSession.builder
    builder = builder.master("local-cluster[2,1,1024]").appName("aioli").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.warehouse.dir", str(folder / "w"))
    return builder.config("spark.executor.memory", "1g").getOrCreate()


def executors(spark: Session) -> list[int]:
    """The processes of the executors: children of the driver's Java machine."""
    found: list[int] = []
    for task in Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/task").iterdir():
        with suppress(FileNotFoundError):  # threads and processes end while one looks
            pids = (task / "children").read_text().split()
            found += [int(pid) for pid in pids if b"ExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found


def kill_an_executor(spark: Session) -> list[int]:
    """Kill an executor at one of the merges to come; return a list of who was killed by then."""
    merges, killed = [0], list[int]()

    def merge_and_kill(homes: list[bytes], since: bytes) -> bytes:
        merges[0] += 1
        if merges[0] == KILLED_AFTER:
            killed.append(executors(spark)[0])
            os.kill(killed[0], signal.SIGKILL)
        return merge_shards(homes, since)

    mock.patch.object(spark_model, "merge_shards", merge_and_kill).start()  # the driver's: executors have their own
    return killed


def parts_of(rows: Frame, shards: int) -> list[Part]:
    """The shards of a frame in this process."""
    table = rows.selectExpr("*", f"pmod(hash(seq), {shards}) AS shard").toPandas().sort_values("seq")
    groups = [table[table["shard"] == shard] for shard in range(shards)]
    return [(group[list(COLUMNS.features)], group["y"].to_numpy()) for group in groups]


def refusal(rows: Frame) -> str:
    """What a frame is refused with."""
    try:
        learn_frame(rows, COLUMNS, shards=1, schedule=[])
    except AioliError as error:
        return str(error)
    return "nothing was refused"


def failure(rows: Frame, learner: AIOLI) -> list[str]:
    """What is told where a task fails however often it is tried."""

    def fail(tables: Any) -> Any:
        for table in tables:
            if (table["seq"] == 77).any():
                raise OSError("the disk is gone")
            yield table

    try:
        learn_frame(rows.mapInPandas(fail, rows.schema), COLUMNS, learner, shards=1)
    except Exception as error:
        return [str("the disk is gone" in str(error)), *error.__notes__, repr(learner)]
    return ["nothing failed"]


def resumed(rows: Frame, folder: Path) -> dict[str, Any]:
    """What comes of a game whose driver is lost between two rounds, and which is called again with its checkpoint."""
    learner, schedule, merges = AIOLI(radius=2.0), [40, 120], [0]
    learn = partial(learn_frame, rows, COLUMNS, learner, 2, schedule, checkpoint=folder / "rounds")

    def merge_and_fail(homes: list[bytes], since: bytes) -> bytes:
        merges[0] += 1
        if merges[0] == 2:
            raise OSError("the driver is gone")
        return merge_shards(homes, since)

    with mock.patch.object(spark_model, "merge_shards", merge_and_fail):
        try:
            learn()
        except OSError as error:
            note = error.__notes__[0]
        run = learn()
    expected = learn_in_shards(learner, parts_of(rows, 2), schedule).learner
    assert isinstance(run.learner, AIOLI)
    assert isinstance(expected, AIOLI)
    same = to_bytes(run.learner.snapshot()) == to_bytes(expected.snapshot())
    return {"note": note, "merges": [run.merges, merges[0]], "same": same}


def play(folder: Path) -> dict[str, Any]:
    """Everything that the tests look at."""
    spark = session(folder)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3))
    y = np.where(X[:, 0] - X[:, 1] + rng.logistic(size=ROWS) > 0, 1, 0)
    cells = [(int(t), int(y[t]), *map(float, X[t])) for t in rng.permutation(ROWS)]
    rows = spark.createDataFrame(cells, "seq long, y int, a double, b double, c double").repartition(3)
    told: dict[str, Any] = {}

    expected = learn_in_shards(AIOLI(radius=2.0), parts_of(rows, SHARDS), SCHEDULE)
    killed = kill_an_executor(spark)
    run = learn_frame(rows, COLUMNS, AIOLI(radius=2.0), SHARDS, SCHEDULE)
    told["killed"] = killed
    told["rounds"], told["merges"] = run.learner.rounds, [run.merges, expected.merges]
    assert isinstance(run.learner, AIOLI)
    assert isinstance(expected.learner, AIOLI)
    told["same learner"] = to_bytes(run.learner.snapshot()) == to_bytes(expected.learner.snapshot())
    run.learner.save(folder / "model.aioli")
    announced = (
        run.announced.selectExpr("*", f"pmod(hash(seq), {SHARDS}) AS shard").toPandas().sort_values(["shard", "seq"])
    )
    told["same announced"] = bool(np.array_equal(announced["probability"], np.concatenate(expected.announced)))

    wider = rows.selectExpr("*", "CASE WHEN seq = 5 THEN NULL ELSE a END AS a2").drop("a").withColumnRenamed("a2", "a")
    said = predict_frame(wider, run.learner).toPandas().sort_values("seq")
    told["null where a feature is missing"] = np.flatnonzero(said["probability"].isna()).tolist()
    whole = np.arange(ROWS) != 5
    gap = np.abs(said["probability"][whole] - run.learner.predict_many(X[whole])).max()
    told["predictions differ by"] = float(gap)

    survey = survey_frame(rows, COLUMNS, shards=2)
    again = ColumnSurvey(X[:3])
    for table, _ in parts_of(rows.where("seq > 2"), 2):
        again.merge(ColumnSurvey(X[:3]).count(np.asarray(table)))
    one, other = (Auto(budget="fast").fix_columns(each) for each in (survey, again))
    auto = learn_frame(rows, COLUMNS, one, shards=2, schedule=[50]).learner
    beside = learn_in_shards(other, parts_of(rows, 2), schedule=[50]).learner
    assert isinstance(auto, Auto)
    assert isinstance(beside, Auto)
    told["same Auto"] = to_bytes(auto.snapshot()) == to_bytes(beside.snapshot())

    bad = {
        "repeated": rows.union(rows.where("seq = 9")),
        "no label": rows.selectExpr("seq", "nullif(seq, 11) * 0 AS y", "a", "b", "c"),
        "infinite": rows.selectExpr("seq", "y", "a", "CASE WHEN seq = 8 THEN double('inf') ELSE b END AS b", "c"),
        "text": rows.selectExpr("seq", "y", "a", "b", "cast(c AS string) AS c"),
        "no column": rows.drop("c"),
        "no order": rows.selectExpr("nullif(seq, 3) AS seq", "y", "a", "b", "c"),
    }
    told["refused"] = {name: refusal(frame) for name, frame in bad.items()}
    told["failure"] = failure(rows, AIOLI())
    told["resumed"] = resumed(rows, folder)
    spark.stop()
    return told


if __name__ == "__main__":
    (Path(sys.argv[1]) / "told.json").write_text(json.dumps(play(Path(sys.argv[1]))))
