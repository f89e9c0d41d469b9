"""Runs a fleet over a stream of Spark: keyed state, checkpoints and an exactly-once sink are Spark's.

Keys are spread over shards, `pmod(hash(key), S)`, and a shard's fleet is one state value: a snapshot as bytes, kept in
Spark's state store. One state a key would cost Spark a call a key; a shard is played by the fleet's own loop. What a
key learns does not depend on the shards, so the result is bit for bit that of one process, also after executors were
killed.

Needs PySpark 4 (`pip install 'aioli-online[spark]'`) and a Java runtime, 17 or newer. See docs/fleet.md.
"""

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aioli.engines.spark_frames import Frame, Session, require_columns
from aioli.errors import FileRefused, ParameterRefused
from aioli.fleet.fleet import Fleet
from aioli.learners.aioli import AIOLI
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.snapshots.tree import Snapshot

__all__ = ["STATE_STORE", "FleetColumns", "fleet_of_checkpoint", "learn_fleet_stream"]

STATE_STORE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
SHARD = "aioli_shard"
LARGEST_SHARD = 50 * 2**20  # bytes of a state value, beyond which every micro-batch would move too much


@dataclass(frozen=True)
class FleetColumns:
    """Which columns of a frame say what.

    Attributes
    ----------
    key
        Which model a row is of: strings or whole numbers.
    order
        A number that grows along the stream: rows of a micro-batch are learned in its order.
    label
        0 or 1, or a boolean; null where a row is to be predicted only.
    features
        The columns that are learned from.
    """

    key: str
    order: str
    label: str
    features: Sequence[str]


def learn_fleet_stream(rows: Frame, columns: FleetColumns, learner: AIOLI | None = None, shards: int = 8) -> Frame:
    """Return a streaming frame of key, order and `probability`, announced before each row's label was learned.

    Write it with `writeStream`, a `checkpointLocation` and a sink that Spark writes exactly once, such as Parquet
    files; killed and started again with the same checkpoint, it goes on bit for bit the same. The session should keep
    state in RocksDB (`STATE_STORE`).
    """
    functions = importlib.import_module("pyspark.sql.functions")
    if shards < 1:
        raise ParameterRefused.unlike("shards", shards, "a whole number of at least 1")
    require_columns(rows, (columns.key, columns.order, columns.label, *columns.features))
    empty = Fleet(AIOLI() if learner is None else learner).snapshot()
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    out = f"`{columns.key}` {kinds[columns.key]}, `{columns.order}` {kinds[columns.order]}, probability double"
    shard = functions.expr(f"pmod(hash(`{columns.key}`), {shards})")
    wanted = [SHARD, columns.key, columns.order, columns.label, *columns.features]
    return (
        rows.withColumn(SHARD, shard)
        .select(*wanted)
        .groupBy(SHARD)
        .applyInPandasWithState(
            partial(_learn_shard, columns=columns, empty=to_bytes(empty)),
            outputStructType=out,
            stateStructType="fleet binary",
            outputMode="append",
            timeoutConf="NoTimeout",
        )
    )


def _learn_shard(
    key: tuple[int], tables: Iterator[Frame], state: Any, *, columns: FleetColumns, empty: bytes
) -> Iterator[Frame]:
    """Learn a micro-batch of one shard in the order of its rows; yield what was announced."""
    pd = importlib.import_module("pandas")
    table = pd.concat(list(tables)).sort_values(columns.order, kind="stable")
    fleet = Fleet.restore(from_bytes(bytes(state.get[0]) if state.exists else empty))
    probabilities = learn_table(fleet, table, columns)
    data = to_bytes(fleet.snapshot())
    if len(data) > LARGEST_SHARD:
        raise ParameterRefused(
            f"shard {key[0]} holds {len(fleet)} keys in {len(data) >> 20} MiB, more than a state value should; start "
            "with more shards and a fresh checkpoint (nothing of this micro-batch was kept)",
            parameter="shards",
            value=key[0],
        )
    state.update((data,))
    yield table[[columns.key, columns.order]].assign(probability=probabilities)


def learn_table(fleet: Fleet, table: Frame, columns: FleetColumns) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Learn the rows of a table in their order, by runs with and without labels; return what was announced."""
    keys = table[columns.key].to_numpy()
    X = table[list(columns.features)].to_numpy(np.float64)
    y = table[columns.label].to_numpy(np.float64, na_value=math.nan)
    known = ~np.isnan(y)
    p = np.empty(len(y))
    ends = [*np.flatnonzero(known[1:] != known[:-1]) + 1, len(y)]
    begin = 0
    for end in ends:
        part = slice(begin, end)
        learn: Callable[..., Any] = fleet.learn_many if known[begin] else fleet.predict_many
        p[part] = learn(keys[part], X[part], y[part]) if known[begin] else learn(keys[part], X[part])
        begin = end
    return p


def fleet_of_checkpoint(session: Session, checkpoint: str) -> Fleet:
    """Return the fleet of a stream's checkpoint, all shards as one: what its `save` writes, every door reads."""
    states = session.read.format("statestore").load(checkpoint).select("value.*").collect()
    whole: Fleet | None = None
    for row in states:
        fleet = Fleet.restore(_state_snapshot(row))
        whole = fleet if whole is None else whole.merge(fleet)
    if whole is None:
        raise FileRefused(f"{checkpoint}: holds no state of a fleet; let the stream learn a row first", path=checkpoint)
    return whole


def _state_snapshot(row: Any) -> Snapshot:
    """Return the snapshot in a row of the state store, wherever in it Spark has put the bytes."""
    for value in row:
        if isinstance(value, (bytes, bytearray)):
            return from_bytes(bytes(value))
        if value is not None and isinstance(value, tuple):
            return _state_snapshot(value)
    raise FileRefused("the checkpoint holds state that is not a fleet's; give that of learn_fleet_stream")
