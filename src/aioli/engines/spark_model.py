"""Learns one model over a DataFrame of Spark: copies of it learn shards of the rows, and become one by a schedule.

A round takes the learner out to the executors, where each shard's copy learns its next rows; what the copies have
become is merged by a tree, there too, and the next round goes on from it. Which shard a row is in depends on the row
alone (`pmod(hash(order), shards)`), its place there on the column of the order. So a round is a function of the rows
and of the learner before it: what is lost with an executor is computed again by Spark, to the same bits, and the result
is bit for bit that of `engines.shards.learn_in_shards` in one process. See docs/shards.md.

Needs PySpark 4 (`pip install 'aioli-online[spark]'`) and a Java runtime, 17 or newer.
"""

import importlib
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aioli.engines.frame_rounds import KeptRounds
from aioli.engines.shards import (
    FAN_IN,
    as_schedule,
    geometric_schedule,
    merge_shards,
    require_shards,
)
from aioli.engines.spark_frames import Frame, FrameColumns, require_columns, require_numbers
from aioli.engines.spark_tasks import RANK, ROUND, SHARD, TAUGHT, announce, count_columns, learn_rows, merge_group
from aioli.errors import ParameterRefused, RowRefused
from aioli.learners.aioli import AIOLI
from aioli.learners.protocol import Learner
from aioli.learners.registry import restore_learner
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.states.mixture.survey import ColumnSurvey

__all__ = ["FrameColumns", "FrameRun", "learn_frame", "survey_frame"]

LONGEST = 2**31 - 1  # rows of a shard, as Spark numbers them
DRAWS = 64  # candidates a partition for the number that its shard goes by: one is missed once in e⁶⁴ times


@dataclass(frozen=True)
class FrameRun:
    """What came of a frame: the learner of all its rows.

    Attributes
    ----------
    learner
        The learner that all shards became: save it, and every other door reads the file.
    merges
        How often all became one.
    announced
        A frame of the order and the `probability` that was announced before each row's label. It is computed when it is
        read, by learning once more.
    """

    learner: Learner
    merges: int
    announced: Frame = field(repr=False)


def learn_frame(
    rows: Frame,
    columns: FrameColumns,
    learner: Learner | None = None,
    shards: int = 8,
    schedule: Sequence[int] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> FrameRun:
    """Let copies of a learner learn a frame's rows side by side, merged by a schedule; the learner stays as it was.

    A task or an executor that is lost is computed again, as often as Spark is told to (`spark.task.maxFailures`): no
    row is lost or counted twice. Where Spark gives up, its error says in a note how many rounds were done.

    Parameters
    ----------
    rows
        A DataFrame of PySpark, which must hold the same rows whenever it is read.
    columns
        Which of its columns say what.
    learner
        Whom all go on from: `AIOLI()` by default; `Auto(budget="fast")` on fixed columns (`survey_frame`).
    shards
        How many copies learn side by side. The result depends on it, and not on the cluster.
    schedule
        After how many rows of a shard all become one; see `engines.shards.geometric_schedule`.
    checkpoint
        A folder of the driver's that receives the merged learner after every round. Called again with it after the
        driver was killed, the game goes on behind the last finished round, bit for bit. None writes no files.
    """
    since = to_bytes(require_shards(AIOLI() if learner is None else learner).snapshot())
    ends = geometric_schedule(LONGEST) if schedule is None else as_schedule(schedule)
    spread, numbers = _in_shards(rows, columns, shards, ends)
    spread.persist()
    rounds: KeptRounds | None = None
    try:
        counts = _counts(spread, columns, numbers)
        rounds = KeptRounds(checkpoint, since, columns, ends, counts)
        for number, start in enumerate([0, *ends]):
            end = ends[number] if number < len(ends) else LONGEST
            waiting = {shard: min(end, count) - start for shard, count in counts.items() if count > start}
            if not waiting:
                break
            if number + 1 == len(rounds.snapshots):
                rounds.add(_round(spread, columns, number, waiting, rounds.snapshots[number]))
    except Exception as error:
        done = 0 if rounds is None else len(rounds.snapshots) - 1
        kept = "call again" if checkpoint is None else "call again with the same checkpoint to go on from there"
        error.add_note(f"{done} rounds of the frame were done; the learner given is as it was: {kept}")
        raise
    finally:
        spread.unpersist()
    *steps, last = rounds.snapshots
    kind = dict(rows.dtypes)[columns.order]
    announced = f"`{columns.order}` {kind}, probability double"
    said = _by_group(spread.groupBy(SHARD), announce, announced, columns=columns, steps=steps)
    return FrameRun(restore_learner(from_bytes(last)), len(steps), said)


def survey_frame(rows: Frame, columns: FrameColumns, shards: int = 8) -> ColumnSurvey:
    """Return a survey of a frame's columns, counted side by side, for `Auto(budget="fast").fix_columns(…)`."""
    spread, numbers = _in_shards(rows, columns, shards, [])
    first = spread.orderBy(columns.order).limit(3).toPandas()
    if len(first) < 3:
        raise ParameterRefused.unlike("rows", f"a frame of {len(first)} rows", "of 3 rows or more")
    begun = ColumnSurvey(first[list(columns.features)].to_numpy(np.float64, na_value=np.nan))
    bound = {"columns": columns, "begun": to_bytes(begun.snapshot()), "first": set(first[columns.order])}
    surveyed = f"{SHARD} long, home binary, refused binary"
    counted = _by_group(spread.groupBy(SHARD), count_columns, surveyed, **bound)
    homes = {row[SHARD]: row for row in counted.collect()}
    for shard in numbers:
        if shard in homes:
            _raise_refused(homes[shard].refused)
            begun.merge(ColumnSurvey.restore(from_bytes(bytes(homes[shard].home))))
    return begun


# ---- at the driver


def _in_shards(rows: Frame, columns: FrameColumns, shards: int, ends: Sequence[int]) -> tuple[Frame, list[int]]:
    """Return the frame by shards, each row with its rank there and its round; and the shards' numbers, in order.

    A shard's number is one that Spark's hash puts on a partition of its own, so that no partition has two shards.
    """
    functions = importlib.import_module("pyspark.sql.functions")
    if shards < 1:
        raise ParameterRefused.unlike("shards", shards, "a whole number of at least 1")
    require_columns(rows, [columns.order])
    require_numbers(rows, [columns.label, *columns.features])
    ids = rows.sparkSession.range(DRAWS * shards)
    hashed = ids.selectExpr("id", f"pmod(hash(id), {shards}) AS at").groupBy("at").min("id").collect()
    numbers = [int(number) for _, number in sorted(tuple(row) for row in hashed)]
    of_row = f"element_at(array({', '.join(f'{n}L' for n in numbers)}), pmod(hash(`{columns.order}`), {shards}) + 1)"
    rank = f"row_number() OVER (PARTITION BY {SHARD} ORDER BY `{columns.order}`)"
    number = f"size(filter(array({', '.join(map(str, ends))}), end -> end < {RANK}))" if ends else "0"
    cells = [functions.col(f"`{name}`").cast("double").alias(name) for name in (columns.label, *columns.features)]
    spread = (
        rows.select(functions.expr(of_row).alias(SHARD), functions.col(f"`{columns.order}`"), *cells)
        .repartition(shards, SHARD)
        .withColumn(RANK, functions.expr(rank))
        .withColumn(ROUND, functions.expr(number))
    )
    return spread, numbers


def _counts(spread: Frame, columns: FrameColumns, numbers: Sequence[int]) -> dict[int, int]:
    """Return how many rows each shard has, in order of the shards; refuse rows that the order does not tell apart."""
    functions = importlib.import_module("pyspark.sql.functions")
    order = f"`{columns.order}`"
    before = f"lag({order}) OVER (PARTITION BY {SHARD} ORDER BY {RANK})"
    found = (
        spread.select(SHARD, order, functions.expr(f"{RANK} > 1 AND {order} <=> {before}").alias("again"))
        .groupBy(SHARD)
        .agg(
            functions.expr("count(*)").alias("rows"),
            functions.expr(f"count_if({order} IS NULL)").alias("missing"),
            functions.expr(f"min(CASE WHEN again THEN {order} END)").alias("repeated"),
        )
        .collect()
    )
    if any(row.missing for row in found):
        remedy = "leave such rows out, or give a column that tells every row from the others"
        raise RowRefused("is missing", column=columns.order, remedy=remedy, place="a row of the frame")
    repeated = [row.repeated for row in found if row.repeated is not None]
    if repeated:
        value = min(repeated)
        remedy = "drop repeated rows, or give a column that tells every row from the others"
        place = f"the row whose {columns.order} is {value}"
        raise RowRefused("comes twice", column=columns.order, value=value, remedy=remedy, place=place)
    counts = {row[SHARD]: row.rows for row in found}
    return {shard: counts[shard] for shard in numbers if shard in counts}


def _round(spread: Frame, columns: FrameColumns, number: int, waiting: dict[int, int], since: bytes) -> bytes:
    """Let shards learn their next rows on the executors, merge them by a tree, and return the snapshot of all."""
    functions = importlib.import_module("pyspark.sql.functions")
    positions = {shard: position for position, shard in enumerate(waiting)}
    bound = {"columns": columns, "positions": positions, "since": since}
    taught = _by_group(spread.where(f"{ROUND} = {number}").groupBy(SHARD), learn_rows, TAUGHT, **bound)
    left = len(waiting)
    while left > FAN_IN:
        group = functions.expr(f"position div {FAN_IN}").alias("group")
        taught = _by_group(taught.groupBy(group), merge_group, TAUGHT, since=since)
        left = -(-left // FAN_IN)
    home = sorted(taught.collect(), key=lambda row: row.position)
    for row in home:
        _raise_refused(row.refused)
    if sum(row.rows for row in home) != sum(waiting.values()):
        came = sum(row.rows for row in home)
        message = f"{came} rows came where {sum(waiting.values())} were counted; write the frame to files first"
        raise ParameterRefused(message, parameter="rows", value=came)
    return merge_shards([bytes(row.home) for row in home], since)


def _by_group(grouped: Any, function: Callable[..., Frame], schema: str, **bound: object) -> Frame:
    """Return the frame of what a function makes of each group; Spark broadcasts what is bound to it where it is large.

    A lambda, because PySpark warns of the types of any other function that has arguments bound.
    """
    return grouped.applyInPandas(lambda key, table: function(key, table, **bound), schema)


def _raise_refused(refused: Any) -> None:
    if refused is not None:
        raise pickle.loads(bytes(refused))
