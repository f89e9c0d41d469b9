"""Atomic writes: a temporary file beside the target is written, synced, and renamed over it."""

import contextlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["check_target", "os_errors_naming", "part_of", "replacing"]


def check_target(path: str) -> None:
    """Raise, before the work begins, where no file can be written at this path."""
    target = Path(path).absolute()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}; make it, or give another path")
    if target.is_dir():
        raise ValueError(f"{path}: is a folder; give the name of a file")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: nothing can be written in the folder {target.parent}; give another path")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], owner: str | None = None) -> Iterator[Path]:
    """Return a context that gives a temporary path; on success it replaces `path`, on an exception it is deleted.

    With an owner the temporary file has a fixed name, so that the next process of that owner overwrites what a killed
    one left behind.
    """
    target = Path(path).absolute()
    if owner is None:
        handle, name = tempfile.mkstemp(prefix=".aioli-", suffix=".part", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
    else:
        temporary = part_of(target, owner)
    try:
        yield temporary
        _sync(temporary, os.O_RDWR)
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes it private; it is to be as readable as any other file
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        _sync(target.parent, os.O_RDONLY)  # the rename itself


def part_of(path: str | os.PathLike[str], owner: str) -> Path:
    """Return the name of the temporary file beside `path` that belongs to the owner."""
    target = Path(path).absolute()
    return target.with_name(f".{target.name[:200]}.{zlib.crc32(os.fsencode(owner)):08x}.part")


def _sync(path: Path, mode: int) -> None:
    handle = os.open(path, mode)  # Windows syncs only what may be written
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def os_errors_naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Return a context in which every `OSError` names this path, not a temporary file or none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error
