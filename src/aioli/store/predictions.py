"""The predictions of a run: spooled to disk as they are announced, written as CSV, JSON lines or Parquet at the end."""

import contextlib
import hashlib
import importlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.errors import FileRefused
from aioli.evaluate.loop import Announced, Observer
from aioli.numerics.compiling import Vector
from aioli.snapshots.whole_files import DiskFile, check_target, os_errors_naming, replacing

__all__ = ["Spool", "check_ending", "write_predictions"]

ENTRY = np.dtype([("probability", "<f8"), ("label", "u1")])
Entries: TypeAlias = NDArray[np.void]  # of ENTRY
AT_ONCE = 1 << 17  # rows
UNKNOWN = 255  # a row without a label
ENDINGS = (".parquet", ".csv", ".jsonl")


class Spool(Observer):
    """Appends probabilities and labels to a binary file, nine bytes a row; a resumed run goes on with that file.

    Parameters
    ----------
    path
        The file.
    rows
        How many rows of the file to keep, 0 to begin anew; the rest is truncated.
    checksum
        What `checksum` said after those rows; a file that holds others is refused.
    target
        The file that error messages name, where the spool is anonymous (`beside`): `path` is then a folder.
    """

    def __init__(self, path: Path, rows: int = 0, checksum: str | None = None, target: str | None = None) -> None:
        self._name = target or str(path)
        if rows and (not path.exists() or path.stat().st_size < rows * ENTRY.itemsize):
            raise self._refused("are missing or cut short")
        self._whole = True
        self._digest = hashlib.sha256()
        with os_errors_naming(self._name):
            if target is None:
                self._file: IO[bytes] = path.open("r+b" if rows else "w+b", buffering=0)
            else:
                self._file = tempfile.TemporaryFile(dir=path, buffering=0)  # noqa: SIM115, `close` does it
            try:
                self._keep(rows, checksum)
            except BaseException:
                self._file.close()
                raise
            self._out = io.BufferedWriter(DiskFile(self._file.fileno()), 1 << 16)

    def _keep(self, rows: int, checksum: str | None) -> None:
        """Read the rows to keep, which must be those of the checksum, and cut off the rest."""
        left = rows * ENTRY.itemsize
        while left and (data := self._file.read(min(left, AT_ONCE * ENTRY.itemsize))):
            self._digest.update(data)
            left -= len(data)
        if left or (rows and checksum != self.checksum):
            raise self._refused("are not those of the run: another run's, or damaged")
        os.ftruncate(self._file.fileno(), rows * ENTRY.itemsize)
        self._file.seek(0, os.SEEK_END)

    def _refused(self, what: str) -> FileRefused:
        advice = "begin without --resume, in another folder"
        return FileRefused(f"{self._name}: the predictions of the checkpoint {what}; {advice}", path=self._name)

    @property
    def checksum(self) -> str:
        """The SHA-256 of all that was appended."""
        return self._digest.hexdigest()

    @classmethod
    def beside(cls, target: str) -> Self:
        """Open an anonymous temporary file in the target's folder; the system deletes it when the process exits."""
        return cls(Path(target).absolute().parent, target=target)

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002
        """Append the probabilities and labels of a piece."""
        self.add(announced.p, announced.y)

    def add(self, p: Vector, y: Vector | None) -> None:
        """Append probabilities, and the labels where there are any."""
        entries = np.empty(len(p), dtype=ENTRY)
        entries["probability"] = p
        entries["label"] = UNKNOWN if y is None else y
        self._whole = False
        with os_errors_naming(self._name):
            self._out.write(entries.data)
        self._digest.update(entries.data)
        self._whole = True

    def sync(self) -> None:
        """Wait until everything so far is on the disk."""
        if not self._whole:
            raise OSError(f"{self._name}: the predictions of some rows could not be written")
        with os_errors_naming(self._name):
            self._out.flush()
            os.fsync(self._file.fileno())

    def __iter__(self) -> Iterator[tuple[int, Entries]]:
        """Yield the entries in pieces, each with the number of its first row."""
        if not self._whole:
            raise OSError(f"{self._name}: the predictions of some rows could not be written")
        with os_errors_naming(self._name):
            self._out.flush()
        written = hashlib.sha256()
        rows = self._file.seek(0, os.SEEK_END) // ENTRY.itemsize
        for first in range(0, rows, AT_ONCE):
            self._file.seek(first * ENTRY.itemsize)
            data = _read_all(self._file, min(AT_ONCE, rows - first) * ENTRY.itemsize)
            written.update(data)
            yield first, np.frombuffer(data, dtype=ENTRY)
        self._file.seek(0, os.SEEK_END)
        if written.digest() != self._digest.digest():
            raise OSError(f"{self._name}: what was kept of the predictions is not what was written; check the disk")

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # what could not be written has been reported
            self._out.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_ending(path: str) -> None:
    """Raise before the run where predictions cannot be written to this path: its ending, pyarrow, or its folder."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"{path}: predictions are written as {', '.join(ENDINGS)}; give a name that ends in one of them"
        )
    if ending == ".parquet":
        _parquet()
    check_target(path)


def write_predictions(path: str, spool: Spool, names: tuple[str, str]) -> None:
    """Write row, probability and label of every row, in the format of the file's ending; whole or not at all."""
    writers: dict[str, Callable[[BinaryIO, Spool, tuple[str, str]], None]] = {
        ".parquet": _write_parquet,
        ".csv": _write_csv,
        ".jsonl": _write_jsonl,
    }
    with os_errors_naming(path), replacing(path) as file:
        writers[Path(path).suffix.lower()](file, spool, names)


def _read_all(file: IO[bytes], size: int) -> bytes:
    """Read so many bytes of an unbuffered file, which may give fewer at a time."""
    data = file.read(size)
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def _write_parquet(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    arrow, parquet = _parquet()
    text = arrow.string()
    schema = arrow.schema([("row", arrow.int64()), ("probability", arrow.float64()), ("label", text)])
    with parquet.ParquetWriter(file, schema) as writer:
        for first, entries in spool:
            rows = np.arange(first + 1, first + 1 + len(entries))
            labels = arrow.array(_labels(entries, names), text)
            writer.write_table(arrow.table([rows, entries["probability"].copy(), labels], schema=schema))


def _write_csv(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    quoted = tuple(f'"{name.replace(chr(34), chr(34) * 2)}"' if _must_quote(name) else name for name in names)
    with _as_text(file) as out:
        out.write("row,probability,label\n")
        for first, entries in spool:
            labels = _labels(entries, (quoted[0], quoted[1]))
            values = entries["probability"].tolist()
            rows = zip(values, labels, strict=True)
            out.writelines(f"{t},{p!r},{label or ''}\n" for t, (p, label) in enumerate(rows, first + 1))


def _write_jsonl(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    import json

    written = (json.dumps(names[0]), json.dumps(names[1]))
    with _as_text(file) as out:
        for first, entries in spool:
            rows = zip(entries["probability"].tolist(), _labels(entries, written), strict=True)
            out.writelines(
                f'{{"row": {t}, "probability": {p!r}, "label": {label or "null"}}}\n'
                for t, (p, label) in enumerate(rows, first + 1)
            )


@contextlib.contextmanager
def _as_text(file: BinaryIO) -> Iterator[io.TextIOWrapper]:
    """Return a context in which the file takes text, and which leaves it open."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
    try:
        yield text
    finally:
        text.detach()


def _labels(entries: Entries, names: tuple[str, str]) -> list[str | None]:
    lookup: list[str | None] = [names[0], names[1]] + [None] * 254
    return [lookup[code] for code in entries["label"].tolist()]


def _must_quote(name: str) -> bool:
    return any(mark in name for mark in ',"\n\r')


def _parquet() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'aioli-online[files]', or write .csv or .jsonl") from None
