r"""Lays one key's models out in a row of numbers; compiled copies go between that row and a state.

A record is `stride` float64 numbers, padded to whole cache lines: three numbers of the key (`LAST`, `EXTENSION` and
`LOSS`), then for each of its models a tally, whether the model is factored, w, and P. P is symmetric, so only its lower
triangle is kept: half the memory. From about 50 columns on the copying costs more than the memory saves, and the whole
matrix is kept (`full`): the loops then play it where it lies.

A factored model (`states.dense.factored`) has S, of which nothing repeats: it takes a second record, the extension, for
what its triangle's room does not hold. With `float32` storage w and P are rounded after every row to half the size.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.prefetch import LINE
from aioli.outcomes.two_classes import Tally

__all__ = ["EXTENSION", "FACTORED", "HEAD", "LAST", "LOSS", "Layout", "Storage", "Told", "read_body", "write_body"]

Storage = Literal["float64", "float32"]

LAST, EXTENSION, LOSS, HEAD = 0, 1, 2, 3  # of the key: row of its last label; where S goes on, or -1; nats of a mixture
FACTORED, MODEL_HEAD = len(Tally), len(Tally) + 1  # of a model, counted from where it begins
TALLY = len(Tally)
PACKED, SINGLE, FULL = 0, 1, 2  # the kinds of body, as the loops read them

# What the loops are told of the layout, by place.
KIND, WIDTH, MODEL, MODELS, BODY = range(5)
Told = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Where each number of a record lies.

    Attributes
    ----------
    width
        How many columns a state has, the intercept counted.
    models
        How many models a key has.
    full
        Whether the whole of P is kept, not its triangle.
    storage
        The type in which w and P are kept between rows.
    """

    width: int
    models: int = 1
    full: bool = False
    storage: Storage = "float64"

    @property
    def body(self) -> int:
        """How many numbers w and P are."""
        return self.width + (self.width**2 if self.full else self.width * (self.width + 1) // 2)

    @property
    def model(self) -> int:
        """How many float64 places one model takes."""
        return MODEL_HEAD + (self.body if self.storage == "float64" else (self.body + 1) // 2)

    @property
    def stride(self) -> int:
        """How many float64 places a record takes."""
        return -(-(HEAD + self.models * self.model) // LINE) * LINE

    @property
    def extends(self) -> bool:
        """Whether a factored model needs a second record."""
        return not self.full

    @property
    def told(self) -> Told:
        """The layout as the compiled loops read it."""
        kind = SINGLE if self.storage == "float32" else FULL if self.full else PACKED
        return np.array([kind, self.width, self.model, self.models, self.body])

    def fresh(self, ridges: Vector) -> Vector:
        """Return the record of a key of which nothing is known: each model at its prior."""
        record = np.zeros(self.stride)
        record[EXTENSION] = -1.0
        for number, ridge in enumerate(ridges):
            body = np.zeros(self.body)
            body[self.diagonal] = 1.0 / ridge
            write_body(record, self.told, number, body)
        return record

    @property
    def diagonal(self) -> NDArray[np.int64]:
        """The places of P's diagonal in a body."""
        i = np.arange(self.width)
        return self.width + (i * (self.width + 1) if self.full else i * (i + 3) // 2)


@compiled("void(f8[::1],i8[::1],i8,f8[::1])", uncounted=True)
def read_body(record: Vector, told: Told, number: int, body: Vector) -> None:
    """Copy w and P of a model out of its record, as float64."""
    first = HEAD + number * told[MODEL] + MODEL_HEAD
    if told[KIND] == SINGLE:
        single = record[first : first + (told[BODY] + 1) // 2].view(np.float32)
        for i in range(told[BODY]):
            body[i] = single[i]
    else:
        for i in range(told[BODY]):
            body[i] = record[first + i]


@compiled("void(f8[::1],i8[::1],i8,f8[::1])", uncounted=True)
def write_body(record: Vector, told: Told, number: int, body: Vector) -> None:
    """Copy w and P of a model into its record, rounded where the record keeps float32."""
    first = HEAD + number * told[MODEL] + MODEL_HEAD
    if told[KIND] == SINGLE:
        single = record[first : first + (told[BODY] + 1) // 2].view(np.float32)
        for i in range(told[BODY]):
            single[i] = body[i]
    else:
        for i in range(told[BODY]):
            record[first + i] = body[i]


@compiled("void(f8[::1],f8[::1],f8[:,::1])", uncounted=True)
def unpack_triangle(body: Vector, w: Vector, P: Matrix) -> None:
    """Copy w and the triangle into a state: P is filled on both sides of its diagonal. O(d²)."""
    width = w.size
    for i in range(width):
        w[i] = body[i]
    at = width
    for i in range(width):
        for j in range(i):
            entry = body[at + j]
            P[i, j] = entry
            P[j, i] = entry
        P[i, i] = body[at + i]
        at += i + 1


@compiled("void(f8[::1],f8[::1],f8[:,::1])", uncounted=True)
def pack_triangle(body: Vector, w: Vector, P: Matrix) -> None:
    """Copy w and the lower triangle of P out of a state. O(d²)."""
    width = w.size
    for i in range(width):
        body[i] = w[i]
    at = width
    for i in range(width):
        for j in range(i + 1):
            body[at + j] = P[i, j]
        at += i + 1
