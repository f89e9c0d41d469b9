"""Cells of columns of numbers and dates that hold neither: how many, and the first of them, to be told."""

from typing import Self

from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.files.table import Table

__all__ = ["Unreadable"]

TOLD = 3  # cells that are told with their places


class Unreadable:
    """Counts unreadable cells by column, and keeps the places of the first few."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.first: list[str] = []

    def count(self, table: Table) -> None:
        """Count the cells of a table."""
        for name, cells in table.unreadable.items():
            if cells:
                self.counts[name] = self.counts.get(name, 0) + len(cells)
            for row, text in list(cells.items())[: TOLD - len(self.first)]:
                self.first.append(f"{table.where(row)}, column {name!r}: {text[:40]!r}")

    def plain(self) -> dict[str, Plain]:
        """Return it as plain values, to be kept in a snapshot."""
        return {"counts": dict(self.counts), "first": list(self.first)}

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal one from the value "unreadable" of a snapshot."""
        given = Snapshot("Unreadable", snapshot.mapping("unreadable"))
        made = cls()
        made.counts, made.first = given.counts("counts"), given.texts("first") or []
        return made
