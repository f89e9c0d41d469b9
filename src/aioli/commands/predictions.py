"""The predictions of a run: kept in a plain file as they are announced, and written out whole at the end."""

import contextlib
import importlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from aioli.numerics.compiling import Vector

__all__ = ["Spool", "check_ending", "replacing", "write_predictions"]

ENTRY = np.dtype([("probability", "<f8"), ("label", "u1")])
AT_ONCE = 1 << 17  # rows
UNKNOWN = 255  # a row without a label
ENDINGS = (".parquet", ".csv", ".jsonl")


class Spool:
    """Probabilities and labels in a file of their own: what has been announced survives whatever comes after."""

    def __init__(self, path: Path, rows: int = 0) -> None:
        self.path = path
        if rows and (not path.exists() or path.stat().st_size < rows * ENTRY.itemsize):
            raise ValueError(
                f"{path}: the predictions of the checkpoint are missing or cut short; begin without --resume"
            )
        self._file = path.open("r+b" if rows else "w+b")
        self._file.truncate(rows * ENTRY.itemsize)
        self._file.seek(0, os.SEEK_END)

    def add(self, p: Vector, y: Vector | None) -> None:
        """Keep what was announced for some rows, and their labels."""
        entries = np.empty(len(p), dtype=ENTRY)
        entries["probability"] = p
        entries["label"] = UNKNOWN if y is None else y
        self._file.write(entries.tobytes())

    def sync(self) -> None:
        """Everything so far is on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The entries in pieces, each with the number of its first row."""
        self._file.flush()
        rows = self.path.stat().st_size // ENTRY.itemsize
        with self.path.open("rb") as file:
            for first in range(0, rows, AT_ONCE):
                yield first, np.fromfile(file, dtype=ENTRY, count=min(AT_ONCE, rows - first))

    def close(self, remove: bool = False) -> None:
        """Let the file go."""
        self._file.close()
        if remove:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_ending(path: str) -> None:
    """Refuse early what could not be written at the end."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"{path}: predictions are written as {', '.join(ENDINGS)}; give a name that ends in one of them"
        )
    if ending == ".parquet":
        _parquet()
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {Path(path).absolute().parent}")


def write_predictions(path: str, spool: Spool, names: tuple[str, str]) -> None:
    """Row, probability and label of every row, in the format that the name of the file says; whole or not at all."""
    writers: dict[str, Callable[[Path, Spool, tuple[str, str]], None]] = {
        ".parquet": _write_parquet,
        ".csv": _write_csv,
        ".jsonl": _write_jsonl,
    }
    with replacing(path) as temporary:
        writers[Path(path).suffix.lower()](temporary, spool, names)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file that takes the place of `path` if all goes well, and vanishes if not."""
    handle, name = tempfile.mkstemp(prefix=".aioli-", suffix=".part", dir=Path(path).absolute().parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_parquet(path: Path, spool: Spool, names: tuple[str, str]) -> None:
    arrow, parquet = _parquet()
    text = arrow.string()
    schema = arrow.schema([("row", arrow.int64()), ("probability", arrow.float64()), ("label", text)])
    with parquet.ParquetWriter(path, schema) as writer:
        for first, entries in spool:
            rows = np.arange(first + 1, first + 1 + len(entries))
            labels = arrow.array(_labels(entries, names), text)
            writer.write_table(arrow.table([rows, entries["probability"].copy(), labels], schema=schema))


def _write_csv(path: Path, spool: Spool, names: tuple[str, str]) -> None:
    quoted = tuple(f'"{name.replace(chr(34), chr(34) * 2)}"' if _must_quote(name) else name for name in names)
    with path.open("w", encoding="utf-8") as file:
        file.write("row,probability,label\n")
        for first, entries in spool:
            labels = _labels(entries, (quoted[0], quoted[1]))
            values = entries["probability"].tolist()
            rows = zip(values, labels, strict=True)
            file.writelines(f"{t},{p!r},{label or ''}\n" for t, (p, label) in enumerate(rows, first + 1))


def _write_jsonl(path: Path, spool: Spool, names: tuple[str, str]) -> None:
    import json

    written = (json.dumps(names[0]), json.dumps(names[1]))
    with path.open("w", encoding="utf-8") as file:
        for first, entries in spool:
            rows = zip(entries["probability"].tolist(), _labels(entries, written), strict=True)
            file.writelines(
                f'{{"row": {t}, "probability": {p!r}, "label": {label or "null"}}}\n'
                for t, (p, label) in enumerate(rows, first + 1)
            )


def _labels(entries: Any, names: tuple[str, str]) -> list[str | None]:
    lookup: list[str | None] = [names[0], names[1]] + [None] * 254
    return [lookup[code] for code in entries["label"].tolist()]


def _must_quote(name: str) -> bool:
    return any(mark in name for mark in ',"\n\r')


def _parquet() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'aioli-online[files]', or write .csv or .jsonl") from None
