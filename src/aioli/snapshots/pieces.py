"""Arrays that are made, written and read piece by piece: a snapshot's file without the whole of it in memory.

The layout is that of a safetensors file: the length of a JSON header, the header, and the arrays one behind the other,
whole numbers first, then fractions, then bytes, each type in order of names.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["DTYPES", "ArrayInPieces", "RowReader", "bytes_of", "file_header", "in_order"]

ALIGNMENT = 8  # bytes, of the header's length
DTYPES = {"int64": "I64", "float64": "F64", "uint8": "U8"}  # as safetensors names them, in the order in which they lie


@dataclass(frozen=True)
class ArrayInPieces:
    """An array that is made a few rows at a time, as often as it is asked for.

    Attributes
    ----------
    dtype
        The name of its type: float64, int64 or uint8.
    shape
        Its shape.
    make
        Returns the rows in order, in contiguous arrays of this type.
    """

    dtype: str
    shape: tuple[int, ...]
    make: Callable[[], Iterable[NDArray[Any]]]

    @classmethod
    def of(cls, array: NDArray[Any]) -> "ArrayInPieces":
        """Return an array as one piece."""
        return cls(array.dtype.name, array.shape, lambda: [np.ascontiguousarray(array)])

    @property
    def nbytes(self) -> int:
        """How many bytes all pieces take together."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def whole(self) -> NDArray[Any]:
        """Return the array, all pieces together."""
        array = np.empty(self.shape or (1,), self.dtype)
        end = 0
        for piece in self.make():
            array[end : end + len(piece)] = piece
            end += len(piece)
        return array.reshape(self.shape)


class RowReader:
    """Hands out the rows of an array in pieces, as many at a time as the caller asks for."""

    def __init__(self, array: ArrayInPieces) -> None:
        self._pieces = iter(array.make())
        self._left: NDArray[Any] = np.empty((0, *array.shape[1:]), array.dtype)

    def take(self, count: int) -> NDArray[Any]:
        """Return the next so many rows; there must be as many."""
        parts = [self._left[:count]]
        missing = count - len(parts[0])
        self._left = self._left[count:]
        while missing:
            piece = next(self._pieces)
            parts.append(piece[:missing])
            self._left = piece[missing:]
            missing -= len(parts[-1])
        return parts[-1] if len(parts[-1]) == count else np.concatenate(parts)


Arrays: TypeAlias = Mapping[str, ArrayInPieces]


def in_order(arrays: Arrays) -> list[str]:
    """Return the names in the order in which the arrays lie in a file."""
    dtypes = list(DTYPES)
    return sorted(arrays, key=lambda name: (dtypes.index(arrays[name].dtype), name))


def file_header(arrays: Arrays, metadata: Mapping[str, str]) -> bytes:
    """Return what a file of these arrays begins with."""
    entries: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name in in_order(arrays):
        array, begin = arrays[name], end
        end += array.nbytes
        entries[name] = {"dtype": DTYPES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    padded = text.ljust(-(-len(text) // ALIGNMENT) * ALIGNMENT)
    return len(padded).to_bytes(8, "little") + padded


def bytes_of(array: ArrayInPieces) -> Iterator[memoryview | bytes]:
    """Yield the bytes of an array, piece by piece."""
    for piece in array.make():
        yield piece.data.cast("B") if piece.size else b""
