"""Opens the store that an address names: a folder is an embedded one, postgresql://… a database server's."""

from aioli.store.event_log import Store
from aioli.store.sqlite_log import SqliteLog

__all__ = ["open_store"]

POSTGRES = ("postgresql://", "postgres://")


def open_store(place: str, sync: str = "normal", writer: bool = True) -> Store:
    """Return the store at a folder, or at the address of a PostgreSQL database."""
    if place.startswith(POSTGRES):
        from aioli.store.postgres_log import PostgresLog

        return PostgresLog(place, sync, writer)
    return SqliteLog(place, sync, writer)
