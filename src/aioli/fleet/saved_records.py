"""Writes and reads the records of a fleet as three arrays, a few keys at a time: what snapshots and files hold."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.fleet.copies import read_records, write_records
from aioli.fleet.integer_table import Integers
from aioli.fleet.layout import EXTENSION, HEAD, MODEL_HEAD, TALLY, Layout
from aioli.numerics.compiling import Matrix
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.pieces import ArrayInPieces, RowReader
from aioli.snapshots.tree import Snapshot

if TYPE_CHECKING:
    from aioli.fleet.keyed_records import KeyedRecords

__all__ = ["fill_records", "records_in_pieces"]

PIECE = 1 << 22  # bytes of w and P that are read at a time
NOT_EXTENDED = "in a KeyedRecords, an extension is missing, or used twice"


def records_in_pieces(records: "KeyedRecords") -> dict[str, ArrayInPieces]:
    """Return three arrays of all keys in order: the heads, the bodies, and the bodies of extensions.

    Each is read anew whenever it is asked for: the records must stay as they are until then.
    """
    layout, count = records.layout, records.keys.count
    body = layout.models * layout.body
    return {
        "heads": ArrayInPieces("float64", (count, HEAD + layout.models * MODEL_HEAD), lambda: _heads(records)),
        "bodies": ArrayInPieces("float64", (count, body), lambda: (bodies for _, _, bodies in _read(records))),
        "extensions": ArrayInPieces("float64", (records.records.extensions, body), lambda: _extensions(records)),
    }


def _read(records: "KeyedRecords") -> Iterator[tuple[Integers, Matrix, Matrix]]:
    """Yield numbers of keys in order, with the heads and bodies of their records."""
    layout, kept = records.layout, records.records
    body = layout.models * layout.body
    for numbers in _numbers(records):
        heads, bodies = np.empty((numbers.size, HEAD + layout.models * MODEL_HEAD)), np.empty((numbers.size, body))
        places = kept.places[numbers]
        hot = places >= 0
        read_records(kept.hot, places[hot], layout.told, np.flatnonzero(hot), heads, bodies)
        read_records(kept.cold, -2 - places[~hot], layout.told, np.flatnonzero(~hot), heads, bodies)
        kept.forget_pages()
        yield numbers, heads, bodies


def _heads(records: "KeyedRecords") -> Iterator[Matrix]:
    """Yield the heads; a record with an extension refers to it by its number among all extensions."""
    extended = 0
    for _, heads, _ in _read(records):
        inside = np.flatnonzero(heads[:, EXTENSION] >= 0)
        heads[inside, EXTENSION] = extended + np.arange(inside.size)
        extended += inside.size
        yield heads


def _extensions(records: "KeyedRecords") -> Iterator[Matrix]:
    """Yield the bodies of the extensions, in the order of their keys."""
    layout = records.layout
    for numbers, heads, bodies in _read(records) if records.records.extensions else ():
        for row in np.flatnonzero(heads[:, EXTENSION] >= 0).tolist():
            matrix, _ = records.where(int(numbers[row]))
            second, at = np.empty((1, bodies.shape[1])), np.array([int(heads[row, EXTENSION])])
            read_records(matrix, at, layout.told, np.array([0]), np.empty((1, heads.shape[1])), second)
            yield second


def _numbers(records: "KeyedRecords") -> Iterator[Integers]:
    """Yield the numbers of all keys in order, as many at a time as make a piece."""
    size = max(1, PIECE // (8 * records.layout.models * records.layout.body))
    for first in range(0, records.keys.count, size):
        yield np.arange(first, min(first + size, records.keys.count))


def fill_records(records: "KeyedRecords", given: Snapshot) -> None:
    """Write the records of a snapshot, for keys that have none yet; refuse those that no game can have come to."""
    layout, count, hot = records.layout, records.keys.count, records.records
    head, body = HEAD + layout.models * MODEL_HEAD, layout.models * layout.body
    heads = RowReader(given.array_in_pieces("heads", (count, head)))
    bodies = RowReader(given.array_in_pieces("bodies", (count, body)))
    all_seconds = given.array_in_pieces("extensions", (None, body))
    seconds, extended = RowReader(all_seconds), 0
    for numbers in _numbers(records):
        for _, places in records.pieces(numbers, math.inf):  # later than any row, so that the others leave memory first
            told = heads.take(places.size), bodies.take(places.size)
            inside = check_records(*told, extended, all_seconds.shape[0], layout)
            write_records(hot.hot, places, layout.told, *told)
            hot.hot[places, EXTENSION] = -1.0
            for place in places[inside].tolist():
                hot.extend(place)
                at = np.array([int(hot.hot[place, EXTENSION])])
                write_records(hot.hot, at, layout.told, np.zeros((1, head)), seconds.take(1))
            extended += inside.size
    if extended != all_seconds.shape[0]:
        raise SnapshotRefused(NOT_EXTENDED)


def check_records(heads: Matrix, bodies: Matrix, extended: int, extensions: int, layout: Layout) -> Integers:
    """Return which of these records have an extension; refuse records that no game can have come to.

    `extended` of all extensions belong to records before these.
    """
    seconds = heads[:, EXTENSION]
    inside = np.flatnonzero(seconds >= 0)
    follow = np.array_equal(seconds[inside], extended + np.arange(inside.size))
    if (seconds < -1).any() or not follow or extended + inside.size > extensions:
        raise SnapshotRefused(NOT_EXTENDED)
    for model in range(layout.models):
        first = HEAD + model * MODEL_HEAD
        tally = np.delete(heads[:, first : first + TALLY], Tally.REGRET, axis=1)
        factored = heads[:, first + TALLY] != 0.0
        if tally.size and tally.min() < 0.0:
            raise SnapshotRefused(f"in a KeyedRecords, a tally counts {tally.min():g}, which is below 0")
        if layout.extends and (factored & (seconds < 0)).any():
            raise SnapshotRefused("in a KeyedRecords, a factored model has no extension")
        diagonals = bodies[~factored][:, model * layout.body + layout.diagonal]
        if diagonals.size and diagonals.min() <= 0.0:
            raise SnapshotRefused("in a KeyedRecords, a matrix is not positive")
    return inside
