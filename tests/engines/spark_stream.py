"""Plays a folder of rows as a stream of Spark's, to the end of what is there: for a test to kill and to start again.

`python spark_stream.py FOLDER FILES` plays the files of such names alone, and then waits to be killed. A session that
has come to the end also runs what the pages show: Java takes longer to start than these do to run.
"""

import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import spark_pages

from aioli import AIOLI
from aioli.engines.spark import STATE_STORE, FleetColumns, fleet_of_checkpoint, learn_fleet_stream

Session = Any  # of PySpark
COLUMNS = FleetColumns(key="user", order="seq", label="y", features=["a", "b", "c"])
SCHEMA = "user string, seq long, y double, a double, b double, c double"


def session(folder: Path) -> Session:
    """A local session that keeps everything below the folder."""
    builder = importlib.import_module("pyspark.sql").SparkSession.builder
    builder = builder.master("local[1]").appName("aioli").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1").config("spark.sql.warehouse.dir", str(folder / "w"))
    for name, value in STATE_STORE.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def play(spark: Session, folder: Path, files: str) -> None:
    """Learn all files of such names in their order, one a micro-batch."""
    reading = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).option("pathGlobFilter", files)
    rows = reading.json(str(folder / "rows"))
    said = learn_fleet_stream(rows, COLUMNS, AIOLI(radius=2.0), shards=2)
    query = (
        said.writeStream.format("parquet")
        .option("path", str(folder / "said"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def save(spark: Session, folder: Path) -> None:
    """Save the fleet, and what was announced."""
    fleet_of_checkpoint(spark, str(folder / "checkpoint")).save(folder / "fleet.aioli")
    spark.read.parquet(str(folder / "said")).toPandas().to_json(
        folder / "said.json", orient="records", double_precision=15
    )


if __name__ == "__main__":
    here = Path(sys.argv[1])
    pages = here / "pages"
    pages.mkdir(exist_ok=True)
    os.chdir(pages)  # before Java starts, which keeps the folder that it was started in
    started = session(here)
    play(started, here, *sys.argv[2:] or ["*"])
    while len(sys.argv) > 2:
        time.sleep(1.0)
    save(started, here)
    spark_pages.play(started, pages)
    started.stop()
