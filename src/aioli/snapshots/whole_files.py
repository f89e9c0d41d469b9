"""Atomic writes: a temporary file beside the target is written, synced, and renamed over it.

Whatever aioli writes of a run (models, checkpoints, predictions, pages) goes through `DiskFile` and the functions of
`os` that are called here: the tests make each of these calls fail in turn.
"""

import contextlib
import importlib
import io
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["DiskFile", "check_target", "clear_parts", "os_errors_naming", "replacing"]

POSIX = os.name == "posix"


class DiskFile(io.RawIOBase):
    """Writes to an open file; every byte that aioli keeps of a run passes here. The handle stays the caller's."""

    def __init__(self, handle: int) -> None:
        super().__init__()
        self._handle = handle

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the handle."""
        return self._handle

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write all of the data, however many times the system takes only some of it, or is interrupted."""
        view = memoryview(data).cast("B")
        written = 0
        while written < len(view):
            with contextlib.suppress(InterruptedError):
                written += os.write(self._handle, view[written:])
        return written


def check_target(path: str) -> None:
    """Raise, before the work begins, where no file can be written at this path."""
    target = _followed(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}; make it, or give another path")
    if target.is_dir():
        raise ValueError(f"{path}: is a folder; give the name of a file")
    _check_replaceable(target, path)
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: nothing can be written in the folder {target.parent}; give another path")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Return a context that gives a temporary file; on success it replaces `path`, on an exception it is deleted.

    A link is followed, and stays a link; a file that is replaced keeps its permissions; a device or a pipe is refused.
    What a killed process left behind beside the target is deleted.
    """
    target = _followed(path)
    _check_replaceable(target, path)
    clear_parts(target)
    temporary, handle = _create(target)
    open_handle: int | None = handle
    try:
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))  # before anything private is in it
        with io.BufferedWriter(DiskFile(handle), 1 << 16) as file:
            yield cast(BinaryIO, file)
        _sync(handle)
        if not POSIX:  # Windows renames no file that is open
            os.close(handle)
            open_handle = None
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        if open_handle is not None:
            os.close(open_handle)
    if POSIX:
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            _sync(folder)  # the rename itself
        finally:
            os.close(folder)


def clear_parts(path: str | os.PathLike[str]) -> None:
    """Delete the temporary files that killed processes have left beside a target; those in use are locked, and stay."""
    if not POSIX:
        return
    target = _followed(path)
    with contextlib.suppress(OSError):
        for part in target.parent.glob(f"{_part_prefix(target)}*.part"):
            with contextlib.suppress(OSError):
                handle = os.open(part, os.O_RDONLY)
                try:
                    if _lock(handle, without_locks=False):
                        part.unlink()
                finally:
                    os.close(handle)


def _create(target: Path) -> tuple[Path, int]:
    """Create a temporary file beside the target, locked, so that `clear_parts` of another process leaves it alone."""
    while True:
        temporary = target.with_name(f"{_part_prefix(target)}{secrets.token_hex(8)}.part")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        if sys.platform == "win32":
            flags |= os.O_BINARY
        handle = os.open(temporary, flags, 0o666)
        if not POSIX or (_lock(handle, without_locks=True) and os.fstat(handle).st_nlink):  # else it was cleared away
            return temporary, handle
        os.close(handle)


def _part_prefix(target: Path) -> str:
    """Return how the names of the temporary files of a target begin: short, however long its own name is."""
    return f".aioli-{zlib.crc32(os.fsencode(target.name)):08x}-"


def _lock(handle: int, *, without_locks: bool) -> bool:
    """Return whether this process has got the lock of the file; `without_locks` where the file system has none."""
    fcntl = importlib.import_module("fcntl")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return without_locks
    return True


def _followed(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def _check_replaceable(target: Path, path: str | os.PathLike[str]) -> None:
    if target.exists() and not target.is_file() and not target.is_dir():
        raise ValueError(f"{os.fspath(path)}: is a device or a pipe, which cannot be replaced; give the name of a file")


def _sync(handle: int) -> None:
    os.fsync(handle)


@contextlib.contextmanager
def os_errors_naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Return a context in which every `OSError` names this path, not a temporary file or none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error
