"""Stores the records of a fleet by the number of their key: those in use in memory, the others in a file on disk.

A record is copied whole, bit for bit, so that where it lies never shows in a result. Which records go to the file is
settled by who has waited longest; an eighth of the memory is cleared at a time.
"""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from aioli.fleet.layout import EXTENSION, LAST, Layout
from aioli.fleet.memory import ColdFile, HotMemory
from aioli.fleet.room import Places, Room
from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = ["ABSENT", "FEWEST", "Records", "copy_records"]

ABSENT = -1  # a key without a record; below it, -2 - s is slot s of the file
FEWEST = 64  # records that memory holds at least, whatever the budget
CHUNK = 64  # records read or written before the pages of the file are let go: each may bring a quarter megabyte
SHARE = 8  # an eighth of the records is evicted at a time
FREE, EXTENDS = -1, -2  # of a place in memory, instead of the number of its key


@compiled("void(f8[:,::1],i8[::1],f8[:,::1],i8[::1])")
def copy_records(target: Matrix, places: Places, source: Matrix, sources: Places) -> None:
    """Copy records from place to place, one after the other: no memory is taken for all of them at once."""
    for i in range(places.size):
        target[places[i]] = source[sources[i]]


@compiled("i8(i8[::1],i8[::1],i8[::1])")
def find_places(places: Places, numbers: Places, here: Places) -> int:
    """Write the place of each number, ABSENT beyond the last; return the least, at most 0. O(1) each."""
    least = 0
    for t in range(numbers.size):
        here[t] = places[numbers[t]] if numbers[t] < places.size else ABSENT
        least = min(least, here[t])
    return least


def _chunks(count: int) -> Iterator[slice]:
    """Yield slices of so many records that the pages of the file that they lie on are no burden to memory."""
    for first in range(0, count, CHUNK):
        yield slice(first, first + CHUNK)


class Records:
    """Keeps records in memory up to a limit, and the others in a file.

    Parameters
    ----------
    layout
        How a record is laid out.
    fresh
        The record of a new key.
    limit
        How many records memory may hold; None for any number.
    folder
        Where the file is; None for the system's folder of temporary files.
    """

    def __init__(self, layout: Layout, fresh: Vector, limit: int | None, folder: str | None) -> None:
        self.layout, self.fresh = layout, fresh
        self.limit = limit
        self.places: Places = np.full(FEWEST, ABSENT)
        self._hot = HotMemory(FEWEST if limit is None else limit * 9 // 8 + FEWEST, layout.stride)
        self._owners: Places = np.full(FEWEST, FREE)
        self._room = Room()
        self._cold = ColdFile(layout.stride, folder)
        self._cold_room = Room()
        self._own = 0  # records of keys, wherever they lie; the others are extensions

    # ---- what is where

    @property
    def hot(self) -> Matrix:
        """The records in memory, by their place."""
        return self._hot.rows

    @property
    def cold(self) -> Matrix:
        """The records in the file, by their slot."""
        return self._cold.rows

    @property
    def in_memory(self) -> int:
        """How many records are in memory, extensions counted."""
        return self._room.in_use

    @property
    def on_disk(self) -> int:
        """How many records are in the file, extensions counted."""
        return self._cold_room.in_use

    @property
    def extensions(self) -> int:
        """How many records are the extension of another, wherever they lie."""
        return self.in_memory + self.on_disk - self._own

    @property
    def nbytes(self) -> int:
        """How much memory the records take, and the tables of where they are."""
        return self._room.top * self.layout.stride * 8 + self.places.nbytes + self._owners.nbytes

    # ---- making them available

    def reserve(self, count: int) -> None:
        """Make sure that the file can take whatever `bring` may evict with `count` keys; raise `OSError` if it cannot.

        Nothing is changed where it cannot.
        """
        if self.limit is None or count <= self.limit:
            return
        self._reserve(count + self.extensions if self.extensions else count - self.limit // 2)

    def bring(self, numbers: Places, clock: float) -> Places:
        """Return the places in memory of the records of these numbers; those in the file are read, new ones made.

        `clock` is the row that comes next: what was last used before is older.
        """
        here = np.empty(numbers.size, np.int64)
        if find_places(self.places, numbers, here) >= 0:
            return here
        missing = here < 0
        wanted = np.unique(numbers[missing])
        if wanted[-1] >= self.places.size:
            self.places = np.append(self.places, np.full(max(self.places.size, int(wanted[-1]) + 1), ABSENT))
        self.hot[here[~missing], LAST] = clock
        was = self.places[wanted]
        slots = -2 - was[was < ABSENT]
        extensions = self._extensions_on_disk(slots)
        extended = extensions >= 0
        needed = wanted.size + int(np.count_nonzero(extended))
        if self.limit is not None and self.in_memory + needed > self.limit:
            with suppress(OSError):  # `reserve` has made sure; should it have been wrong, memory takes what disk cannot
                self._evict(max(self.in_memory + needed - self.limit, self.limit // SHARE), clock)
        places = self._take(wanted.size, wanted)
        old = was < ABSENT
        self.hot[places[~old]] = self.fresh
        self._read(places[old], slots)
        if extended.any():
            second = self._take(int(np.count_nonzero(extended)), EXTENDS)
            self._read(second, extensions[extended])
            self.hot[places[old][extended], EXTENSION] = second
        self._cold_room.give_back(slots)
        self._cold_room.give_back(extensions[extended])
        self.places[wanted] = places
        self._own += int(np.count_nonzero(~old))
        self.hot[places, LAST] = clock
        return self.places[numbers]

    def extend(self, place: int) -> None:
        """Give a record in memory an extension, if it has none; memory may exceed its limit until the next `bring`."""
        if self.hot[place, EXTENSION] < 0:
            (second,) = self._take(1, EXTENDS)
            self.hot[second] = 0.0
            self.hot[place, EXTENSION] = second

    def evict_older(self, clock: float) -> None:
        """Move the records last used before this row to the file; raise `OSError`, nothing changed, on a full disk."""
        count = int(np.count_nonzero(self.hot[self._own_places(), LAST] < clock))
        if count:
            self._reserve(self.on_disk + 2 * count)
            self._evict(count, clock)

    def lower_limit(self, limit: int, clock: float) -> None:
        """Lower the number of records that memory may hold, and give back what lies beyond it.

        Raises `OSError`, with nothing changed, where the disk has no room for what must leave memory.
        """
        if self.limit is None or limit >= self.limit:
            return
        if self.in_memory > limit:
            self._reserve(self.on_disk + 2 * (self.in_memory - limit))
            self._evict(self.in_memory - limit, clock)
        self.limit = limit
        self._compact()

    def forget_pages(self) -> None:
        """Let go of the pages of the file that were read."""
        self._cold.forget_pages()

    # ---- within

    def _reserve(self, slots: int) -> None:
        """Make the file hold so many records in all, or raise an `OSError` that says what to do."""
        try:
            self._cold.reserve(slots)
        except OSError as error:
            message = (
                f"{self._cold.folder}: no room for {slots} records of {8 * self.layout.stride} bytes that do not fit "
                f"into memory ({error.strerror}); free some disk, give another folder as spill, or more memory "
                "(nothing was learned)"
            )
            raise OSError(error.errno, message) from error

    def _take(self, count: int, owners: Places | int) -> Places:
        """Return places in memory that are free, now owned by these numbers."""
        used = self._room.top
        places = self._room.take(count)
        if self._room.top > len(self.hot):
            larger = HotMemory(max(2 * len(self.hot), self._room.top), self.layout.stride)
            larger.rows[:used] = self.hot[:used]
            self._hot = larger
        if self._room.top > self._owners.size:
            more = max(self._owners.size, self._room.top - self._owners.size)
            self._owners = np.append(self._owners, np.full(more, FREE))
        self._owners[places] = owners
        return places

    def _own_places(self) -> Places:
        """Return the places in memory that hold a key's own record."""
        return np.flatnonzero(self._owners[: self._room.top] >= 0)

    def _evict(self, count: int, clock: float) -> None:
        """Move at least `count` records in memory to the file, the longest unused first, none used since `clock`."""
        places = self._own_places()
        ages = self.hot[places, LAST]
        places, ages = places[ages < clock], ages[ages < clock]
        if places.size > count:
            places = places[np.argpartition(ages, count - 1)[:count]]
        places = np.sort(places)
        extensions = self.hot[places, EXTENSION].astype(np.int64)
        extended = extensions >= 0
        gone = np.concatenate([places, extensions[extended]])
        self._cold.reserve(max(self._cold_room.top, self.on_disk + gone.size))
        slots = self._cold_room.take(gone.size)
        for part in _chunks(gone.size):
            copy_records(self.cold, slots[part], self.hot, gone[part])
            self._cold.forget_pages()
        self.cold[slots[: places.size][extended], EXTENSION] = slots[places.size :]
        self.places[self._owners[places]] = -2 - slots[: places.size]
        self._owners[gone] = FREE
        self._room.give_back(gone[::-1])

    def _read(self, places: Places, slots: Places) -> None:
        """Copy records from the file into memory."""
        for part in _chunks(slots.size):
            copy_records(self.hot, places[part], self.cold, slots[part])
            self._cold.forget_pages()

    def _extensions_on_disk(self, slots: Places) -> Places:
        """Return the slots of these records' extensions, -1 where there is none."""
        found = np.full(slots.size, -1)
        if self.extensions:
            for part in _chunks(slots.size):
                found[part] = self.cold[slots[part], EXTENSION]
                self._cold.forget_pages()
        return found

    def _compact(self) -> None:
        """Move the records in memory together, and give the memory behind them back."""
        used, top = self._room.top, self.in_memory
        holes = np.flatnonzero(self._owners[:top] == FREE)
        moved = np.flatnonzero(self._owners[top:used] != FREE) + top
        copy_records(self.hot, holes, self.hot, moved)
        owners = self._owners[moved]
        self._owners[holes] = owners
        self.places[owners[owners >= 0]] = holes[owners >= 0]
        self._owners[top:used] = FREE
        where = np.arange(used)
        where[moved] = holes
        self._room.restart(top)
        own = self._own_places()
        extensions = self.hot[own, EXTENSION].astype(np.int64)
        extended = extensions >= 0
        self.hot[own[extended], EXTENSION] = where[extensions[extended]]
        self._hot.drop_from(top)
