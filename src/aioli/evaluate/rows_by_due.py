"""Queues predicted rows whose labels come at times of their own, in any order."""

from bisect import bisect_right, insort
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from aioli.evaluate.waiting_rows import Block, WaitingRows, join_blocks

__all__ = ["RowsByDue"]

Entry: TypeAlias = tuple[float, int, Block, int]  # when the label comes, the row's number, its block, its place there
SPARE = 1024  # entries of learned rows that are kept before the list is cut


class RowsByDue(WaitingRows):
    """A queue of announced rows in the order in which their labels come; rows of one time come as announced.

    O(log n) comparisons to put a row in, and a move of the entries that come after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[Entry] = []
        self._start = 0  # of those that still wait
        self._numbers = 0

    @property
    def next_due(self) -> float:
        """The time at which the next label comes; infinity where no row waits."""
        return self._entries[self._start][0] if self._rows else np.inf

    def due(self, time: float) -> int:
        """Return how many labels have come by a time."""
        return bisect_right(self._entries, time, lo=self._start, key=itemgetter(0)) - self._start

    def add(self, block: Block) -> None:
        """Put rows where their labels come."""
        for row, due in enumerate(block.due.tolist()):
            insort(self._entries, (due, self._numbers, block, row), lo=self._start)
            self._numbers += 1
        self._width = max(self._width, block.X.shape[1])
        self._rows += len(block.y)

    def first(self, rows: int, width: int | None) -> Block:
        """Return the rows whose labels come first, as wide as the learner is now."""
        entries = self._entries[self._start : self._start + rows]
        parts = [
            block.of(np.array([entry[3] for entry in group], dtype=np.int64))
            for block, group in ((found[0][2], found) for found in _runs(entries))
        ]
        return join_blocks(parts, max(self._width, width or 0))

    def _forget(self, rows: int) -> None:
        self._start += rows
        if self._start > SPARE + self._rows:
            del self._entries[: self._start]
            self._start = 0


def _runs(entries: list[Entry]) -> list[list[Entry]]:
    """Return the entries in runs of one block each."""
    return [list(run) for _, run in groupby(entries, key=lambda entry: id(entry[2]))]
