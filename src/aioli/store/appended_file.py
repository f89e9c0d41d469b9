"""Appends to a file of a run; a run that was killed goes on with it, cut back to what its checkpoint says."""

import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from aioli.errors import FileRefused
from aioli.snapshots.whole_files import DiskFile, os_errors_naming

__all__ = ["AppendedFile"]

AT_ONCE = 1 << 20  # bytes


class AppendedFile:
    """Appends bytes to a file and keeps their SHA-256.

    Parameters
    ----------
    path
        The file.
    size, checksum
        How many of its bytes to keep, and their SHA-256; the rest is cut off. A file that holds others is refused.
    target
        The file that error messages name, where this one is anonymous: `path` is then a folder, and the system deletes
        the file when the process exits.
    """

    def __init__(self, path: Path, size: int = 0, checksum: str | None = None, target: str | None = None) -> None:
        self.name = target or str(path)
        self.size = size
        if size and (not path.exists() or path.stat().st_size < size):
            raise self._refused("are missing or cut short")
        self._whole = True
        self._digest = hashlib.sha256()
        with os_errors_naming(self.name):
            if target is None:
                self._file: IO[bytes] = path.open("r+b" if size else "w+b", buffering=0)
            else:
                self._file = tempfile.TemporaryFile(dir=path, buffering=0)  # noqa: SIM115, `close` does it
            try:
                self._keep(checksum)
            except BaseException:
                self._file.close()
                raise
            self._out = io.BufferedWriter(DiskFile(self._file.fileno()), 1 << 16)

    def _keep(self, checksum: str | None) -> None:
        """Read the bytes to keep, which must be those of the checksum, and cut off the rest."""
        left = self.size
        while left and (data := self._file.read(min(left, AT_ONCE))):
            self._digest.update(data)
            left -= len(data)
        if left or (self.size and checksum != self.checksum):
            raise self._refused("are not those of the run: another run's, or damaged")
        os.ftruncate(self._file.fileno(), self.size)
        self._file.seek(0, os.SEEK_END)

    def _refused(self, what: str) -> FileRefused:
        advice = "begin without --resume, in another folder"
        return FileRefused(f"{self.name}: the predictions of the checkpoint {what}; {advice}", path=self.name)

    @property
    def checksum(self) -> str:
        """The SHA-256 of all that was appended."""
        return self._digest.hexdigest()

    def append(self, data: memoryview | bytes) -> None:
        """Append bytes."""
        self._whole = False
        with os_errors_naming(self.name):
            self._out.write(data)
        self._digest.update(data)
        self.size += len(data) if isinstance(data, bytes) else data.nbytes
        self._whole = True

    def sync(self) -> None:
        """Wait until everything so far is on the disk."""
        self._require_whole()
        self._whole = False  # where a write fails, nobody knows how much of it was done: it is not tried again
        with os_errors_naming(self.name):
            self._out.flush()
            os.fsync(self._file.fileno())
        self._whole = True

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes in pieces; raise at the end where they are not those that were written."""
        self._require_whole()
        with os_errors_naming(self.name):
            self._out.flush()
        read, place = hashlib.sha256(), 0
        while place < self.size:
            self._file.seek(place)
            data = self._file.read(min(AT_ONCE, self.size - place))
            if not data:
                break
            read.update(data)
            place += len(data)
            yield data
        self._file.seek(0, os.SEEK_END)
        if read.digest() != self._digest.digest():
            raise OSError(f"{self.name}: what was kept of the predictions is not what was written; check the disk")

    def _require_whole(self) -> None:
        if not self._whole:
            raise OSError(f"{self.name}: the predictions of some rows could not be written")

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # what could not be written has been reported
            self._out.close()
        self._file.close()
