"""Snapshots of a stream of a file: where reading stopped, and how another file is read with what was learned."""

from dataclasses import replace

from aioli.snapshots.tree import Snapshot
from aioli.streams.files.table import Position

__all__ = ["for_another_file", "going_on_with", "moves_on", "position_in"]


def going_on_with(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without its position, to go on learning from another file as from the next rows."""
    return replace(snapshot, values={**snapshot.values, "position": None, "going_on": True})


def for_another_file(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without its position, to encode another file as this one was."""
    return replace(snapshot, values={**snapshot.values, "position": None})


def position_in(snapshot: Snapshot | None) -> Position | None:
    """Return where reading stopped; None where it is to begin with the first row."""
    if snapshot is None or snapshot.of("FileStream").values.get("position") is None:
        return None
    return snapshot.mapping("position")


def moves_on(snapshot: Snapshot | None) -> bool:
    """Tell whether scales and encodings go on learning from the rows; when predicting, those of training are kept."""
    return snapshot is None or position_in(snapshot) is not None or snapshot.values.get("going_on") is True
