"""Defines a service's log: every row that was announced and every label that was learned, in order; and its interface.

A store keeps, for each model, entries that are only ever added, snapshots of the model at some of them, and the hashes
of access tokens. `store.sqlite_log` is the embedded one, `store.postgres_log` the one of a database server.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from aioli.errors import AioliError

__all__ = ["Entry", "Event", "KeptSnapshot", "ModelRecord", "Store", "StoreFailed"]


class StoreFailed(AioliError):
    """The store could not do what it was asked for: its disk is full, it is locked, or it does not answer."""


class Event(IntEnum):
    """What an entry of the log tells."""

    ROW = 1  # a row was announced
    LABEL = 2  # the label of a row was learned
    EXPIRED = 3  # a row has waited too long, and its label will not be learned


class Entry(NamedTuple):
    """One entry of the log.

    Attributes
    ----------
    sequence
        Its number; the numbers of all models' entries rise in the order of what happened.
    model
        The number of the model.
    event, id
        What happened to the row of which id.
    time
        When, in seconds since 1970; no entry's time is before that of the entry before.
    body
        The row with its announcement (`store.row_codec`), or the label as JSON; empty where there is nothing to say.
    """

    sequence: int
    model: int
    event: int
    id: str
    time: float
    body: bytes


class ModelRecord(NamedTuple):
    """A model of the store: its number, its name, how its rows are read, as JSON, and when it was made."""

    number: int
    name: str
    spec: str
    made: float


class KeptSnapshot(NamedTuple):
    """A snapshot of a model as bytes, and the number of the last entry that it knows."""

    sequence: int
    data: bytes


class Store(Protocol):
    """Where a service keeps its log. What `append` returned from survives a kill; what failed has left nothing."""

    @property
    def last(self) -> tuple[int, float]:
        """The number and time of the last entry; 0 and 0.0 where there is none."""

    def append(self, entries: Sequence[Entry], snapshots: Sequence[tuple[int, KeptSnapshot]] = ()) -> None:
        """Add entries, and snapshots of models by number, all or none, and return once they are durable."""

    def find(self, model: int, ids: Iterable[str]) -> dict[str, list[Entry]]:
        """Return the entries of these ids, in their order; ids that never came are left out."""

    def entries(self, model: int, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield a model's entries with numbers above `after`, up to `until`, in their order."""

    def waiting(self, model: int, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries of rows that still wait for their label, or waited at entry `until`, the oldest first."""

    def sequence_at(self, time: float) -> int:
        """Return the number of the last entry that is not later than a time."""

    def models(self) -> list[ModelRecord]:
        """Return the models, in the order in which they were made."""

    def add_model(self, name: str, spec: str, time: float, snapshot: bytes) -> int:
        """Add a model with its snapshot before the first row; return its number."""

    def remove_model(self, model: int) -> None:
        """Remove a model, its entries and its snapshots."""

    def snapshot(self, model: int, until: int | None = None) -> KeptSnapshot:
        """Return the newest snapshot of a model, or the newest that is not behind entry `until`."""

    def origin(self, model: int) -> KeptSnapshot:
        """Return the snapshot from which a replay begins: after the first row, or before it where none has come."""

    def keep_newest(self, model: int, count: int) -> None:
        """Delete all but the `count` newest snapshots of a model, and its first two."""

    def tokens(self) -> Mapping[str, str]:
        """Return what each access token may do, by the token's hash: "read" or "write"."""

    def add_token(self, hashed: str, rights: str, time: float) -> None:
        """Add an access token by its hash."""

    def close(self) -> None:
        """Close the store."""
