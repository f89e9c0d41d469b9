"""Which structure a game of many classes has, and the state of each."""

import sys
from typing import Literal, get_args

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.from_two import full_state_of_two
from aioli.states.classes.full import FullState
from aioli.states.classes.one_vs_rest import OneVsRestState
from aioli.states.classes.protocol import ClassState
from aioli.states.classes.shared_game import SharedGame
from aioli.states.classes.tree import TreeState
from aioli.states.dense.state import State

__all__ = ["Structure", "make_state", "require_structure", "restore_state", "state_of_two"]

Structure = Literal["full", "tree", "one_vs_rest", "shared"]

LARGEST = 512  # rows of the matrix P up to which a full softmax is chosen: it has 2 MB
MOST_CLASSES = 32  # of a full softmax that is chosen: a prediction takes O(K³)


def require_structure(structure: object) -> None:
    """Refuse what is no structure; None lets the width choose."""
    if structure is not None and structure not in get_args(Structure):
        raise ParameterRefused.unlike("structure", structure, '"full", "tree", "one_vs_rest", "shared", or None')


def make_state(structure: Structure | None, spec: GameSpec, width: int, classes: int) -> ClassState:
    """Return a fresh state.

    Where no structure is asked for, the full softmax is played as long as its matrix has at most `LARGEST` rows, and
    of at most `MOST_CLASSES` classes; the classes beyond are nested below it, in nodes of two.
    """
    if structure == "full":
        return FullState(spec, width, classes)
    if structure == "one_vs_rest":
        return OneVsRestState(spec, width, classes)
    if structure == "shared":
        return SharedGame(spec, width, classes)
    return TreeState(spec, width, classes, most_children(structure, width))


def state_of_two(structure: Structure | None, state: State, classes: int, places: Codes) -> ClassState:
    """Return the state of many classes that a game of two goes on as; its classes are those of these codes."""
    full = full_state_of_two(state)
    if classes != 2 or places.tolist() != [0, 1]:
        full = FullState(full.spec, full.width, classes).merged(full, places)
    most = most_children(structure, state.width)
    if structure in ("one_vs_rest", "shared") or classes > most:
        raise ParameterRefused(
            f"a game of two classes cannot go on as {structure or 'a tree'} of {classes} classes; "
            'give classes="any" or structure="full"',
            parameter="structure",
            value=structure,
        )
    return full if structure == "full" else TreeState.of_root(full, most)


def most_children(structure: Structure | None, width: int) -> int:
    """Return how many classes one softmax may have: as many as its matrix has room for, where nothing is asked for."""
    if structure == "full":
        return sys.maxsize
    return 2 if structure == "tree" else min(MOST_CLASSES, max(2, 1 + LARGEST // width))


def restore_state(snapshot: Snapshot) -> ClassState:
    """Make the state of a snapshot, of whichever structure it is."""
    kinds: dict[str, type[FullState | TreeState | OneVsRestState | SharedGame]] = {
        kind.__name__: kind for kind in (FullState, TreeState, OneVsRestState, SharedGame)
    }
    if snapshot.kind not in kinds:
        raise SnapshotRefused(f"it is of a {snapshot.kind}, not of a state of many classes")
    return kinds[snapshot.kind].restore(snapshot)
