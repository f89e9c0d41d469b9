"""Files for the command to play: numbers, dates, missing values, and categories that come late."""

import csv
import gzip
import importlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

HEADER = ["x", "size", "colour", "day", "bought"]


def visits(rows: int, seed: int = 0) -> Iterator[list[str]]:
    """Rows as texts, the label last. Half of the colours come only in the second half."""
    rng = np.random.default_rng(seed)
    for t in range(rows):
        x, size = rng.normal(size=2)
        colour = f"light {rng.integers(3)}" if 2 * t < rows else f"dark {rng.integers(6)}"
        day = f"20{rng.integers(10, 25)}-0{rng.integers(1, 10)}-1{rng.integers(10)}"
        bought = x + 0.5 * size + (colour in ("light 0", "dark 1")) + rng.logistic() > 0.0
        missing = rng.random() < 0.1
        yield [f"{x:.6f}", "" if missing else f"{size:.3f}", colour, day, "yes" if bought else "no"]


def write_visits(path: Path, rows: int, seed: int = 0, header: list[str] | None = None) -> Path:
    """A file of visits, as its name says: CSV, gzip or Parquet."""
    if path.suffix == ".parquet":
        arrow: Any = importlib.import_module("pyarrow")
        columns = zip(*visits(rows, seed), strict=True)
        named = dict(zip(HEADER, map(list, columns), strict=True))
        numbers = {name: [float(v) if v else None for v in named[name]] for name in ("x", "size")}
        days = {"day": [date.fromisoformat(day) for day in named["day"]]}
        importlib.import_module("pyarrow.parquet").write_table(arrow.table({**named, **numbers, **days}), path)
        return path
    text = [HEADER if header is None else header, *visits(rows, seed)]
    if path.suffix == ".gz":
        with gzip.open(path, "wt", newline="", encoding="utf-8") as packed:
            csv.writer(packed).writerows(text)
    else:
        with path.open("w", newline="", encoding="utf-8") as plain:
            csv.writer(plain).writerows(text)
    return path
