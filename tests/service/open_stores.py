"""Closes the stores that a test has opened, as its process would do at its end."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aioli.store.postgres_log import PostgresLog
from aioli.store.sqlite_log import SqliteLog

__all__ = ["remember_stores"]


@contextmanager
def remember_stores() -> Iterator[None]:
    """Close, at the end, every store that was opened within."""
    opened: list[SqliteLog | PostgresLog] = []
    with pytest.MonkeyPatch.context() as patched:
        for kind in (SqliteLog, PostgresLog):
            make = kind.__init__

            def remembered(self: SqliteLog | PostgresLog, *args: object, make: object = make, **more: object) -> None:
                make(self, *args, **more)  # type: ignore[operator]  # the constructor that was there
                opened.append(self)

            patched.setattr(kind, "__init__", remembered)
        try:
            yield
        finally:
            for store in opened:
                store.close()
