"""Hands out places for records, takes them back, and hands them out again."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Places", "Room"]

Places = NDArray[np.int64]


class Room:
    """Hands out places from 0 on, those that were given back first.

    Attributes
    ----------
    top
        Places from here on have never been handed out.
    """

    def __init__(self) -> None:
        self.top = 0
        self._free: Places = np.empty(0, np.int64)
        self._count = 0

    @property
    def in_use(self) -> int:
        """How many places are handed out."""
        return self.top - self._count

    def take(self, count: int) -> Places:
        """Return so many places, which nobody else has."""
        reused = self._free[max(0, self._count - count) : self._count].copy()
        self._count -= reused.size
        fresh = count - reused.size
        self.top += fresh
        return np.concatenate([reused, np.arange(self.top - fresh, self.top)])

    def give_back(self, places: Places) -> None:
        """Take places back."""
        if self._count + places.size > self._free.size:
            self._free = np.append(self._free, np.empty(max(self._free.size, places.size), np.int64))
        self._free[self._count : self._count + places.size] = places
        self._count += places.size

    def restart(self, top: int) -> None:
        """Forget which places were given back: all below `top` are in use, and none beyond."""
        self.top, self._count = top, 0
        self._free = np.empty(0, np.int64)
