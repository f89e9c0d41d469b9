"""Writes the predictions of a run as CSV, JSON lines or Parquet, once the run is over."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from aioli.snapshots.whole_files import check_target, os_errors_naming, replacing
from aioli.store.class_predictions import write_class_predictions
from aioli.store.file_formats import as_text, csv_label, distinct_names, parquet_modules
from aioli.store.spool import Entries, Spool

__all__ = ["check_ending", "write_predictions"]

ENDINGS = (".parquet", ".csv", ".jsonl")
COLUMNS = ("row", "probability", "label")


def check_ending(path: str) -> None:
    """Raise before the run where predictions cannot be written to this path: its ending, pyarrow, or its folder."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"{path}: predictions are written as {', '.join(ENDINGS)}; give a name that ends in one of them"
        )
    if ending == ".parquet":
        parquet_modules()
    check_target(path)


def write_predictions(path: str, spool: Spool, classes: Sequence[str], top: int | None = None) -> None:
    """Write the predictions of every row, in the format of the file's ending; whole or not at all.

    In a game of two classes that is row, probability and label, and the keys that are carried; in one of more, or where
    the `top` likeliest classes are asked for, it is as in `store.class_predictions`.
    """
    ending = Path(path).suffix.lower()
    if spool.has_classes or top is not None or len(classes) != 2:
        with os_errors_naming(path), replacing(path) as file:
            write_class_predictions(file, ending, spool.frames(), classes, top, spool.key_names, spool.key_rows())
        return
    names = (classes[0], classes[1])
    writers: dict[str, Callable[[BinaryIO, Spool, tuple[str, str]], None]] = {
        ".parquet": _write_parquet,
        ".csv": _write_csv,
        ".jsonl": _write_jsonl,
    }
    with os_errors_naming(path), replacing(path) as file:
        writers[ending](file, spool, names)


def _write_parquet(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    arrow, parquet = parquet_modules()
    text = arrow.string()
    carried = distinct_names(spool.key_names, COLUMNS)
    columns = [("row", arrow.int64()), ("probability", arrow.float64()), ("label", text)]
    schema, keys = arrow.schema([*columns, *((name, text) for name in carried)]), spool.key_rows()
    with parquet.ParquetWriter(file, schema) as writer:
        for first, entries in spool:
            rows = np.arange(first + 1, first + 1 + len(entries))
            labels = arrow.array(_labels(entries, names), text)
            found = [*zip(*islice(keys, len(entries)), strict=True)]
            texts = [arrow.array(column, text) for column in found]
            writer.write_table(arrow.table([rows, entries["probability"].copy(), labels, *texts], schema=schema))


def _write_csv(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    quoted = (csv_label(names[0]), csv_label(names[1]))
    with as_text(file) as out:
        out.write(",".join([*COLUMNS, *map(csv_label, distinct_names(spool.key_names, COLUMNS))]) + "\n")
        behind = ("".join(f",{csv_label(text or '')}" for text in each) for each in spool.key_rows())
        for first, entries in spool:
            labels = _labels(entries, quoted)
            values = entries["probability"].tolist()
            rows = zip(values, labels, _next(behind, len(entries)), strict=True)
            out.writelines(f"{t},{p!r},{label or ''}{more}\n" for t, (p, label, more) in enumerate(rows, first + 1))


def _write_jsonl(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    written = (json.dumps(names[0]), json.dumps(names[1]))
    carried = [json.dumps(name) for name in distinct_names(spool.key_names, COLUMNS)]
    with as_text(file) as out:
        behind = (_members(carried, each) for each in spool.key_rows())
        for first, entries in spool:
            labels = _labels(entries, written)
            rows = zip(entries["probability"].tolist(), labels, _next(behind, len(entries)), strict=True)
            out.writelines(
                f'{{"row": {t}, "probability": {p!r}, "label": {label or "null"}{more}}}\n'
                for t, (p, label, more) in enumerate(rows, first + 1)
            )


def _members(names: Sequence[str], texts: Sequence[str | None]) -> str:
    """Return the keys of a row as further members of a JSON object."""
    return "".join(f", {name}: {json.dumps(text)}" for name, text in zip(names, texts, strict=True))


def _next(behind: Iterator[str], rows: int) -> list[str]:
    return list(islice(behind, rows))


def _labels(entries: Entries, names: tuple[str, str]) -> list[str | None]:
    lookup: list[str | None] = [names[0], names[1]] + [None] * 254
    return [lookup[code] for code in entries["label"].tolist()]
