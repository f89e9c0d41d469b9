"""Saves, copies and pickles a learner, each by way of its snapshot."""

import copy
import copyreg
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from aioli.errors import AioliError, ParameterRefused, SnapshotRefused
from aioli.learners.notebook import ShownInNotebooks
from aioli.learners.protocol import Capability
from aioli.snapshots.codec import read_snapshot, write_snapshot
from aioli.snapshots.tree import Snapshot

__all__ = ["Remembering", "RemembersParts"]


class Remembering(ShownInNotebooks, ABC):
    """Gives `save`, `load`, copies, pickles and a table for notebooks to a learner with `snapshot` and `restore`."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return the learner's whole state; what it learns later does not change the snapshot."""

    @classmethod
    @abstractmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, whole or not at all; a learner loaded from it goes on bit for bit the same."""
        write_snapshot(path, self.snapshot())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a learner that `save` wrote. Runs no code from the file; a file that is not right is a `ValueError`."""
        return cls._load(path, cls.restore)

    @classmethod
    def _load(cls, path: str | os.PathLike[str], restore: Callable[[Snapshot], Self]) -> Self:
        return cls._restored_from(path, read_snapshot(path), restore)

    @classmethod
    def _restored_from(
        cls, path: str | os.PathLike[str], snapshot: Snapshot, restore: Callable[[Snapshot], Self]
    ) -> Self:
        if snapshot.kind != cls.__name__:
            raise SnapshotRefused(f"{path}: holds a learner of type {snapshot.kind!r}, not {cls.__name__!r}")
        try:
            return restore(snapshot)
        except ParameterRefused as error:  # of the caller's, not of the file's
            raise ParameterRefused(f"{path}: {error}", parameter=error.parameter, value=error.value) from error
        except (AioliError, TypeError, KeyError, OverflowError, MemoryError) as error:
            raise SnapshotRefused(f"{path}: is not a complete learner ({error}); save it again") from error

    def __copy__(self) -> Self:
        return type(self).restore(self.snapshot())  # a copy that shared the state would learn with the original

    def __deepcopy__(self, _memo: dict[int, object]) -> Self:
        return type(self).restore(self.snapshot())

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.snapshot())


class RemembersParts(Remembering):
    """Copies and pickles a learner of learners: by snapshot where all have one, else attribute by attribute."""

    capabilities: frozenset[Capability]

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        if Capability.SAVES in self.capabilities:
            return super().__deepcopy__(memo)
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        vars(copied).update(copy.deepcopy(vars(self), memo))
        return copied

    def __reduce__(self) -> tuple[object, ...]:
        if Capability.SAVES in self.capabilities:
            return super().__reduce__()
        return copyreg.__newobj__, (type(self),), vars(self)  # type: ignore[attr-defined]  # missing in the types of the standard library


def _restored(kind: type[Remembering], snapshot: Snapshot) -> Remembering:
    return kind.restore(snapshot)
