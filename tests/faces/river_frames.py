"""Rows as the dictionaries and the frames that River takes."""

import importlib
from typing import Any

from face_streams import columns_of

from aioli.numerics.compiling import Matrix

__all__ = ["FRAMES", "as_frame", "dictionaries", "pandas", "polars"]

pandas: Any = importlib.import_module("pandas")
polars: Any = importlib.import_module("polars")
pyarrow: Any = importlib.import_module("pyarrow")

FRAMES: dict[str, tuple[Any, Any]] = {
    "pandas": (pandas.DataFrame, pandas.Series),
    "polars": (polars.DataFrame, polars.Series),
    "pyarrow": (pyarrow.table, lambda values: pyarrow.chunked_array([values])),
}


def dictionaries(X: Matrix) -> list[dict[str, float]]:
    return [dict(zip(columns_of(X), row, strict=True)) for row in X.tolist()]


def as_frame(kind: str, X: Matrix) -> Any:
    return FRAMES[kind][0](dict(zip(columns_of(X), X.T.copy(), strict=True)))
