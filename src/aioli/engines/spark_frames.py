"""Reads the columns of Spark's frames for the engines, and adds a learner's predictions as one more.

Needs PySpark 4 (`pip install 'aioli-online[spark]'`) and a Java runtime, 17 or newer.
"""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from aioli.errors import ParameterRefused
from aioli.learners.protocol import Learner, names_columns
from aioli.learners.registry import restore_learner, snapshot_part
from aioli.snapshots.codec import from_bytes, to_bytes

__all__ = ["Frame", "FrameColumns", "Session", "predict_frame", "require_columns", "require_numbers"]

Frame: TypeAlias = Any  # of pandas or of PySpark, neither of which has types that agree with mypy's strictness
Session: TypeAlias = Any
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "decimal")


@dataclass(frozen=True)
class FrameColumns:
    """Which columns of a frame say what.

    Attributes
    ----------
    order
        What tells every row from the others, and in which order a shard learns its rows: a number, a time, a text.
    label
        0 or 1, or a boolean.
    features
        The columns that are learned from.
    """

    order: str
    label: str
    features: Sequence[str]


def require_columns(rows: Frame, names: Iterable[str]) -> None:
    """Refuse a frame that lacks one of the columns."""
    for name in names:
        if name not in rows.columns:
            message = f"there is no column {name!r}; there are {', '.join(rows.columns)}"
            raise ParameterRefused(message, parameter="columns", value=name)


def require_numbers(rows: Frame, names: Iterable[str]) -> None:
    """Refuse a frame that lacks one of the columns, or where one holds no numbers."""
    wanted = list(names)
    require_columns(rows, wanted)
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    for name in wanted:
        if not kinds[name].startswith(NUMBERS):
            message = f"column {name!r} holds {kinds[name]}, no numbers; cast it, or leave it out"
            raise ParameterRefused(message, parameter="columns", value=name)


def predict_frame(
    rows: Frame, learner: Learner, features: Sequence[str] | None = None, name: str = "probability"
) -> Frame:
    """Return the frame with one column more: the probability of each row; null where a feature is missing.

    Parameters
    ----------
    rows
        A DataFrame of PySpark, streaming or not.
    learner
        Any learner that has snapshots.
    features
        The columns that it was taught on, in that order; None for those whose names it knows.
    name
        The name of the new column.
    """
    known = learner.feature_names_ if names_columns(learner) else None
    wanted = list(features) if features is not None else known
    if wanted is None:
        raise ParameterRefused.unlike("features", None, "the columns that the learner was taught on: it knows no names")
    require_numbers(rows, wanted)
    functions = importlib.import_module("pyspark.sql.functions")
    pd = importlib.import_module("pandas")
    data = to_bytes(snapshot_part(learner))

    def predict(tables: Any) -> Iterator[Any]:
        mine = restore_learner(from_bytes(data))
        for table in tables:
            X = table.to_numpy(np.float64, na_value=np.nan)
            whole = np.isfinite(X).all(axis=1)
            p = np.full(len(X), np.nan)
            p[whole] = mine.predict_many(X[whole])
            yield pd.Series(p)  # Spark takes NaN of pandas for null

    many: Any = Iterator  # PySpark chooses the kind of function by these types, which mypy does not know
    predict.__annotations__ = {"tables": many[pd.DataFrame], "return": many[pd.Series]}
    said = functions.pandas_udf(predict, "double")
    cells = [functions.col(f"`{column}`").cast("double").alias(column) for column in wanted]
    return rows.withColumn(name, said(functions.struct(*cells)))
