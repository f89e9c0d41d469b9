"""Finds the announcement of a row by the row's content, where a label comes with its row and nothing else."""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import NamedTuple

from aioli.learners.announcements import Announcement
from aioli.streams.dictionaries import Item

__all__ = ["AnnouncedRows", "PredictedRow"]


class AnnouncedRows:
    """Keeps announcements until their labels come; the oldest is forgotten where there are too many.

    Rows of the same content are told apart by their order: the label that comes first is of the row that came first.
    O(1) to add, find and drop.

    Parameters
    ----------
    most
        How many announcements are kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._announced: OrderedDict[int, tuple[Hashable, Announcement]] = OrderedDict()  # by number, the oldest first
        self._numbers: dict[Hashable, deque[int]] = {}  # of the announcements of a row, the oldest first

    def __len__(self) -> int:
        return len(self._announced)

    def add(self, row: Hashable, announced: Announcement) -> None:
        """Keep an announcement of this row."""
        if len(self._announced) >= self.most:
            self.drop(next(iter(self._announced.values()))[0])
        self._announced[announced.number] = row, announced
        self._numbers.setdefault(row, deque()).append(announced.number)

    def oldest(self, row: Hashable) -> Announcement | None:
        """Return the oldest announcement of this row; None where there is none."""
        numbers = self._numbers.get(row)
        return None if numbers is None else self._announced[numbers[0]][1]

    def drop(self, row: Hashable) -> None:
        """Forget the oldest announcement of this row."""
        numbers = self._numbers[row]
        del self._announced[numbers.popleft()]
        if not numbers:
            del self._numbers[row]


class PredictedRow(NamedTuple):
    """The row that was predicted last, and how often by each of the two methods: one row may be asked by both."""

    x: Item
    times: list[int]

    def is_of(self, x: Item) -> bool:
        """Return whether a row has the same content."""
        try:
            return self.x == x
        except ValueError:  # an array among its values, which will be refused
            return False
