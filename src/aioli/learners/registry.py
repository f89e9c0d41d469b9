"""Which class a snapshot of a learner belongs to: any that aioli exports.

>>> from aioli import AIOLI
>>> restore_learner(AIOLI(radius=2.0).snapshot())
AIOLI(radius=2.0, ridge=None, regulariser=1.0, curvature='tight', forgetting=1.0, intercept=True)
"""

from typing import TypeGuard

import aioli
from aioli.errors import CapabilityMissing, SnapshotRefused
from aioli.learners.protocol import Learner, Saves, require_learner, saves
from aioli.learners.remembering import Remembering
from aioli.snapshots.tree import Snapshot

__all__ = ["is_restorable", "restore_learner", "snapshot_part"]


def is_restorable(learner: Learner) -> TypeGuard[Saves]:
    """Return whether `restore_learner` takes its snapshot: it saves itself, and its class is an exported one."""
    return saves(learner) and _exported(type(learner).__name__) is type(learner)


def snapshot_part(learner: Learner) -> Snapshot:
    """Return the snapshot of a learner that is part of something else, from which `restore_learner` makes an equal."""
    if not is_restorable(learner):
        raise CapabilityMissing(
            f"{type(learner).__name__} has no snapshot that aioli could restore, so what holds it cannot be saved "
            "either; pickle it"
        )
    return learner.snapshot()


def restore_learner(snapshot: Snapshot) -> Learner:
    """Make the learner of a snapshot, whichever of the exported classes it is of; it goes on bit for bit the same."""
    kind = _exported(snapshot.kind)
    if isinstance(kind, type) and issubclass(kind, Remembering):
        return require_learner(kind.restore(snapshot))
    raise SnapshotRefused(f"it holds a learner of type {snapshot.kind!r}, which this version of aioli does not know")


def _exported(name: str) -> object:
    """Return what aioli exports under a name; None where it exports nothing of that name."""
    return getattr(aioli, name) if name in aioli.__all__ else None
