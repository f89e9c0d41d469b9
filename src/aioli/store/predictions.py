"""The predictions of a run: spooled to disk as they are announced, written as CSV, JSON lines or Parquet at the end."""

import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.errors import FileRefused
from aioli.evaluate.loop import Announced, Observer
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.whole_files import DiskFile, check_target, os_errors_naming, replacing
from aioli.store.class_frames import HEAD_BYTES, UNKNOWN_CLASS, Frame, bytes_behind, frame_as_bytes, frame_from_bytes
from aioli.store.class_predictions import write_class_predictions
from aioli.store.file_formats import as_text, csv_label, parquet_modules

__all__ = ["Kept", "Spool", "check_ending", "write_predictions"]

ENTRY = np.dtype([("probability", "<f8"), ("label", "u1")])
Entries: TypeAlias = NDArray[np.void]  # of ENTRY
AT_ONCE = 1 << 17  # rows
UNKNOWN = 255  # a row without a label
ENDINGS = (".parquet", ".csv", ".jsonl")


class Kept(NamedTuple):
    """What a file of predictions holds: rows of two classes, then bytes of frames of K classes, and their checksum."""

    rows: int = 0
    frames: int = 0
    checksum: str | None = None


class Spool(Observer):
    """Appends probabilities and labels to a binary file, nine bytes a row; a resumed run goes on with that file.

    Rows of K classes are frames behind the rows of two (`store.class_frames`).

    Parameters
    ----------
    path
        The file.
    kept
        What of the file to keep, nothing to begin anew; the rest is truncated. A file that holds others is refused.
    target
        The file that error messages name, where the spool is anonymous (`beside`): `path` is then a folder.
    """

    def __init__(self, path: Path, kept: Kept = Kept(), target: str | None = None) -> None:  # noqa: B008, immutable
        self._name = target or str(path)
        self._rows, self._frames = kept.rows, kept.frames
        size = self._size
        if size and (not path.exists() or path.stat().st_size < size):
            raise self._refused("are missing or cut short")
        self._whole = True
        self._digest = hashlib.sha256()
        with os_errors_naming(self._name):
            if target is None:
                self._file: IO[bytes] = path.open("r+b" if size else "w+b", buffering=0)
            else:
                self._file = tempfile.TemporaryFile(dir=path, buffering=0)  # noqa: SIM115, `close` does it
            try:
                self._keep(size, kept.checksum)
            except BaseException:
                self._file.close()
                raise
            self._out = io.BufferedWriter(DiskFile(self._file.fileno()), 1 << 16)

    def _keep(self, size: int, checksum: str | None) -> None:
        """Read the bytes to keep, which must be those of the checksum, and cut off the rest."""
        left = size
        while left and (data := self._file.read(min(left, AT_ONCE * ENTRY.itemsize))):
            self._digest.update(data)
            left -= len(data)
        if left or (size and checksum != self.kept.checksum):
            raise self._refused("are not those of the run: another run's, or damaged")
        os.ftruncate(self._file.fileno(), size)
        self._file.seek(0, os.SEEK_END)

    def _refused(self, what: str) -> FileRefused:
        advice = "begin without --resume, in another folder"
        return FileRefused(f"{self._name}: the predictions of the checkpoint {what}; {advice}", path=self._name)

    @property
    def kept(self) -> Kept:
        """What was appended so far, and its SHA-256."""
        return Kept(self._rows, self._frames, self._digest.hexdigest())

    @property
    def has_classes(self) -> bool:
        """Whether rows of K classes were appended."""
        return self._frames > 0

    @property
    def _size(self) -> int:
        return self._rows * ENTRY.itemsize + self._frames

    @classmethod
    def beside(cls, target: str) -> Self:
        """Open an anonymous temporary file in the target's folder; the system deletes it when the process exits."""
        return cls(Path(target).absolute().parent, target=target)

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002
        """Append the probabilities and labels of a piece."""
        if announced.classes is None:
            self.add(announced.p, announced.y)
        else:
            self.add_classes(announced.p, announced.y)

    def add_classes(self, P: Matrix, codes: Vector) -> None:
        """Append the probabilities of K classes, and the codes of the labels, -1 where there is none."""
        data = frame_as_bytes(P, codes)
        self._append(memoryview(data))
        self._frames += len(data)

    def add(self, p: Vector, y: Vector | None) -> None:
        """Append probabilities, and the labels where there are any, NaN where a row has none."""
        entries = np.empty(len(p), dtype=ENTRY)
        entries["probability"] = p
        entries["label"] = UNKNOWN if y is None else np.where(np.isnan(y), UNKNOWN, y)
        self._append(entries.data)
        self._rows += len(entries)

    def _append(self, data: memoryview) -> None:
        self._whole = False
        with os_errors_naming(self._name):
            self._out.write(data)
        self._digest.update(data)
        self._whole = True

    def sync(self) -> None:
        """Wait until everything so far is on the disk."""
        if not self._whole:
            raise OSError(f"{self._name}: the predictions of some rows could not be written")
        self._whole = False  # where a write fails, nobody knows how much of it was done: it is not tried again
        with os_errors_naming(self._name):
            self._out.flush()
            os.fsync(self._file.fileno())
        self._whole = True

    def __iter__(self) -> Iterator[tuple[int, Entries]]:
        """Yield the entries of two classes in pieces, each with the number of its first row."""
        written = hashlib.sha256()
        yield from self._entries(written)
        self._check(written)

    def frames(self) -> Iterator[Frame]:
        """Yield all rows as rows of K classes, those of two with the negative class first."""
        written = hashlib.sha256()
        for _, entries in self._entries(written):
            p, codes = entries["probability"], entries["label"].astype(np.int64)
            yield Frame(np.column_stack([1.0 - p, p]), np.where(codes == UNKNOWN, UNKNOWN_CLASS, codes))
        left = self._frames
        while left > 0:
            head = _read_all(self._file, HEAD_BYTES)
            data = _read_all(self._file, bytes_behind(head))
            written.update(head + data)
            left -= len(head) + len(data)
            place = self._file.tell()
            yield frame_from_bytes(head, data)
            self._file.seek(place)
        self._check(written)

    def _entries(self, written: "hashlib._Hash") -> Iterator[tuple[int, Entries]]:
        """Yield the entries of two classes, add them to a checksum, and leave the file behind them."""
        if not self._whole:
            raise OSError(f"{self._name}: the predictions of some rows could not be written")
        with os_errors_naming(self._name):
            self._out.flush()
        for first in range(0, self._rows, AT_ONCE):
            self._file.seek(first * ENTRY.itemsize)
            data = _read_all(self._file, min(AT_ONCE, self._rows - first) * ENTRY.itemsize)
            written.update(data)
            yield first, np.frombuffer(data, dtype=ENTRY)
        self._file.seek(self._rows * ENTRY.itemsize)

    def _check(self, written: "hashlib._Hash") -> None:
        """Raise where the bytes that were read are not those that were written."""
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
        parquet_modules()
    check_target(path)


def write_predictions(path: str, spool: Spool, classes: Sequence[str], top: int | None = None) -> None:
    """Write the predictions of every row, in the format of the file's ending; whole or not at all.

    In a game of two classes that is row, probability and label; in one of more, or where the `top` likeliest classes
    are asked for, it is as in `store.class_predictions`.
    """
    ending = Path(path).suffix.lower()
    if spool.has_classes or top is not None or len(classes) != 2:
        with os_errors_naming(path), replacing(path) as file:
            write_class_predictions(file, ending, spool.frames(), classes, top)
        return
    names = (classes[0], classes[1])
    writers: dict[str, Callable[[BinaryIO, Spool, tuple[str, str]], None]] = {
        ".parquet": _write_parquet,
        ".csv": _write_csv,
        ".jsonl": _write_jsonl,
    }
    with os_errors_naming(path), replacing(path) as file:
        writers[ending](file, spool, names)


def _read_all(file: IO[bytes], size: int) -> bytes:
    """Read so many bytes of an unbuffered file, which may give fewer at a time."""
    data = file.read(size)
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def _write_parquet(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    arrow, parquet = parquet_modules()
    text = arrow.string()
    schema = arrow.schema([("row", arrow.int64()), ("probability", arrow.float64()), ("label", text)])
    with parquet.ParquetWriter(file, schema) as writer:
        for first, entries in spool:
            rows = np.arange(first + 1, first + 1 + len(entries))
            labels = arrow.array(_labels(entries, names), text)
            writer.write_table(arrow.table([rows, entries["probability"].copy(), labels], schema=schema))


def _write_csv(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    quoted = (csv_label(names[0]), csv_label(names[1]))
    with as_text(file) as out:
        out.write("row,probability,label\n")
        for first, entries in spool:
            labels = _labels(entries, quoted)
            values = entries["probability"].tolist()
            rows = zip(values, labels, strict=True)
            out.writelines(f"{t},{p!r},{label or ''}\n" for t, (p, label) in enumerate(rows, first + 1))


def _write_jsonl(file: BinaryIO, spool: Spool, names: tuple[str, str]) -> None:
    import json

    written = (json.dumps(names[0]), json.dumps(names[1]))
    with as_text(file) as out:
        for first, entries in spool:
            rows = zip(entries["probability"].tolist(), _labels(entries, written), strict=True)
            out.writelines(
                f'{{"row": {t}, "probability": {p!r}, "label": {label or "null"}}}\n'
                for t, (p, label) in enumerate(rows, first + 1)
            )


def _labels(entries: Entries, names: tuple[str, str]) -> list[str | None]:
    lookup: list[str | None] = [names[0], names[1]] + [None] * 254
    return [lookup[code] for code in entries["label"].tolist()]
