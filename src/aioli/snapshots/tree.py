"""A snapshot: the whole state of one object as named arrays, plain values, and the snapshots of its parts.

Every object with a state has `snapshot()`, which returns one, and `restore`, which makes an equal object from it:
files, copies, pickles, checkpoints and reservoirs are ways of moving snapshots. Nothing else turns state into bytes.

>>> import numpy as np
>>> clock = Snapshot("Clock", {"ticks": 3}, {"times": np.zeros(3)})
>>> game = Snapshot("Game", {"name": "chess"}, parts={"clock": clock})
>>> game.part("clock", "Clock").whole("ticks")
3
>>> game.part("clock", "Clock").array("times", (4,))
Traceback (most recent call last):
    ...
aioli.errors.SnapshotRefused: in a Clock, the array 'times' has shape (3,), not (4,)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.snapshots.pieces import ArrayInPieces

__all__ = ["Array", "Plain", "Remembers", "Snapshot"]

MOST_COUNTED = 2**63 - 1  # what arrays of whole numbers hold

Plain: TypeAlias = "bool | int | float | str | Sequence[Plain] | Mapping[str, Plain] | None"  # what JSON can hold
Array: TypeAlias = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint8]
Vector: TypeAlias = NDArray[np.float64]
SLACK, SMALL = 1e-6, 128  # of an entry of a covariance, for rounding; and up to which size it is factored to be checked
Value = TypeVar("Value")
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Snapshot:
    """The state of one object: its class, plain values, arrays, and the snapshots of its parts.

    Attributes
    ----------
    kind
        The name of the object's class.
    values
        Parameters and counts, as JSON can hold them; floats are finite.
    arrays
        Arrays by name, of float64, int64 or uint8. They belong to the snapshot: nobody else writes to them.
    parts
        The snapshots of the objects that it holds, by name.
    pieces
        Arrays by name that are made or read a few rows at a time, while their owner stays as it is or their file is
        open; written, and asked for, they are arrays like the others.
    """

    kind: str
    values: Mapping[str, Plain] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    parts: Mapping[str, "Snapshot"] = field(default_factory=dict)
    pieces: Mapping[str, ArrayInPieces] = field(default_factory=dict)

    def of(self, kind: str) -> Self:
        """Return the snapshot itself, or raise `SnapshotRefused` where its kind is another."""
        if self.kind != kind:
            raise SnapshotRefused(f"it is of a {self.kind}, not of a {kind}")
        return self

    def part(self, name: str, kind: str | None = None) -> "Snapshot":
        """Return the part of this name, which must be of this kind where one is given."""
        if name not in self.parts:
            raise SnapshotRefused(f"in a {self.kind}, the part {name!r} is missing")
        return self.parts[name] if kind is None else self.parts[name].of(kind)

    def array(self, name: str, shape: tuple[int | None, ...] | None = None) -> Vector:
        """Return the array of float64 of this name, of this shape: None allows any length."""
        return self._typed(name, shape, np.float64)

    def integers(self, name: str, shape: tuple[int | None, ...] | None = None) -> NDArray[np.int64]:
        """Return the array of int64 of this name, of this shape: None allows any length."""
        return self._typed(name, shape, np.int64)

    def octets(self, name: str, shape: tuple[int | None, ...] | None = None) -> NDArray[np.uint8]:
        """Return the array of uint8 of this name, of this shape: None allows any length."""
        return self._typed(name, shape, np.uint8)

    def array_in_pieces(self, name: str, shape: tuple[int | None, ...]) -> ArrayInPieces:
        """Return the array of float64 of this name and shape a few rows at a time; None allows any length."""
        if name not in self.pieces:
            return ArrayInPieces.of(self.array(name, shape))
        pieces = self.pieces[name]
        self._require(name, np.dtype(pieces.dtype), pieces.shape, np.float64, shape)
        return pieces

    def places(self, name: str, count: int) -> NDArray[np.int64]:
        """Return the list of this name, of places among `count`: each from 0 to below that."""
        array = self.integers(name, (None,))
        if array.size and not 0 <= array.min() <= array.max() < count:
            raise SnapshotRefused(f"in a {self.kind}, the array {name!r} holds a place that is not among {count}")
        return array

    def totals(self, name: str, shape: tuple[int | None, ...], signed: Sequence[int] = ()) -> Vector:
        """Return the array of this name, none of whose numbers is below 0 but those in the `signed` last places."""
        array = self.array(name, shape)
        counted = np.delete(array, list(signed), axis=-1)
        if counted.size and counted.min() < 0.0:
            raise SnapshotRefused(f"in a {self.kind}, the array {name!r} counts {counted.min():g}, which is below 0")
        return array

    def covariance(self, name: str, size: int) -> Vector:
        """Return the matrix of this name, which must be symmetric and positive; a large one is not factored to tell.

        Rounding may move an entry by a millionth of what the diagonal allows.
        """
        P = self.array(name, (size, size))
        scale = np.sqrt(np.maximum(np.diagonal(P), 0.0))
        bound = np.outer(scale, scale)
        fits = bool((np.diagonal(P) > 0.0).all())
        fits = fits and bool((np.abs(P - P.T) <= SLACK * bound).all() and (np.abs(P) <= (1.0 + SLACK) * bound).all())
        if fits and size <= SMALL:
            try:
                np.linalg.cholesky(P / np.where(bound > 0.0, bound, 1.0) + SLACK * np.eye(size))
            except np.linalg.LinAlgError:
                fits = False
        if not fits:
            raise SnapshotRefused(f"in a {self.kind}, the matrix {name!r} is not symmetric and positive")
        return P

    def positive(self, name: str) -> float:
        """Return the finite number of this name, which must be above 0."""
        value = self.number(name)
        if not value > 0.0:
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is {value!r}, not above 0")
        return value

    def whole(self, name: str, least: int = 0, most: int = MOST_COUNTED) -> int:
        """Return the whole number of this name, which must be within these bounds."""
        value = self._value(name, int)
        if isinstance(value, bool) or value < least:
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is {value!r}, not a whole number of at least {least}")
        if value > most:
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is above {most:,}")
        return value

    def number(self, name: str) -> float:
        """Return the finite number of this name."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is {value!r}, not a finite number")
        return float(value)

    def flag(self, name: str) -> bool:
        """Return the truth value of this name."""
        return self._value(name, bool)

    def text(self, name: str) -> str:
        """Return the text of this name."""
        return self._value(name, str)

    def texts(self, name: str) -> list[str] | None:
        """Return the list of texts of this name; None where null stands in its place."""
        values = self._present(name)
        if values is None:
            return None
        if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is no list")
        return [self._text(name, value) for value in values]

    def mapping(self, name: str) -> dict[str, Plain]:
        """Return a copy of the mapping of this name."""
        value = self.values.get(name)
        if not isinstance(value, Mapping):
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is {value!r}, not a mapping")
        return dict(value)

    def counts(self, name: str) -> dict[str, int]:
        """Return a copy of the mapping of this name to whole numbers, none below 0."""
        return {key: self._count(name, value) for key, value in self.mapping(name).items()}

    def wholes(self, name: str, length: int) -> list[int]:
        """Return the list of so many whole numbers of this name, none below 0."""
        values = self.values.get(name)
        if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence) or len(values) != length:
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is {values!r}, not a list of {length} whole numbers")
        return [self._count(name, value) for value in values]

    def optional_text(self, name: str) -> str | None:
        """Return the text of this name; None where there is none."""
        return None if self.values.get(name) is None else self.text(name)

    def optional_whole(self, name: str) -> int | None:
        """Return the whole number of this name; None where null stands in its place."""
        return None if self._present(name) is None else self.whole(name)

    def _present(self, name: str) -> Plain:
        if name not in self.values:
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is missing")
        return self.values[name]

    def _value(self, name: str, kind: type[Value]) -> Value:
        value = self.values.get(name)
        if not isinstance(value, kind):
            raise SnapshotRefused(f"in a {self.kind}, {name!r} is {value!r}, not of type {kind.__name__}")
        return value

    def _count(self, name: str, value: Plain) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise SnapshotRefused(f"in a {self.kind}, {name!r} holds {value!r}, not a whole number of at least 0")
        if value > MOST_COUNTED:
            raise SnapshotRefused(f"in a {self.kind}, {name!r} holds a number above {MOST_COUNTED:,}")
        return value

    def _text(self, name: str, value: Plain) -> str:
        if not isinstance(value, str):
            raise SnapshotRefused(f"in a {self.kind}, {name!r} holds {value!r}, which is no text")
        return value

    def _typed(self, name: str, shape: tuple[int | None, ...] | None, kind: type[Scalar]) -> NDArray[Scalar]:
        array = self.pieces[name].whole() if name in self.pieces else self.arrays.get(name)
        if array is None:
            raise SnapshotRefused(f"in a {self.kind}, the array {name!r} is missing")
        self._require(name, array.dtype, array.shape, kind, shape)
        return np.asarray(array, kind)

    def _require(
        self,
        name: str,
        came: np.dtype[Any],
        size: tuple[int, ...],
        kind: type[np.generic],
        shape: tuple[int | None, ...] | None,
    ) -> None:
        """Refuse an array of another type or shape than wanted."""
        if came != kind:
            raise SnapshotRefused(f"in a {self.kind}, the array {name!r} is of {came}, not of {np.dtype(kind)}")
        fits = shape is None or (
            len(size) == len(shape) and all(w in (None, n) for w, n in zip(shape, size, strict=True))
        )
        if not fits:
            raise SnapshotRefused(f"in a {self.kind}, the array {name!r} has shape {size}, not {shape}")


@runtime_checkable
class Remembers(Protocol):
    """An object whose state can be taken as a snapshot and restored."""

    def snapshot(self) -> Snapshot:
        """Return the whole state; later changes of the object do not change the snapshot."""

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal object, which goes on bit for bit the same; raise `SnapshotRefused` where it cannot be made."""
