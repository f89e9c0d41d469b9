"""Keeps the log in a PostgreSQL database, where one machine is not enough: same queries, the server's transactions."""

import contextlib
import importlib
import re
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from aioli.errors import ParameterRefused
from aioli.store.event_log import StoreFailed
from aioli.store.sql_log import SCHEMA, Found, SqlLog

__all__ = ["PostgresLog"]

WRITER = 0x61696F6C  # the advisory lock of the process that writes to the database
TYPES = {"serial": "BIGSERIAL PRIMARY KEY", "number": "BIGINT", "real": "DOUBLE PRECISION", "bytes": "BYTEA"}
SYNCS = ("normal", "full")
PASSWORD = re.compile(r"//[^@/]*@")


class PostgresLog(SqlLog):
    """Keeps the log of a service in a database; see `aioli.store.event_log.Store`.

    A connection that is lost is opened anew at the next call. One process writes at a time: it holds a lock of the
    database, which ends with its connection.

    Parameters
    ----------
    address
        postgresql://user:password@host/database
    sync
        "normal" or "full": either way a commit waits for the server's disk.
    writer
        False only reads.
    """

    mark = "%s"

    def __init__(self, address: str, sync: str = "normal", writer: bool = True) -> None:
        if sync not in SYNCS:
            raise ParameterRefused.unlike("sync", sync, "'full' or 'normal'")
        self._address, self._writer = address, writer
        self.name = PASSWORD.sub("//", address)
        self._psycopg = _psycopg()
        self._connection: Any = None
        with self._failures():
            connection = self._open()
            if writer:
                with connection.transaction():
                    for statement in SCHEMA:
                        connection.execute(statement.format(**TYPES))

    def _open(self) -> Any:
        """Return the connection, a new one where the last was lost."""
        if self._connection is None or self._connection.closed:
            self._connection = self._psycopg.connect(self._address, autocommit=True, connect_timeout=10)
            if self._writer:
                held = self._connection.execute("SELECT pg_try_advisory_lock(%s)", (WRITER,)).fetchone()
                if not held[0]:
                    self._connection.close()
                    raise StoreFailed(f"{self.name}: another service writes here; stop it, or give another database")
            else:
                self._connection.execute("SET default_transaction_read_only = on")
        return self._connection

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Found]:
        with self._failures():
            return list(self._open().execute(sql, tuple(values)).fetchall())

    def _write(self, *statements: tuple[str, Sequence[Sequence[object]]]) -> None:
        with self._failures():
            connection = self._open()
            with connection.transaction(), connection.cursor() as cursor:
                for sql, rows in statements:
                    cursor.executemany(sql, [tuple(row) for row in rows])

    def close(self) -> None:
        """See `Store`."""
        if self._connection is not None:
            self._connection.close()

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Return a context in which what the database refuses is a `StoreFailed`."""
        try:
            yield
        except self._psycopg.Error as error:
            said = str(error).strip().partition("\n")[0]
            message = f"{self.name}: {said}; see that the database runs and has room (nothing was kept of this request)"
            raise StoreFailed(message) from error


def _psycopg() -> ModuleType:
    try:
        return importlib.import_module("psycopg")
    except ImportError:
        raise ImportError("PostgreSQL needs psycopg: pip install 'aioli-online[postgres]'") from None
