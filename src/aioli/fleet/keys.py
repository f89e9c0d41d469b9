"""Numbers the keys of a fleet in order of first appearance: strings, whole numbers, bytes, or tuples of these.

>>> index = KeyIndex()
>>> index.add(["ann", 7, ("shop", 3), "ann"])
array([0, 1, 2, 0])
>>> index.find([7, "bob"])
array([ 1, -1])
>>> index.key(2)
('shop', 3)
"""

import json
import sys
from collections.abc import Iterator, Sequence, Sized
from typing import TypeAlias, cast

import numpy as np

from aioli.errors import UNCHANGED, KeyRefused, ParameterRefused, SnapshotRefused
from aioli.fleet.integer_table import Integers, IntegerTable
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Key", "KeyIndex", "as_key", "as_keys"]

Key: TypeAlias = "str | int | bytes | tuple[Key, ...]"

GIVE_KEYS = "give a string, a whole number, bytes, or a tuple of these"
SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1


class KeyIndex:
    """Finds the number of a key, and the key of a number.

    Whole numbers of 64 bits are looked up in compiled code, 10 ns and about 30 bytes each; every other key in a
    dictionary of Python's.
    """

    def __init__(self) -> None:
        self.count = 0
        self._integers = IntegerTable()
        self._others: dict[Key, int] = {}
        self._octets = 0  # of the objects in the dictionary

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys in order of first appearance."""
        others = {number: key for key, number in self._others.items()}
        return (others[n] if n in others else int(self._integers.known[n]) for n in range(self.count))

    @property
    def nbytes(self) -> int:
        """How much memory the keys take."""
        return self._integers.nbytes + sys.getsizeof(self._others) + self._octets

    def key(self, number: int) -> Key:
        """Return the key of a number. O(1) for whole numbers, else O(n)."""
        for key, other in self._others.items():
            if other == number:
                return key
        return int(self._integers.known[number])

    def find(self, keys: "Sequence[Key] | Integers") -> Integers:
        """Return the number of each key that `as_keys` has checked, -1 where it has none."""
        if isinstance(keys, np.ndarray):
            return self._integers.find(keys)
        found = np.array([self._others.get(key, -1) for key in keys], np.int64)
        plain = [t for t, key in enumerate(keys) if type(key) is int and SMALLEST <= key <= LARGEST]
        if plain:
            found[plain] = self._integers.find(np.array([keys[t] for t in plain], np.int64))
        return found

    def add(self, keys: "Sequence[Key] | Integers") -> Integers:
        """Return the number of each key that `as_keys` has checked; a new key gets the next one."""
        if isinstance(keys, np.ndarray):
            numbers, self.count = self._integers.add(keys, self.count, self._numbers_of_others())
            return numbers
        others = self._others
        found = np.empty(len(keys), np.int64)
        for t, key in enumerate(keys):
            number = others.get(key, -1)
            if number < 0:
                number = self._add_one(key)
            found[t] = number
        return found

    def _add_one(self, key: Key) -> int:
        if type(key) is int and SMALLEST <= key <= LARGEST:
            wanted = np.array([key])
            number = int(self._integers.find(wanted)[0])
            if number < 0:
                (number,), self.count = self._integers.add(wanted, self.count, self._numbers_of_others())
            return int(number)
        if self.count >= self._integers.known.size:
            self._integers.make_room(self.count + 1, self.count, self._numbers_of_others())
        self._others[key] = self.count
        self._octets += sys.getsizeof(key)
        self.count += 1
        return self.count - 1

    def truncate(self, count: int) -> None:
        """Forget the keys of numbers from `count` on."""
        if count < self.count:
            self._octets -= sum(sys.getsizeof(key) for key, number in self._others.items() if number >= count)
            self._others = {key: number for key, number in self._others.items() if number < count}
            self._integers.truncate(count, self._numbers_of_others())
            self.count = count

    def _numbers_of_others(self) -> Integers:
        return np.fromiter(self._others.values(), np.int64, len(self._others))

    def snapshot(self) -> Snapshot:
        """Return the keys in order of their numbers: whole numbers as an array, the others as one JSON text."""
        others = [_plain(key) for key in self._others]
        text = json.dumps(others, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        arrays: dict[str, Array] = {
            "integers": self._integers.known[: self.count].copy(),
            "others": self._numbers_of_others(),
            "text": np.frombuffer(text, np.uint8).copy(),
        }
        return Snapshot("KeyIndex", {}, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> "KeyIndex":
        """Make an equal index; keys that are none, or come twice, are refused."""
        given = snapshot.of("KeyIndex")
        known = given.integers("integers", (None,))
        numbers = given.places("others", known.size)
        try:
            texts = json.loads(given.octets("text", (None,)).tobytes().decode("utf-8", "surrogatepass"))
            keys = [_from_plain(key) for key in texts]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise SnapshotRefused(f"in a KeyIndex, the keys are not right ({error})") from error
        if len(keys) != numbers.size or (np.diff(numbers) <= 0).any():
            raise SnapshotRefused(f"in a KeyIndex, {len(keys)} keys have {numbers.size} numbers, or not in order")
        index = cls()
        merged: list[Key] | Integers = known
        if keys:
            mixed: list[Key] = known.tolist()
            for number, key in zip(numbers.tolist(), keys, strict=True):
                mixed[number] = key
            merged = mixed
        if index.add(merged).tolist() != list(range(known.size)):
            raise SnapshotRefused("in a KeyIndex, a key comes twice")
        return index


def as_key(key: object) -> Key:
    """Return one key, or refuse what is none."""
    return _checked(key, None)


def as_keys(keys: object, count: int) -> "list[Key] | Integers":
    """Return one key a row: whole numbers as an array, others as a list; what is no key is refused with its row."""
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Sized):
        message = f"keys are {keys!r}; give a list or an array, one key a row{UNCHANGED}"
        raise ParameterRefused(message, parameter="keys", value=keys)
    values = keys if isinstance(keys, (list, tuple)) else np.asarray(keys)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        message = f"keys came as an array of shape {values.shape}; give one dimension, one key a row{UNCHANGED}"
        raise ParameterRefused(message, parameter="keys", value=values.shape)
    if len(values) != count:
        message = f"{count} rows came with {len(values)} keys; give one key a row{UNCHANGED}"
        raise ParameterRefused(message, parameter="keys", value=len(values))
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iu" and values.dtype != np.uint64:
            return np.ascontiguousarray(values, np.int64)
        values = values.tolist()
    kinds = set(map(type, values))
    if kinds == {int}:
        try:
            return np.array(values, np.int64)
        except OverflowError:
            return cast("list[Key]", list(values))
    if kinds <= {str, bytes}:
        return cast("list[Key]", list(values))
    return [_checked(key, t) for t, key in enumerate(values)]


def _checked(key: object, row: int | None) -> Key:
    if isinstance(key, str):
        return str(key)
    if isinstance(key, bytes):
        return bytes(key)
    if isinstance(key, (int, np.integer)):
        return int(key)
    if isinstance(key, tuple):
        return tuple(_checked(part, row) for part in key)
    told = "missing (None)" if key is None else f"{key!r}, of type {type(key).__name__}"
    raise KeyRefused(f"the key is {told}", row=row, value=key, remedy=GIVE_KEYS)


def _plain(key: Key) -> object:
    if isinstance(key, tuple):
        return [_plain(part) for part in key]
    return {"bytes": key.hex()} if isinstance(key, bytes) else key


def _from_plain(value: object) -> Key:
    if isinstance(value, list):
        return tuple(_from_plain(part) for part in value)
    if isinstance(value, dict):
        return bytes.fromhex(value["bytes"])
    return _checked(value, None)
