"""A compiled hash table from whole numbers of 64 bits to places: open addressing, 16 to 32 bytes a key."""

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import compiled
from aioli.numerics.prefetch import prefetch

__all__ = ["IntegerTable"]

Integers = NDArray[np.int64]
Slots = NDArray[np.int32]

EMPTY = -1
SMALLEST = 1 << 10
AHEAD = 16  # keys between asking for a slot, asking for the key that it names, and comparing
CHUNK = 1 << 16  # keys looked up at a time, so that room is made for so many new ones and no more


@compiled("i8(i8,i8)", inline=True)
def first_slot(key: int, mask: int) -> int:
    """Return where the search for a key begins: its bits mixed, so that consecutive keys lie apart."""
    mixed = key * -7046029254386353131  # 2⁶⁴ over the golden ratio, as a signed number
    return (mixed ^ (mixed >> 29)) & mask


@compiled("i8(i4[::1],i8[::1],i8)", inline=True)
def slot_of(slots: Slots, known: Integers, key: int) -> int:
    """Return the slot that names a key, or the empty one that would. O(1)."""
    mask = slots.size - 1
    at = first_slot(key, mask)
    while slots[at] != EMPTY and known[slots[at]] != key:
        at = (at + 1) & mask
    return at


@compiled("void(i4[::1],i8[::1],i8[::1],i8)")
def look_ahead(slots: Slots, known: Integers, keys: Integers, t: int) -> None:
    """Ask for what the search for keys soon after the t-th will read: the table is larger than the cache. O(1)."""
    mask, last = slots.size - 1, keys.size - 1
    prefetch(slots, first_slot(keys[min(t + 2 * AHEAD, last)], mask))
    prefetch(known, max(0, slots[first_slot(keys[min(t + AHEAD, last)], mask)]))


@compiled("void(i4[::1],i8[::1],i8[::1],i8[::1])")
def find_keys(slots: Slots, known: Integers, keys: Integers, found: Integers) -> None:
    """Write the number of each key, or -1. O(1) each."""
    for t in range(keys.size):
        look_ahead(slots, known, keys, t)
        at = slot_of(slots, known, keys[t])
        found[t] = slots[at]


@compiled("i8(i4[::1],i8[::1],i8[::1],i8[::1],i8)")
def add_keys(slots: Slots, known: Integers, keys: Integers, found: Integers, count: int) -> int:
    """Write the number of each key; a new key gets the next one, from `count` on. Return the count then. O(1) each."""
    for t in range(keys.size):
        look_ahead(slots, known, keys, t)
        at = slot_of(slots, known, keys[t])
        if slots[at] == EMPTY:
            slots[at] = count
            known[count] = keys[t]
            count += 1
        found[t] = slots[at]
    return count


@compiled("void(i4[::1],i8[::1],i8[::1])")
def fill_slots(slots: Slots, known: Integers, numbers: Integers) -> None:
    """Enter keys by their numbers into an empty table. O(1) each."""
    mask = slots.size - 1
    for i in range(numbers.size):
        at = first_slot(known[numbers[i]], mask)
        while slots[at] != EMPTY:
            at = (at + 1) & mask
        slots[at] = numbers[i]


class IntegerTable:
    """Finds the number of a whole-number key; numbers are shared with keys of other kinds, which leave gaps.

    Attributes
    ----------
    known
        The key of each number; 0 for numbers of keys of another kind.
    """

    def __init__(self) -> None:
        self.known: Integers = np.zeros(SMALLEST // 2, np.int64)
        self._slots: Slots = np.full(SMALLEST, EMPTY, np.int32)
        self._entered = 0

    @property
    def nbytes(self) -> int:
        """How much memory the table takes."""
        return self.known.nbytes + self._slots.nbytes

    def find(self, keys: Integers) -> Integers:
        """Return the number of each key, -1 where it has none."""
        found = np.empty(keys.size, np.int64)
        find_keys(self._slots, self.known, keys, found)
        return found

    def add(self, keys: Integers, count: int, others: Integers) -> tuple[Integers, int]:
        """Return the number of each key, new ones counted from `count` on, and the count then.

        `others` are the numbers so far of keys of another kind.
        """
        found = np.empty(keys.size, np.int64)
        for first in range(0, keys.size, CHUNK):
            part = slice(first, first + CHUNK)
            piece = np.ascontiguousarray(keys[part])
            self.make_room(count + piece.size, count, others)
            after = add_keys(self._slots, self.known, piece, found[part], count)
            self._entered += after - count
            count = after
        return found, count

    def make_room(self, wanted: int, count: int, others: Integers) -> None:
        """Make room for so many numbers of any kind; `count` are in use, `others` of them for keys of another kind."""
        if wanted > self.known.size:
            larger = np.zeros(max(wanted, 2 * self.known.size), np.int64)
            larger[:count] = self.known[:count]
            self.known = larger
        if 2 * (self._entered + wanted - count) > self._slots.size:
            size = self._slots.size
            while 2 * (self._entered + wanted - count) > size:
                size *= 2
            self._refill(size, count, others)

    def truncate(self, count: int, others: Integers) -> None:
        """Forget the keys of numbers from `count` on."""
        self._refill(self._slots.size, count, others)

    def _refill(self, size: int, count: int, others: Integers) -> None:
        self._slots = np.full(size, EMPTY, np.int32)
        numbers = np.delete(np.arange(count), others[others < count])
        fill_slots(self._slots, self.known, numbers)
        self._entered = numbers.size
