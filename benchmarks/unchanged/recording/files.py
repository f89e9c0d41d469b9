"""Files for the command: CSV with all kinds of columns, JSON lines, svmlight, Vowpal Wabbit's text, Parquet."""

import csv
import gzip
import importlib
import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.unchanged.recording import streams

__all__ = ["write_files"]

NAMES = ("x", "size", "colour", "day", "note", "bought")
WORDS = ("small", "old", "red", "never used", "as new", "with box", "without box", "heavy")


def write_files(folder: Path) -> None:
    """Write all files into the folder."""
    rows = visits(1600, seed=70)
    _write_csv(folder / "visits.csv", rows)
    _write_csv(folder / "later.csv", visits(500, seed=71))
    with gzip.open(folder / "visits.csv.gz", "wt", newline="", encoding="utf-8") as packed:
        csv.writer(packed, lineterminator="\n").writerows([NAMES, *(_texts(row) for row in rows)])
    parts = folder / "parts"
    parts.mkdir()
    _write_csv(parts / "1.csv", rows[:700])
    _write_csv(parts / "2.csv", rows[700:])
    with (folder / "visits.jsonl").open("w", encoding="utf-8") as lines:
        for row in rows:
            told = {**row, "day": str(row["day"])}
            lines.write(json.dumps({name: value for name, value in told.items() if value is not None}) + "\n")
    _write_numbers(folder / "numbers.csv", 24_000)
    for ending, write in ((".svm", _write_svmlight), (".vw", _write_vowpal)):
        write(folder / f"words{ending}", *streams.words(900, 3000, 12, seed=73))
        write(folder / f"narrow{ending}", *streams.words(900, 25, 6, seed=74))
    _write_parquet(folder / "visits.parquet", rows)


def visits(count: int, seed: int) -> list[dict[str, Any]]:
    """Numbers, some missing; colours of which half come late; days; notes of a few words; and a label."""
    rng = np.random.default_rng(seed)
    rows = []
    for t in range(count):
        x, size = rng.normal(), 10.0 * rng.normal() + 50.0
        colour = f"light {rng.integers(3)}" if 2 * t < count else f"dark {rng.integers(6)}"
        day = date(2020, 1, 1) + timedelta(days=int(rng.integers(0, 1500)))
        note = " ".join(rng.choice(WORDS, size=rng.integers(1, 4)))
        score = x + 0.05 * (size - 50.0) + (colour in ("light 0", "dark 1")) + ("red" in note) - 0.5
        bought = bool(score + 0.5 * (day.weekday() >= 5) + rng.logistic() > 0.0)
        values = (round(float(x), 6), round(float(size), 3), colour, day, note, "yes" if bought else "no")
        row = dict(zip(NAMES, values, strict=True))
        if rng.random() < 0.1:
            row["size"] = None
        if rng.random() < 0.03:
            row["colour"] = None
        rows.append(row)
    return rows


def _texts(row: dict[str, Any]) -> list[str]:
    return ["" if row[name] is None else str(row[name]) for name in NAMES]


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([NAMES, *(_texts(row) for row in rows)])


def _write_numbers(path: Path, count: int) -> None:
    """Several megabytes, so that the command reads it in several tables."""
    X, y = streams.dense(count, 12, seed=72)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(f"x{j}" for j in range(12)) + ",y\n")
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            file.write(",".join(f"{value:.10f}" for value in x) + f",{label:.0f}\n")


def _write_svmlight(path: Path, X: Any, y: streams.Vector) -> None:
    with path.open("w", encoding="utf-8") as file:
        for t, label in enumerate(y):
            part = slice(X.indptr[t], X.indptr[t + 1])
            entries = " ".join(f"{j + 1}:{v:g}" for j, v in zip(X.indices[part], X.data[part], strict=True))
            file.write(f"{'+1' if label else '-1'} {entries}\n")


def _write_vowpal(path: Path, X: Any, y: streams.Vector) -> None:
    """Rows with importances, names and namespaces."""
    rng = np.random.default_rng(75)
    with path.open("w", encoding="utf-8") as file:
        for t, label in enumerate(y):
            part = slice(X.indptr[t], X.indptr[t + 1])
            entries = " ".join(f"w{j}:{v:g}" for j, v in zip(X.indices[part], X.data[part], strict=True))
            weight = rng.choice([0.5, 1.0, 2.0, 40.0])
            file.write(
                f"{'1' if label else '-1'} {weight:g} 'row{t} |words {entries} |where:0.5 city{rng.integers(9)}\n"
            )


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    try:
        arrow: Any = importlib.import_module("pyarrow")
    except ImportError:
        return
    table = arrow.table({name: [row[name] for row in rows] for name in NAMES})
    importlib.import_module("pyarrow.parquet").write_table(table, path)
