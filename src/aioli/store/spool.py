"""Keeps the predictions of a run on disk as they are announced, with the keys that are carried beside the rows."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.evaluate.loop import Announced, Observer
from aioli.numerics.compiling import Matrix, Vector
from aioli.store.appended_file import AppendedFile
from aioli.store.class_frames import HEAD_BYTES, UNKNOWN_CLASS, Frame, bytes_behind, frame_as_bytes, frame_from_bytes
from aioli.streams.protocol import Keys

__all__ = ["ENTRY", "KEYS", "UNKNOWN", "Entries", "Kept", "Spool"]

ENTRY = np.dtype([("probability", "<f8"), ("label", "u1")])
Entries: TypeAlias = NDArray[np.void]  # of ENTRY
AT_ONCE = 1 << 17  # rows
UNKNOWN = 255  # a row without a label
KEYS = ".keys"  # the ending of the file of keys


class Kept(NamedTuple):
    """What a file of predictions holds: rows of two classes, then bytes of frames of K classes, and their checksum.

    Where keys are carried, `keys` and `keys_checksum` are the bytes of their file, and their checksum.
    """

    rows: int = 0
    frames: int = 0
    checksum: str | None = None
    keys: int = 0
    keys_checksum: str | None = None


class Spool(Observer):
    """Appends probabilities and labels to a binary file, nine bytes a row; a resumed run goes on with that file.

    Rows of K classes are frames behind the rows of two (`store.class_frames`). Keys are lines of a second file.

    Parameters
    ----------
    path
        The file.
    kept
        What of the file to keep, nothing to begin anew; the rest is truncated. A file that holds others is refused.
    target
        The file that error messages name, where the spool is anonymous (`beside`): `path` is then a folder.
    keys
        The columns that are carried beside the rows.
    """

    def __init__(
        self,
        path: Path,
        kept: Kept = Kept(),  # noqa: B008, immutable
        target: str | None = None,
        keys: Sequence[str] = (),
    ) -> None:
        self._rows, self._frames = kept.rows, kept.frames
        self.key_names = list(keys)
        self._file = AppendedFile(path, kept.rows * ENTRY.itemsize + kept.frames, kept.checksum, target)
        self._keys: AppendedFile | None = None
        if keys:
            try:
                beside = path if target is not None else path.with_name(path.name + KEYS)
                self._keys = AppendedFile(beside, kept.keys, kept.keys_checksum, target)
            except BaseException:
                self._file.close()
                raise

    @property
    def kept(self) -> Kept:
        """What was appended so far, and its SHA-256."""
        if self._keys is None:
            return Kept(self._rows, self._frames, self._file.checksum)
        return Kept(self._rows, self._frames, self._file.checksum, self._keys.size, self._keys.checksum)

    @property
    def has_classes(self) -> bool:
        """Whether rows of K classes were appended."""
        return self._frames > 0

    @classmethod
    def beside(cls, target: str, keys: Sequence[str] = ()) -> Self:
        """Open an anonymous temporary file in the target's folder; the system deletes it when the process exits."""
        return cls(Path(target).absolute().parent, target=target, keys=keys)

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002  (an observer's signature)
        """Append the probabilities and labels of a piece."""
        self.predicted(announced)

    def predicted(self, announced: Announced) -> None:
        """Append rows, whether they have a label or not."""
        if announced.classes is None:
            self.add(announced.p, announced.y, announced.keys)
        else:
            self.add_classes(announced.p, announced.y, announced.keys)

    def add_classes(self, P: Matrix, codes: Vector, keys: Keys | None = None) -> None:
        """Append the probabilities of K classes, and the codes of the labels, -1 or NaN where there is none."""
        data = frame_as_bytes(P, np.nan_to_num(codes, nan=UNKNOWN_CLASS))
        self._file.append(data)
        self._frames += len(data)
        self._add_keys(keys)

    def add(self, p: Vector, y: Vector | None, keys: Keys | None = None) -> None:
        """Append probabilities, and the labels where there are any, NaN where a row has none."""
        entries = np.empty(len(p), dtype=ENTRY)
        entries["probability"] = p
        entries["label"] = UNKNOWN if y is None else np.where(np.isnan(y), UNKNOWN, y)
        self._file.append(entries.data)
        self._rows += len(entries)
        self._add_keys(keys)

    def _add_keys(self, keys: Keys | None) -> None:
        if self._keys is not None and keys is not None:
            self._keys.append("".join(f"{json.dumps(each)}\n" for each in keys).encode())

    def sync(self) -> None:
        """Wait until everything so far is on the disk."""
        self._file.sync()
        if self._keys is not None:
            self._keys.sync()

    def key_rows(self) -> Iterator[list[str | None]]:
        """Yield the keys of each row; an empty list for every row, without end, where none are carried."""
        if self._keys is None:
            while True:
                yield []
        rest = b""
        for data in self._keys.pieces():
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)

    def __iter__(self) -> Iterator[tuple[int, Entries]]:
        """Yield the entries of two classes in pieces, each with the number of its first row."""
        first = 0
        for entries, _ in self._parts():
            if entries is not None:
                yield first, entries
                first += len(entries)

    def frames(self) -> Iterator[Frame]:
        """Yield all rows as rows of K classes, those of two with the negative class first."""
        for entries, frame in self._parts():
            if entries is not None:
                p, codes = entries["probability"], entries["label"].astype(np.int64)
                yield Frame(np.column_stack([1.0 - p, p]), np.where(codes == UNKNOWN, UNKNOWN_CLASS, codes))
            elif frame is not None:
                yield frame

    def _parts(self) -> Iterator[tuple[Entries | None, Frame | None]]:
        """Yield pieces of the rows of two classes, then frames of K."""
        left, data = self._rows * ENTRY.itemsize, b""
        for piece in self._file.pieces():
            data += piece
            while left and (size := min(left, AT_ONCE * ENTRY.itemsize)) <= len(data):
                yield np.frombuffer(data[:size], dtype=ENTRY), None
                data, left = data[size:], left - size
            while not left and len(data) >= HEAD_BYTES:
                size = HEAD_BYTES + bytes_behind(data[:HEAD_BYTES])
                if len(data) < size:
                    break
                yield None, frame_from_bytes(data[:HEAD_BYTES], data[HEAD_BYTES:size])
                data = data[size:]

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        if self._keys is not None:
            self._keys.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
