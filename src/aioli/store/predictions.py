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
from aioli.snapshots.whole_files import check_target, naming, replacing

__all__ = ["Spool", "check_ending", "write_predictions"]

ENTRY = np.dtype([("probability", "<f8"), ("label", "u1")])
AT_ONCE = 1 << 17  # rows
UNKNOWN = 255  # a row without a label
ENDINGS = (".parquet", ".csv", ".jsonl")


class Spool:
    """Probabilities and labels in a file of their own, from which a run that was killed can go on.

    Parameters
    ----------
    path
        The file.
    rows
        Those of the file that are kept, 0 to begin anew; what is behind them is cut off.
    told
        What the file is called where it has no name of its own, as that of `beside`.
    """

    def __init__(self, path: Path, rows: int = 0, told: str | None = None) -> None:
        self._told = told or str(path)
        if rows and (not path.exists() or path.stat().st_size < rows * ENTRY.itemsize):
            raise ValueError(
                f"{path}: the predictions of the checkpoint are missing or cut short; begin without --resume, in "
                "another folder"
            )
        self._whole = True
        with naming(self._told):
            if told is None:
                self._file: Any = path.open("r+b" if rows else "w+b")
                self._file.truncate(rows * ENTRY.itemsize)
                self._file.seek(0, os.SEEK_END)
            else:
                self._file = tempfile.TemporaryFile(dir=path)  # noqa: SIM115, `close` does it

    @classmethod
    def beside(cls, target: str) -> Self:
        """One in the folder of a file that is to be written, which is gone with the process, however that ends."""
        return cls(Path(target).absolute().parent, told=target)

    def add(self, p: Vector, y: Vector | None) -> None:
        """Keep what was announced for some rows, and their labels."""
        entries = np.empty(len(p), dtype=ENTRY)
        entries["probability"] = p
        entries["label"] = UNKNOWN if y is None else y
        self._whole = False
        with naming(self._told):
            self._file.write(entries.tobytes())
        self._whole = True

    def sync(self) -> None:
        """Everything so far is on the disk."""
        if not self._whole:
            raise OSError(f"{self._told}: the predictions of some rows could not be written")
        with naming(self._told):
            self._file.flush()
            os.fsync(self._file.fileno())

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The entries in pieces, each with the number of its first row."""
        rows = self._file.seek(0, os.SEEK_END) // ENTRY.itemsize
        for first in range(0, rows, AT_ONCE):
            self._file.seek(first * ENTRY.itemsize)
            yield first, np.frombuffer(self._file.read(AT_ONCE * ENTRY.itemsize), dtype=ENTRY)

    def close(self) -> None:
        """Let the file go."""
        with contextlib.suppress(OSError):  # what could not be written has been told
            self._file.close()

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
    check_target(path)


def write_predictions(path: str, spool: Spool, names: tuple[str, str], owner: str | None = None) -> None:
    """Row, probability and label of every row, in the format that the name of the file says; whole or not at all."""
    writers: dict[str, Callable[[Path, Spool, tuple[str, str]], None]] = {
        ".parquet": _write_parquet,
        ".csv": _write_csv,
        ".jsonl": _write_jsonl,
    }
    with naming(path), replacing(path, owner) as temporary:
        writers[Path(path).suffix.lower()](temporary, spool, names)


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
