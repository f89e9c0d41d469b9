"""Every store that a test has opened is closed behind it, as its process would do."""

from collections.abc import Iterator

import pytest

from aioli.store.postgres_log import PostgresLog
from aioli.store.sqlite_log import SqliteLog


@pytest.fixture(autouse=True)
def _stores_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    opened: list[SqliteLog | PostgresLog] = []
    for kind in (SqliteLog, PostgresLog):
        make = kind.__init__

        def remembered(self: SqliteLog | PostgresLog, *args: object, make: object = make, **more: object) -> None:
            make(self, *args, **more)  # type: ignore[operator]
            opened.append(self)

        monkeypatch.setattr(kind, "__init__", remembered)
    yield
    for store in opened:
        store.close()
