"""Restores a learner from its snapshot, whichever of the exported classes it is of.

>>> from aioli import AIOLI
>>> restore_learner(AIOLI(radius=2.0).snapshot())
AIOLI(radius=2.0, ridge=None, regulariser=1.0, curvature='tight', forgetting=1.0, intercept=True)
"""

import pkgutil
from typing import TypeGuard

import aioli
from aioli.errors import CapabilityMissing, SnapshotRefused
from aioli.learners.protocol import AnyLearner, Learner, Saves, require_any_learner, require_learner, saves
from aioli.learners.remembering import Remembering
from aioli.snapshots.tree import Snapshot

__all__ = ["exported", "is_restorable", "restore_any_learner", "restore_learner", "snapshot_part"]

# files do not know of devices
RESTORED_AS = {"DeviceAIOLI": "AIOLI", "DeviceAuto": "Auto", "DeviceClassAIOLI": "ClassAIOLI"}


def is_restorable(learner: AnyLearner) -> TypeGuard[Saves]:
    """Return whether `restore_learner` can restore this learner: it has snapshots, and aioli exports its class."""
    kind = type(learner)
    return saves(learner) and (kind.__name__ in RESTORED_AS or exported(kind.__name__) is kind)


def snapshot_part(learner: AnyLearner) -> Snapshot:
    """Return the snapshot of a learner inside another object; refuse one that `restore_learner` could not restore."""
    if not is_restorable(learner):
        raise CapabilityMissing(
            f"{type(learner).__name__} has no snapshot that aioli could restore, so what holds it cannot be saved "
            "either; pickle it"
        )
    return learner.snapshot()


def restore_learner(snapshot: Snapshot) -> Learner:
    """Make the learner of a snapshot, of any exported class; it goes on bit for bit the same."""
    return require_learner(restore_any_learner(snapshot))


def restore_any_learner(snapshot: Snapshot) -> AnyLearner:
    """Make the learner of a snapshot, of two classes or of more."""
    kind = exported(snapshot.kind)
    if isinstance(kind, type) and issubclass(kind, Remembering):
        return require_any_learner(kind.restore(snapshot))
    raise SnapshotRefused(f"it holds a learner of type {snapshot.kind!r}, which this version of aioli does not know")


def exported(name: str) -> object:
    """Return what aioli exports under a name; None where it exports nothing of that name."""
    return pkgutil.resolve_name(f"aioli:{name}") if name in aioli.__all__ else None
