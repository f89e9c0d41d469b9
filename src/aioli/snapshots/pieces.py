"""Arrays that are written piece by piece: the bytes of a snapshot's file without the whole of it in memory.

The layout is that of a safetensors file: the length of a JSON header, the header, and the arrays one behind the other,
whole numbers first, then fractions, then bytes, each type in order of names. `codec.to_bytes` makes the same bytes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrayInPieces", "bytes_of", "file_header", "in_order"]

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
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


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
