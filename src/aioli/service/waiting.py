"""Keeps the rows of a served model that wait for their labels: by id, oldest first, within limits of age and number."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from aioli.errors import ParameterRefused
from aioli.store.event_log import Entry
from aioli.store.label_codec import LearnedLabel
from aioli.store.row_codec import AnnouncedRow, row_from_bytes

__all__ = ["Limits", "Waiting", "WaitingById", "WaitingLabel"]


class Limits(NamedTuple):
    """How many rows may wait, and for how many seconds; the oldest expire."""

    most: int = 100_000
    seconds: float = 30 * 86400.0

    @classmethod
    def checked(cls, most: object, seconds: object) -> "Limits":
        """Return limits, or refuse what is none."""
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= 10**8:
            raise ParameterRefused.unlike("most", most, "a whole number from 1 to 100,000,000")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.0 < seconds <= 1e10:
            raise ParameterRefused.unlike("seconds", seconds, "a number above 0")
        return cls(most, float(seconds))


class Waiting(NamedTuple):
    """A row that waits: since when, and what was announced, as the log holds it (bytes cost the collector nothing)."""

    time: float
    body: bytes

    @property
    def row(self) -> AnnouncedRow:
        """The announced row."""
        return row_from_bytes(self.body)


class WaitingLabel(NamedTuple):
    """A label that waits to be learned, with the id and the row that it is of."""

    id: str
    row: AnnouncedRow
    label: LearnedLabel


class WaitingById:
    """Rows by id, in the order in which they came. O(1) to add, find and drop."""

    def __init__(self, limits: Limits, entries: Iterable[Entry] = ()) -> None:
        self.limits = limits
        self._rows = {entry.id: Waiting(entry.time, entry.body) for entry in entries}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def get(self, name: str) -> Waiting | None:
        """Return the row of an id; None where none waits."""
        return self._rows.get(name)

    def add(self, name: str, waiting: Waiting) -> None:
        """Add a row, which is the newest."""
        self._rows[name] = waiting

    def add_entry(self, entry: Entry) -> None:
        """Add a row of the log, which is the newest."""
        self._rows[entry.id] = Waiting(entry.time, entry.body)

    def drop(self, name: str) -> None:
        """Drop the row of an id."""
        del self._rows[name]

    def oldest_age(self, now: float) -> float:
        """Return for how many seconds the oldest row has waited; 0 where none waits."""
        return max(0.0, now - next(iter(self._rows.values())).time) if self._rows else 0.0

    def overdue(self, now: float) -> list[str]:
        """Return the ids of rows beyond the limits, the oldest first."""
        found: list[str] = []
        surplus, before = len(self._rows) - self.limits.most, now - self.limits.seconds
        for name, waiting in self._rows.items():
            if len(found) >= surplus and waiting.time >= before:
                break
            found.append(name)
        return found
