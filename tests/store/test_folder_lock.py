"""A folder is held by one process at a time, by either system's locks."""

import errno
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aioli.store import folder_lock
from aioli.store.folder_lock import FolderLock


def test_a_folder_is_held_once_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(BlockingIOError):
        FolderLock(tmp_path)
    first.release()
    first.release()
    FolderLock(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from aioli.store.folder_lock import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1])); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    FolderLock(tmp_path).release()


def test_where_a_folder_cannot_be_locked_a_file_in_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls of Windows, played by those of POSIX; on Windows the tests above make them."""
    fcntl: Any = pytest.importorskip("fcntl", reason="this system has no fcntl")

    def locking(handle: int, mode: int, size: int) -> None:
        assert (mode, size) == (2, 1)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    monkeypatch.setattr(folder_lock, "POSIX", False)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    first = FolderLock(tmp_path)
    with pytest.raises(BlockingIOError):
        FolderLock(tmp_path)
    first.release()
    FolderLock(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_used_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locking(*_: int) -> None:
        raise OSError(errno.ENOSYS, "no locks here")

    monkeypatch.setattr(folder_lock, "POSIX", False)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    FolderLock(tmp_path).release()
