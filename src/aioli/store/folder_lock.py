"""Locks a folder for one process, by the operating system's own locks: they end with the process.

POSIX locks the folder itself, so that nothing is left in it; a library that locks files (filelock) leaves one behind,
since to delete it would let two processes in. Windows cannot lock a folder: a file in it is locked there, and deleted
at the end, which Windows refuses while another process has it open.
"""

import contextlib
import errno
import importlib
import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["FolderLock"]

POSIX = os.name == "posix"
LOCK = ".lock"
HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # what the systems answer where another process holds the lock


class FolderLock:
    """Hold a folder until `release`, or raise `BlockingIOError` where another process holds it.

    It has no effect where the file system has no locks, as on some networks.
    """

    def __init__(self, folder: Path) -> None:
        self._file = None if POSIX else folder / LOCK
        self._handle: int | None = _open_locked(folder) if self._file is None else _open_locked_file(self._file)

    def release(self) -> None:
        """Let others have the folder."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
            if self._file is not None:
                with contextlib.suppress(OSError):  # another process has it already
                    self._file.unlink()


def _open_locked(folder: Path) -> int | None:
    fcntl = importlib.import_module("fcntl")
    handle = os.open(folder, os.O_RDONLY)
    return _tried(handle, lambda: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB))


def _open_locked_file(path: Path) -> int | None:
    msvcrt = importlib.import_module("msvcrt")
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    return _tried(handle, lambda: msvcrt.locking(handle, msvcrt.LK_NBLCK, 1))


def _tried(handle: int, lock: Callable[[], object]) -> int | None:
    try:
        lock()
    except OSError as error:
        os.close(handle)
        if error.errno in HELD:
            raise BlockingIOError(error.errno, "another process holds it") from None
        return None
    return handle
