"""Encodes rows and their announcements as the bytes that the log holds: eight bytes a number, checked on reading.

>>> from aioli import AIOLI
>>> import numpy as np
>>> x = np.array([1.0, 2.0])
>>> announced = AIOLI().announce(x)
>>> row = row_from_bytes(row_to_bytes(AnnouncedRow(x, announced, 0.5)))
>>> row.x, row.announced.probability
(array([1., 2.]), 0.5)
"""

import json
import struct
from typing import NamedTuple, TypeAlias

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.announcements import Announcement, Announcements
from aioli.learners.classes.announcements import ClassAnnouncements
from aioli.numerics.compiling import Vector
from aioli.streams.files.table import Csr, Features

__all__ = ["AnnouncedRow", "AnyAnnouncement", "RowKey", "row_from_bytes", "row_to_bytes"]

AnyAnnouncement: TypeAlias = Announcement | ClassAnnouncements
RowKey: TypeAlias = str | int  # of a row of a fleet

# form, learner, number, known, log-odds, base rate; then how many numbers: memory, classes, values, places (-1: dense),
# the row's width; and how many bytes: what came. The key of a fleet's row is JSON behind its length. A form with JOINED
# is of a row that was announced in one call with the row before.
HEAD = struct.Struct("<BqqqddiiiiqI")
KEY = struct.Struct("<I")
TWO, MANY, KEYED = 1, 2, 3
JOINED = 128


class AnnouncedRow(NamedTuple):
    """A row with what was announced for it.

    Attributes
    ----------
    x
        The row's features: a vector, or a sparse row.
    announced
        What the learner announced, which learning the label needs.
    base
        The probability of the labels' running base rate, then.
    given
        The row as it came, as JSON, where it was encoded; empty where `x` is what came.
    key
        The key of a row of a fleet; None of any other.
    joined
        Whether it was announced in one call with the row before.
    """

    x: Features
    announced: AnyAnnouncement
    base: float
    given: bytes = b""
    key: RowKey | None = None
    joined: bool = False

    @property
    def numbers(self) -> list[float]:
        """The features of a row that is not sparse."""
        assert isinstance(self.x, np.ndarray)
        return list(self.x.tolist())


def row_to_bytes(row: AnnouncedRow) -> bytes:
    """Encode an announced row."""
    announced, x = row.announced, row.x
    if isinstance(announced, Announcement):
        form, learner, number, known, logit, memory = TWO, *announced
        logits = b""
    else:
        (ticket,) = announced.tickets
        form, learner, number, known, logit, memory = MANY, *ticket
        logits = announced.logits.tobytes()
    kept = b"" if memory is None else memory.tobytes()
    if isinstance(x, np.ndarray):
        values, places, count, width = x.tobytes(), b"", -1, len(x)
    else:
        values, places = x.data.astype(np.float64).tobytes(), x.indices.astype(np.int64).tobytes()
        count, width = len(x.indices), x.shape[1]
    sizes = len(kept) // 8, len(logits) // 8, len(values) // 8, count, width, len(row.given)
    key = b""
    if row.key is not None:
        text = json.dumps(row.key).encode()
        form, key = KEYED, KEY.pack(len(text)) + text
    if row.joined:
        form |= JOINED
    head = HEAD.pack(form, learner, number, known, logit, row.base, *sizes)
    return b"".join((head, kept, logits, values, places, key, row.given))


def row_from_bytes(data: bytes) -> AnnouncedRow:
    """Decode a row that `row_to_bytes` encoded; other bytes are a `SnapshotRefused`."""
    try:
        form, learner, number, known, logit, base, *sizes = HEAD.unpack_from(data)
        memory_size, classes, size, places_size, width, given_size = sizes
        joined, form = bool(form & JOINED), form & ~JOINED
        place = HEAD.size
        memory, place = _vector(data, place, memory_size)
        logits, place = _vector(data, place, classes)
        values, place = _vector(data, place, size)
        x: Features = values
        if places_size >= 0:
            places = np.frombuffer(data, np.int64, places_size, place)
            place += 8 * places_size
            x = _sparse(values, places, width)
        key, place = _key(data, place) if form == KEYED else (None, place)
        given = data[place:]
        if form not in (TWO, MANY, KEYED) or len(given) != given_size:
            raise ValueError("its parts are not as long as it says")
    except (struct.error, ValueError) as error:
        raise SnapshotRefused(f"an entry of the log is damaged ({error}); restore a backup") from error
    ticket = Announcement(learner, number, known, logit, memory if memory_size else None)
    announced = ClassAnnouncements(_one(ticket), logits[None, :]) if form == MANY else ticket
    return AnnouncedRow(x, announced, base, given, key, joined)


def _one(ticket: Announcement) -> Announcements:
    return ticket.row


def _key(data: bytes, place: int) -> tuple[RowKey, int]:
    end = place + KEY.size + KEY.unpack_from(data, place)[0]
    key = json.loads(data[place + KEY.size : end])
    if not isinstance(key, str | int):
        raise ValueError(f"its key is {key!r}")
    return key, end


def _vector(data: bytes, place: int, size: int) -> tuple[Vector, int]:
    return np.frombuffer(data, np.float64, size, place).copy(), place + 8 * size


def _sparse(values: Vector, places: "np.ndarray[tuple[int], np.dtype[np.int64]]", width: int) -> Csr:
    from scipy import sparse  # loaded where it is needed: a process starts sooner without it

    return sparse.csr_array((values, (np.zeros(len(places), np.int64), places)), shape=(1, width))
