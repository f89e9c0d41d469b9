"""A snapshot's file that stays open: its large arrays are read a few rows at a time."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.snapshots.codec import DAMAGED, decoded, header_of, readable_head, require_file
from aioli.snapshots.json_values import JsonObject
from aioli.snapshots.pieces import DTYPES, ArrayInPieces
from aioli.snapshots.tree import Snapshot

__all__ = ["open_snapshot"]

LARGE = 1 << 22  # bytes of an array from which on it is read in pieces, and bytes of a piece
NAMES = {short: name for name, short in DTYPES.items()}


@contextmanager
def open_snapshot(path: str | os.PathLike[str]) -> Iterator[Snapshot]:
    """Open a file that `write_snapshot` wrote; the snapshot's arrays in pieces are there while it is open.

    The whole file is checked first, as `codec.read_snapshot` does, and what is not right is refused in the same words.
    """
    require_file(path)
    with open(path, "rb") as file:
        try:
            size = os.fstat(file.fileno()).st_size
            header = header_of(file.read(8), file.read, size)
            head, start = readable_head(header), file.tell()
            found = _arrays(file, start, size, header)
            large = {name: array for name, array in found.items() if array.nbytes > LARGE}
            snapshot = decoded(head, _whole({name: found[name] for name in found if name not in large}), large)
        except (OSError, SnapshotRefused) as error:
            raise SnapshotRefused(f"{path}: {error}") from error
        yield snapshot


def _arrays(file: BufferedReader, start: int, size: int, header: JsonObject) -> dict[str, ArrayInPieces]:
    """Return the arrays of a file of this size by its header; they fill it from `start` on, and nothing else does."""
    found: dict[str, ArrayInPieces] = {}
    spans: list[tuple[int, int]] = []
    try:
        for name, entry in header.items():
            if name != "__metadata__":
                dtype, shape, (begin, end) = NAMES[entry["dtype"]], tuple(entry["shape"]), entry["data_offsets"]
                found[name] = ArrayInPieces(dtype, shape, partial(_pieces, file, start + begin, dtype, shape))
                whole = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
                if not whole or found[name].nbytes != end - begin:
                    raise ValueError(f"{name!r} of shape {shape} lies at {begin} to {end}")
                spans.append((begin, end))
        last = 0
        for begin, end in sorted(spans):
            if begin != last:
                raise ValueError(f"nothing, or two arrays, at byte {last}")
            last = end
        if start + last != size:
            raise ValueError(f"{size - start} bytes of arrays, not {last}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SnapshotRefused(f"{DAMAGED} ({error}); save it again") from error
    return found


def _whole(arrays: dict[str, ArrayInPieces]) -> dict[str, NDArray[Any]]:
    """Read arrays whole."""
    try:
        return {name: array.whole() for name, array in arrays.items()}
    except SnapshotRefused:
        raise
    except ValueError as error:  # a shape that no array of NumPy can have, though it has the bytes
        raise SnapshotRefused(f"{DAMAGED} ({error}); save it again") from error


def _pieces(file: BufferedReader, first: int, dtype: str, shape: tuple[int, ...]) -> Iterator[NDArray[Any]]:
    """Yield the rows of an array that lies in a file from this byte on."""
    rows, *others = shape or (1,)
    width = math.prod(others) * np.dtype(dtype).itemsize
    step = max(1, LARGE // max(1, width))
    for start in range(0, rows if width else 0, step):  # without a byte there is nothing to read
        piece = np.empty((min(step, rows - start), *others), dtype)
        file.seek(first + start * width)
        if file.readinto(piece.data.cast("B")) < piece.nbytes:
            raise SnapshotRefused("cut short while it was read; save it again")
        yield piece
