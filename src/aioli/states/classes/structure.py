"""Which structure a game of many classes has, and the state of each."""

from typing import Literal, get_args

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.full import FullState
from aioli.states.classes.one_vs_rest import OneVsRestState
from aioli.states.classes.protocol import ClassState
from aioli.states.classes.tree import TreeState

__all__ = ["Structure", "make_state", "require_structure", "restore_state"]

Structure = Literal["full", "tree", "one_vs_rest"]

LARGEST = 512  # rows of the matrix P up to which a full softmax is chosen: it has 2 MB


def require_structure(structure: object) -> None:
    """Refuse what is no structure; None lets the width choose."""
    if structure is not None and structure not in get_args(Structure):
        raise ParameterRefused.unlike("structure", structure, '"full", "tree", "one_vs_rest", or None')


def make_state(structure: Structure | None, spec: GameSpec, width: int, classes: int) -> ClassState:
    """Return a fresh state.

    Where no structure is asked for, the full softmax is played as long as its matrix has at most `LARGEST` rows; the
    classes beyond are nested below it, in nodes of two.
    """
    if structure == "full":
        return FullState(spec, width, classes)
    if structure == "one_vs_rest":
        return OneVsRestState(spec, width, classes)
    return TreeState(spec, width, classes, 2 if structure == "tree" else max(2, 1 + LARGEST // width))


def restore_state(snapshot: Snapshot) -> ClassState:
    """Make the state of a snapshot, of whichever structure it is."""
    kinds: dict[str, type[FullState | TreeState | OneVsRestState]] = {
        kind.__name__: kind for kind in (FullState, TreeState, OneVsRestState)
    }
    if snapshot.kind not in kinds:
        raise SnapshotRefused(f"it is of a {snapshot.kind}, not of a state of many classes")
    return kinds[snapshot.kind].restore(snapshot)
