"""Runs on Spark's executors: learns, merges, announces and counts the rows of a shard, as tables of pandas.

Each is a function of its arguments alone, so that a task which is tried again gives the same bits. A row that is
refused comes home as data, and the driver raises it.
"""

import importlib
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from aioli.engines.shards import Taught, learn_shard, merge_shards
from aioli.engines.spark_frames import Frame, FrameColumns
from aioli.errors import RowRefused
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.states.mixture.survey import ColumnSurvey

__all__ = ["RANK", "ROUND", "SHARD", "TAUGHT", "announce", "count_columns", "learn_rows", "merge_group"]

SHARD, RANK, ROUND = "aioli_shard", "aioli_rank", "aioli_round"  # a row's shard, its place there, and its round
TAUGHT = "position int, rows long, home binary, refused binary"


def learn_rows(
    key: tuple[int], table: Frame, *, columns: FrameColumns, positions: dict[int, int], since: bytes
) -> Frame:
    """Let a copy of the learner learn a shard's rows of one round."""
    pd = importlib.import_module("pandas")
    told: dict[str, Any] = {"position": positions[int(key[0])], "rows": len(table), "home": None, "refused": None}
    rows = table.sort_values(RANK)
    try:
        told["home"] = _learn(rows, columns, since)[0]
    except RowRefused as error:
        told["refused"] = pickle.dumps(_placed(error, rows, columns))
    return pd.DataFrame([told])


def merge_group(key: tuple[int], table: Frame, *, since: bytes) -> Frame:
    """Merge the learners of a group of shards."""
    pd = importlib.import_module("pandas")
    refused = [one for one in table["refused"] if one is not None]
    homes = table.sort_values("position")["home"]
    home = None if refused else merge_shards([bytes(one) for one in homes], since)
    told = {"position": int(key[0]), "rows": table["rows"].sum(), "home": home, "refused": [*refused, None][0]}
    return pd.DataFrame([told])


def announce(_key: tuple[int], table: Frame, *, columns: FrameColumns, steps: Sequence[bytes]) -> Frame:
    """Learn a shard's rows round by round, each from what all were before it; return what was announced."""
    table = table.sort_values(RANK)
    said = [_learn(rows, columns, steps[number])[1] for number, rows in table.groupby(ROUND)]
    return table[[columns.order]].assign(probability=np.concatenate(said))


def count_columns(key: tuple[int], table: Frame, *, columns: FrameColumns, begun: bytes, first: set[object]) -> Frame:
    """Count the rows of a shard, but for the first ones of all."""
    pd = importlib.import_module("pandas")
    survey = ColumnSurvey.restore(from_bytes(begun))
    rows = table[~table[columns.order].isin(first)].sort_values(RANK)
    told: dict[str, Any] = {SHARD: int(key[0]), "home": None, "refused": None}
    try:
        if len(rows):
            survey.count(rows[list(columns.features)].to_numpy(np.float64, na_value=np.nan))
        told["home"] = to_bytes(survey.snapshot())
    except RowRefused as error:
        told["refused"] = pickle.dumps(_placed(error, rows, columns))
    return pd.DataFrame([told])


def _learn(rows: Frame, columns: FrameColumns, since: bytes) -> Taught:
    """Let a copy of the learner learn rows; it knows the columns by their names then."""
    return learn_shard(since, (rows[list(columns.features)], rows[columns.label].to_numpy()))


def _placed(error: RowRefused, rows: Frame, columns: FrameColumns) -> RowRefused:
    """Return a refusal that names the row by its value of the order, and the column by its name."""
    column = columns.features[error.column] if isinstance(error.column, int) else error.column
    place = None if error.row is None else f"the row whose {columns.order} is {rows[columns.order].iloc[error.row]}"
    kind = type(error)
    return kind(error.problem, row=error.row, column=column, value=error.value, remedy=error.remedy, place=place)
