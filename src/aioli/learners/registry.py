"""Which class a snapshot of a learner belongs to: any that aioli exports.

>>> from aioli import AIOLI
>>> restore_learner(AIOLI(radius=2.0).snapshot())
AIOLI(radius=2.0, ridge=None, regulariser=1.0, curvature='tight', forgetting=1.0, intercept=True)
"""

import aioli
from aioli.errors import SnapshotRefused
from aioli.learners.protocol import Learner, require_learner
from aioli.learners.remembering import Remembering
from aioli.snapshots.tree import Snapshot

__all__ = ["restore_learner"]


def restore_learner(snapshot: Snapshot) -> Learner:
    """Make the learner of a snapshot, whichever of the exported classes it is of; it goes on bit for bit the same."""
    if snapshot.kind in aioli.__all__:
        kind = getattr(aioli, snapshot.kind)
        if issubclass(kind, Remembering):
            return require_learner(kind.restore(snapshot))
    raise SnapshotRefused(f"it holds a learner of type {snapshot.kind!r}, which this version of aioli does not know")
