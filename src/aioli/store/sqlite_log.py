"""Keeps the log in an embedded database: one SQLite file, in a folder that one process writes to."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from aioli.errors import FileRefused, ParameterRefused
from aioli.store.event_log import StoreFailed
from aioli.store.folder_lock import FolderLock
from aioli.store.sql_log import SCHEMA, Found, SqlLog

__all__ = ["FILE", "SqliteLog", "back_up"]

FILE = "service.db"
PATIENCE = 2.0  # seconds to wait for another process that has the file locked, such as a backup
SYNCS = {"full": "FULL", "normal": "NORMAL"}


class SqliteLog(SqlLog):
    """Keeps the log of a service in a folder; see `aioli.store.event_log.Store`.

    A commit is appended to the write-ahead log, which SQLite checks on opening: an entry is there whole or not at all.

    Parameters
    ----------
    folder
        The folder; it is made where it is not there, readable by its owner alone.
    sync
        "full" waits for the disk at each commit, and survives a loss of power; "normal" leaves that to the operating
        system, and survives the death of the process.
    writer
        False only reads, beside a process that writes.
    """

    def __init__(self, folder: str | os.PathLike[str], sync: str = "full", writer: bool = True) -> None:
        if sync not in SYNCS:
            raise ParameterRefused.unlike("sync", sync, "'full' or 'normal'")
        self.folder = Path(folder)
        self._lock: FolderLock | None = None
        if self.folder.exists() and not self.folder.is_dir():
            raise FileRefused(f"{folder}: is a file; give a folder for the service", path=str(folder))
        if writer:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._lock = FolderLock(self.folder)
            except BlockingIOError:
                message = f"{folder}: another service writes here; stop it, or give another folder"
                raise FileRefused(message, path=str(folder)) from None
        elif not (self.folder / FILE).is_file():
            message = f"{folder}: holds no service; give the folder of `aioli serve`"
            raise FileRefused(message, path=str(folder))
        try:
            with _failures(self.folder):
                self._database = _connect(self.folder / FILE, writer)
                if writer:
                    self._prepare(sync)
        except BaseException:
            self._release()
            raise

    def _prepare(self, sync: str) -> None:
        os.chmod(self.folder / FILE, 0o600)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute(f"PRAGMA synchronous = {SYNCS[sync]}")
        self._database.execute("PRAGMA wal_autocheckpoint = 4000")
        types = {"serial": "INTEGER PRIMARY KEY AUTOINCREMENT", "number": "INTEGER", "real": "REAL", "bytes": "BLOB"}
        for statement in SCHEMA:
            self._database.execute(statement.format(**types))

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Found]:
        with _failures(self.folder):
            return self._database.execute(sql, tuple(values)).fetchall()

    def _write(self, *statements: tuple[str, Sequence[Sequence[object]]]) -> None:
        with _failures(self.folder):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                for sql, rows in statements:
                    self._database.executemany(sql, rows)
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """See `Store`."""
        self._database.close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()


def back_up(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy a service's log, which may be in use, to a new folder: all of it as of one moment."""
    source, path = Path(folder) / FILE, Path(target) / FILE
    if not source.is_file():
        raise FileRefused(f"{folder}: holds no service; give the folder of `aioli serve`", path=str(folder))
    if path.exists():
        raise FileRefused(f"{target}: holds a service already; give another folder", path=str(target))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with _failures(path.parent):
        with (
            contextlib.closing(_connect(source, writer=False)) as original,
            contextlib.closing(sqlite3.connect(part)) as copy,
        ):
            original.backup(copy)
        os.chmod(part, 0o600)
        os.replace(part, path)


def _connect(path: Path, writer: bool) -> sqlite3.Connection:
    mode = "rwc" if writer else "ro"
    name = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(name, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)


@contextlib.contextmanager
def _failures(folder: Path) -> Iterator[None]:
    """Return a context in which what SQLite refuses is a `StoreFailed` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        said = str(error)
        advice = "look at the disk, and restore a backup where the file is damaged"
        if "full" in said:
            advice = "make room on the disk"
        elif "locked" in said or "busy" in said:
            advice = "end the other program that has the file open"
        elif "readonly" in said or "unable to open" in said:
            advice = "let this user write to the folder"
        raise StoreFailed(f"{folder}: {said}; {advice} (nothing was kept of this request)") from error
