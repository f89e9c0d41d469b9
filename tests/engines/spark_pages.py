"""Runs what docs/fleet.md and docs/shards.md show of Spark, in the folder that Java was started in."""

from pathlib import Path

import numpy as np
from code_blocks import blocks_for

from aioli import AIOLI, Auto
from aioli.engines.spark_frames import Session

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = "user string, seq long, clicked double, a double, b double, c double"
ROWS = 200


def shown(page: str) -> list[str]:
    """The blocks of a page that use Spark, with as few shards as one core needs."""
    blocks = blocks_for("tests/engines/spark_pages.py", DOCS / page)
    return [block.text.replace("shards=64", "shards=2") for block in blocks]


def play(spark: Session, folder: Path) -> None:
    """Run all blocks, those of a page one after another."""
    rng = np.random.default_rng(0)
    cells = [(f"u{t % 7}", t, float(t % 3 > 0), *rng.normal(size=3).tolist()) for t in range(ROWS)]
    table = spark.createDataFrame(cells, SCHEMA)
    table.write.json(str(folder / "rows"))
    stream = spark.readStream.schema(SCHEMA).json(str(folder / "rows"))
    for page, rows in (("fleet.md", stream), ("shards.md", table)):
        names = {"spark": spark, "rows": rows, "AIOLI": AIOLI, "Auto": Auto}
        for block in shown(page):
            exec(compile(block, page, "exec"), names)
