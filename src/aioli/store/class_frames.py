"""Encodes rows of K classes as bytes: frames, each as wide as the classes that were known then."""

from typing import NamedTuple

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes

__all__ = ["HEAD_BYTES", "UNKNOWN_CLASS", "Frame", "bytes_behind", "frame_as_bytes", "frame_from_bytes"]

UNKNOWN_CLASS = -1  # a row without a label
HEAD_BYTES = 16
WHOLE = np.dtype("<i8")


class Frame(NamedTuple):
    """Consecutive rows: the probabilities of the classes known after them, and the codes of their labels."""

    P: Matrix
    codes: Codes


def frame_as_bytes(P: Matrix, codes: Vector) -> bytes:
    """Return rows and columns, then the probabilities and the codes, eight bytes each."""
    return np.array(P.shape, WHOLE).tobytes() + P.astype("<f8").tobytes() + codes.astype(WHOLE).tobytes()


def bytes_behind(head: bytes) -> int:
    """Return how many bytes belong to a frame, behind its head."""
    rows, columns = np.frombuffer(head, WHOLE).tolist()
    return int(8 * rows * (columns + 1))


def frame_from_bytes(head: bytes, data: bytes) -> Frame:
    """Return the frame of a head and the bytes behind it."""
    rows, columns = np.frombuffer(head, WHOLE).tolist()
    P = np.frombuffer(data, "<f8", rows * columns).reshape(rows, columns).astype(np.float64)
    return Frame(P, np.frombuffer(data, WHOLE, rows, offset=8 * rows * columns).astype(np.int64))
