"""Files to test on, and what comes of reading them."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.files.formats import open_reader
from aioli.streams.files.recognition import kinds_of
from aioli.streams.files.table import ReadAs
from aioli.streams.filestream import FileStream, Reading


def dense(X: Any) -> Matrix:
    matrix: Matrix = X if isinstance(X, np.ndarray) else X.toarray()
    return matrix


def padded(pieces: list[Matrix], width: int) -> Matrix:
    """Rows of several widths as one matrix: a feature that had not come was 0."""
    whole = [np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X in pieces]
    return np.vstack(whole) if whole else np.empty((0, width))


def read(path: Path, **reading: Any) -> tuple[list[str], Matrix, Vector]:
    """The names of the features, the rows, and the labels."""
    with FileStream(str(path), Reading(**reading)) as stream:
        batches = list(stream)
        y = [batch.y for batch in batches if batch.y is not None]
        X = padded([dense(batch.X) for batch in batches], len(stream.features))
        return stream.features, X, np.concatenate(y) if y else np.empty(0)


def refused(path: Path, **reading: Any) -> str:
    """What is said about a file that is refused: one line, which begins with its name."""
    with pytest.raises((ValueError, OSError, ImportError)) as told, FileStream(str(path), Reading(**reading)) as stream:
        for _ in stream:
            pass
    said = str(told.value)
    assert "\n" not in said
    return said.replace(str(path), path.name)


def plain(table: Any) -> dict[str, Any]:
    """Everything that a table says, in a form that can be compared."""
    parts = {name: value for name, value in vars(table).items() if name != "where"}
    comparable = {
        name: repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value) for name, value in parts.items()
    }
    return comparable | {"where": [table.where(row) for row in range(len(table))]}


def tables(path: Path, label: str | None, position: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    reader = open_reader(str(path))
    kinds = kinds_of(reader.sample)
    if label is not None and kinds[label] != "number":
        kinds = kinds | {label: "category"}
    return [{**plain(table), "position": table.after} for table in reader.tables(ReadAs(kinds, label), position)]


def check_resuming(path: Path, label: str | None) -> int:
    """From every position that a table has told, reading gives the remaining tables, and them alone."""
    whole = tables(path, label)
    for k, table in enumerate(whole):
        position = json.loads(json.dumps(table["position"]))
        assert tables(path, label, position) == whole[k + 1 :]
    return len(whole)


def gzipped(path: Path, members: int = 1) -> Path:
    """A compressed copy, made of so many parts."""
    data, packed = path.read_bytes(), io.BytesIO()
    size = -(-len(data) // members) or 1
    for start in range(0, max(1, len(data)), size):
        packed.write(gzip.compress(data[start : start + size], mtime=0))
    copy = path.with_name(path.name + ".gz")
    copy.write_bytes(packed.getvalue())
    return copy
