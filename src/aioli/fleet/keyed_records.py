"""Finds records by key: which keys there are, where their records lie, and how much memory all of it may take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.errors import ParameterRefused
from aioli.fleet.copies import grow_models
from aioli.fleet.integer_table import Integers
from aioli.fleet.keys import Key, KeyIndex
from aioli.fleet.layout import EXTENSION, HEAD, TALLY, Layout
from aioli.fleet.records import ABSENT, FEWEST, Records, copy_records
from aioli.fleet.room import Places
from aioli.fleet.saved_records import fill_records, records_in_pieces
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot

__all__ = ["Budget", "KeyedRecords"]

CHUNK = 4096  # records that are read, written or grown at a time
QUARTER = 4  # a piece of rows uses at most a quarter of the memory's records, so that its own are never evicted
TABLES = 40  # bytes a record of the tables of places, and of the search for the longest unused
LOWER = 16  # memory is given back when the keys have taken a sixteenth of what the records had


@dataclass(frozen=True)
class Budget:
    """How much may stay in memory; the rest lies in a file.

    Attributes
    ----------
    memory
        Bytes of records, keys and tables; None for any number.
    models
        How many keys' models; None for any number.
    rows
        A model whose key had no row among the last so many leaves memory; None for never.
    folder
        Where the file is; None for the system's folder of temporary files.
    """

    memory: int | None = None
    models: int | None = None
    rows: int | None = None
    folder: str | None = None

    def limit(self, stride: int, taken: int) -> int | None:
        """Return how many records of this stride memory may hold where keys have taken so many bytes of it."""
        limits = [self.models] if self.models is not None else []
        if self.memory is not None:
            limits.append((self.memory - taken) // (8 * stride + TABLES))
            if limits[-1] < FEWEST:
                least = FEWEST * (8 * stride + TABLES) + taken
                message = (
                    f"memory is {self.memory} bytes; {FEWEST} models of {8 * stride} bytes and the table of their keys "
                    f"take {least}: give as many or more (nothing was learned)"
                )
                raise ParameterRefused(message, parameter="memory", value=self.memory)
        return min(limits, default=None)


class KeyedRecords:
    """Keeps a record for each key, in memory or in a file.

    Attributes
    ----------
    layout
        How a record is laid out.
    keys
        The keys, each with its number.
    records
        The records, by the number of their key.
    """

    def __init__(self, layout: Layout, ridges: Vector, budget: Budget, keys: KeyIndex | None = None) -> None:
        self.layout, self.budget = layout, budget
        self.keys = KeyIndex() if keys is None else keys
        self._ridges = ridges
        limit = budget.limit(layout.stride, self.keys.nbytes)
        self.records = Records(layout, layout.fresh(ridges), limit, budget.folder)
        self._looked = 0.0  # the row at which old records were last looked for

    @property
    def nbytes(self) -> int:
        """How much memory the records and the keys take."""
        return self.records.nbytes + self.keys.nbytes

    def admit(self, keys: Sequence[Key] | Integers, clock: float) -> Integers:
        """Return the numbers of keys whose rows are about to be learned; new keys get one.

        All that can fail is done here: where the disk has no room for what must leave memory, an `OSError` is raised
        and nothing has changed.
        """
        before = self.keys.count
        numbers = self.keys.add(keys)
        try:
            self._keep_to_budget(clock)
            self.records.reserve(self.keys.count)
        except (OSError, ParameterRefused):
            self.keys.truncate(before)
            raise
        return numbers

    def _keep_to_budget(self, clock: float) -> None:
        limit = self.budget.limit(self.layout.stride, self.keys.nbytes + self.records.places.nbytes)
        now = self.records.limit
        if limit is not None and now is not None and limit < now - now // LOWER:
            self.records.lower_limit(limit, clock)
        rows = self.budget.rows
        if rows is not None and clock - self._looked >= rows / 8:
            self.records.evict_older(clock - rows)
            self._looked = clock

    def pieces(self, numbers: Integers, clock: float) -> Iterator[tuple[slice, Places]]:
        """Yield rows of these numbers in order, with the places of their records, which are in memory until the next.

        `clock` is the number of the first row.
        """
        limit = self.records.limit
        size = max(1, len(numbers) if limit is None else limit // QUARTER)
        for first in range(0, len(numbers), size):
            part = slice(first, first + size)
            yield part, self.records.bring(numbers[part], clock + first)

    def places_of(self, numbers: Integers) -> Places:
        """Return where the record of each number is, ABSENT for -1: see `Records.places`."""
        known = numbers >= 0
        return np.where(known, self.records.places[np.where(known, numbers, 0)], ABSENT)

    def where(self, number: int) -> tuple[Matrix, int]:
        """Return the record of a number as a matrix and a row of it."""
        place = int(self.records.places[number])
        return (self.records.hot, place) if place >= 0 else (self.records.cold, -2 - place)

    def tallies(self, model: int = 0) -> Matrix:
        """Return the tally of every key's model, in order of the keys."""
        first = HEAD + model * self.layout.model
        return self._columns(slice(first, first + TALLY))

    def heads(self, place: int) -> Vector:
        """Return one number of every key's record, in order of the keys."""
        return self._columns(slice(place, place + 1))[:, 0]

    def _columns(self, columns: slice) -> Matrix:
        out = np.empty((self.keys.count, columns.stop - columns.start))
        for numbers in self._chunks():
            places = self.records.places[numbers]
            hot = places >= 0
            out[numbers[hot]] = self.records.hot[places[hot], columns]
            out[numbers[~hot]] = self.records.cold[-2 - places[~hot], columns]
        return out

    def _chunks(self) -> Iterator[Integers]:
        for first in range(0, self.keys.count, CHUNK):
            yield np.arange(first, min(first + CHUNK, self.keys.count))

    # ---- moving all of them

    def grown(self, columns: int) -> Self:
        """Return the records had so many further columns been there, and 0, from the first row. O(d²) a key."""
        old = self.layout
        layout = Layout(old.width + columns, old.models, old.full, old.storage)
        larger = type(self)(layout, self._ridges, self.budget, self.keys)
        if self.records.limit is not None:
            self.records.evict_older(np.inf)  # two sets of records never lie in memory side by side
        larger.records.reserve(self.keys.count)
        for numbers in self._chunks():
            for part, places in larger.pieces(numbers, float(numbers[0])):
                for number, place in zip(numbers[part].tolist(), places.tolist(), strict=True):
                    matrix, source = self.where(number)
                    if matrix[source, EXTENSION] >= 0:
                        larger.records.extend(place)
                    grow_models(matrix, source, old.told, larger.records.hot, place, layout.told, self._ridges)
        return larger

    def copy_from(self, other: Self, theirs: Integers, mine: Integers, clock: float) -> None:
        """Copy records of another fleet, by their numbers there, to keys here that have none yet."""
        for part, places in self.pieces(mine, clock):
            for number, place in zip(theirs[part].tolist(), places.tolist(), strict=True):
                matrix, source = other.where(number)
                extension = int(matrix[source, EXTENSION])
                if extension >= 0:
                    self.records.extend(place)
                second = self.records.hot[place, EXTENSION]
                copy_records(self.records.hot, np.array([place]), matrix, np.array([source]))
                self.records.hot[place, EXTENSION] = second
                if extension >= 0:
                    copy_records(self.records.hot, np.array([int(second)]), matrix, np.array([extension]))

    def snapshot(self) -> Snapshot:
        """Return the keys and their records in order: heads, bodies, and what factored models have besides."""
        made = self.in_pieces()
        return Snapshot(made.kind, {}, {name: array.whole() for name, array in made.pieces.items()}, made.parts)

    def in_pieces(self) -> Snapshot:
        """Return the snapshot with the records in pieces, read when asked for: nothing may be learned until then."""
        return Snapshot("KeyedRecords", parts={"keys": self.keys.snapshot()}, pieces=records_in_pieces(self))

    @classmethod
    def restore(cls, snapshot: Snapshot, layout: Layout, ridges: Vector, budget: Budget) -> Self:
        """Make records equal to those of a snapshot, of this layout."""
        given = snapshot.of("KeyedRecords")
        made = cls(layout, ridges, budget, KeyIndex.restore(given.part("keys")))
        made.records.reserve(made.keys.count)
        fill_records(made, given)
        return made
