"""Rows that could not be read or learned and were left out: how many, and what was wrong with the first of them."""

from collections.abc import Iterable
from typing import Self

from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["SkippedRows"]

TOLD = 3  # rows that are told with their places


class SkippedRows:
    """Counts rows that were left out, and keeps what was wrong with the first few.

    >>> skipped = SkippedRows()
    >>> skipped.add(["a.csv, line 3: has 1 cells, but there are 2 columns; mend the row", "a.csv, line 9: …"])
    >>> print(skipped)
    2 rows (a.csv, line 3: has 1 cells, but there are 2 columns; a.csv, line 9: …)
    """

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, messages: Iterable[str]) -> None:
        """Count rows by the messages that refuse them, the remedy behind the semicolon left out."""
        for message in messages:
            self.count += 1
            if len(self.first) < TOLD:
                self.first.append(message.partition("; ")[0])

    def __str__(self) -> str:
        rows = "1 row" if self.count == 1 else f"{self.count:,} rows"
        return f"{rows} ({'; '.join(self.first)}{'; …' if self.count > len(self.first) else ''})"

    def plain(self) -> dict[str, Plain]:
        """Return it as plain values, to be kept in a snapshot."""
        return {"count": self.count, "first": list(self.first)}

    @classmethod
    def restore(cls, snapshot: Snapshot, name: str = "skipped") -> Self:
        """Make an equal one from a value of a snapshot; an empty one where the snapshot has none."""
        made = cls()
        if name in snapshot.values:
            given = Snapshot("SkippedRows", snapshot.mapping(name))
            made.count, made.first = given.whole("count"), given.texts("first") or []
        return made
