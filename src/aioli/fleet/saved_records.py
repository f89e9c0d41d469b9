"""The records of a fleet as three arrays, a few keys at a time: what snapshots hold and files are written from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from aioli.fleet.copies import read_records
from aioli.fleet.integer_table import Integers
from aioli.fleet.layout import EXTENSION, HEAD, MODEL_HEAD
from aioli.numerics.compiling import Matrix
from aioli.snapshots.pieces import ArrayInPieces

if TYPE_CHECKING:
    from aioli.fleet.keyed_records import KeyedRecords

__all__ = ["records_in_pieces"]

PIECE = 1 << 22  # bytes of w and P that are read at a time


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
    size = max(1, PIECE // (8 * body))
    for first in range(0, records.keys.count, size):
        numbers = np.arange(first, min(first + size, records.keys.count))
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
