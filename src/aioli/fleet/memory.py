"""Allocates memory for many records: anonymous maps that cost nothing until written, and a map of a file on disk."""

import mmap
import os
import sys
import tempfile
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from aioli.numerics.compiling import Matrix

__all__ = ["ColdFile", "HotMemory"]

STEP = 1 << 24  # bytes by which the file grows at least


class HotMemory:
    """Rows of float64 numbers in memory that the system hands out page by page as they are first written.

    Attributes
    ----------
    rows
        The numbers, as a matrix with one record a row; all 0 until written.
    """

    def __init__(self, rows: int, stride: int) -> None:
        self._map: Any = _anonymous(max(1, rows) * stride * 8)
        self.rows: Matrix = np.frombuffer(self._map, np.float64).reshape(-1, stride)

    def drop_from(self, row: int) -> None:
        """Give the memory from this row on back to the system, where it takes it; the rows read as 0 then."""
        if sys.platform != "win32":
            page = mmap.PAGESIZE
            first = -(-row * self.rows.shape[1] * 8 // page) * page
            if first < self.rows.nbytes:
                self._map.madvise(mmap.MADV_DONTNEED, first, self.rows.nbytes - first)


class ColdFile:
    """Records in a file that is mapped into memory, in a folder of the caller's; it is gone with the process.

    Room is reserved before anything is written: on a full disk `reserve` raises `OSError`, and no record is lost.
    """

    def __init__(self, stride: int, folder: str | None) -> None:
        self._stride = stride
        self.folder = tempfile.gettempdir() if folder is None else folder
        self._file: Any = None
        self._map: Any = None
        self.rows: Matrix = np.empty((0, stride))

    def reserve(self, rows: int) -> None:
        """Make room for so many records in all; raise `OSError`, with nothing changed, where the disk has none."""
        if rows <= len(self.rows):
            return
        octets = max(rows * self._stride * 8, len(self.rows) * self._stride * 8 * 5 // 4, STEP)
        octets = -(-octets // (self._stride * 8)) * self._stride * 8
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self.folder, prefix="aioli-fleet-")  # noqa: SIM115  (closed with the records)
            weakref.finalize(self, self._file.close)
        before = self.rows.nbytes
        try:
            _extend(self._file.fileno(), before, octets)
        except OSError:
            os.ftruncate(self._file.fileno(), before)
            raise
        # The old map is left to whoever still reads it, and closed with the last of them.
        self._map = mmap.mmap(self._file.fileno(), octets)
        if sys.platform == "linux":
            with suppress(OSError):  # else a record brings up to two megabytes around it into the process's memory
                self._map.madvise(mmap.MADV_NOHUGEPAGE)
                self._map.madvise(mmap.MADV_RANDOM)
        self.rows = np.frombuffer(self._map, np.float64).reshape(-1, self._stride)

    def forget_pages(self) -> None:
        """Unmap what was read and written: the file keeps it, and it no longer counts as this process's memory."""
        if self._map is not None and sys.platform != "win32":
            self._map.madvise(mmap.MADV_DONTNEED)


def _anonymous(octets: int) -> mmap.mmap:
    if sys.platform == "win32":
        return mmap.mmap(-1, octets)
    made = mmap.mmap(-1, octets, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        try:
            made.madvise(mmap.MADV_HUGEPAGE)  # a record lies anywhere: with small pages its address alone takes a miss
        except OSError:  # a kernel without them
            return made
    return made


def _extend(handle: int, before: int, after: int) -> None:
    """Give a file more bytes that are really there: a write into a map of a hole on a full disk ends the process."""
    if sys.platform == "linux":
        os.posix_fallocate(handle, before, after - before)
        return
    os.lseek(handle, before, os.SEEK_SET)
    zeros = bytes(1 << 20)
    left = after - before
    while left > 0:
        left -= os.write(handle, zeros[: min(left, len(zeros))])
