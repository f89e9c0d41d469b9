"""Reads and writes model files: a learner and the encoding of its columns, for `--save` and `aioli predict`."""

import os
from dataclasses import replace

from aioli.errors import CapabilityMissing, SnapshotRefused
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.learners.named_rows import STREAM
from aioli.learners.protocol import AnyLearner, Saves, saves
from aioli.learners.registry import restore_any_learner
from aioli.snapshots.codec import read_snapshot, write_snapshot
from aioli.snapshots.tree import Snapshot
from aioli.snapshots.whole_files import os_errors_naming

__all__ = ["STREAM", "load_model", "require_saves", "save_model", "without_stream"]


def without_stream(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot of a model without the encoding of its columns, for whoever encodes rows for its learner."""
    return replace(snapshot, parts={name: part for name, part in snapshot.parts.items() if name != STREAM})


def require_saves(learner: AnyLearner) -> Saves:
    """Return the learner, or refuse one that cannot be written to a file."""
    if not saves(learner):
        raise CapabilityMissing(
            f"{type(learner).__name__} cannot be saved; use Auto, or leave out --save and --checkpoint"
        )
    return learner


def save_model(path: str | os.PathLike[str], learner: AnyLearner, stream: Snapshot) -> None:
    """Write the learner and the snapshot of its stream, whole or not at all. `learner.load` reads the file too."""
    snapshot = require_saves(learner).snapshot()
    with os_errors_naming(path):
        write_snapshot(path, replace(snapshot, parts={**snapshot.parts, STREAM: stream}))


def load_model(path: str | os.PathLike[str]) -> tuple[AnyLearner, Snapshot | None]:
    """Return the learner, and the snapshot of the stream that it was taught on; None where it was saved without one.

    The learner of a file of one model a key is a `KeyedLearner`.
    """
    snapshot = read_snapshot(path)
    try:
        restore = KeyedLearner.restore if snapshot.kind == "Fleet" else restore_any_learner
        return restore(without_stream(snapshot)), snapshot.parts.get(STREAM)
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise SnapshotRefused(f"{path}: {error}; save it again") from error
