"""Plays the log of a model again: to restart, to go back in time, and to check that the state is what the log says."""

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

from aioli.service.model import ServedModel
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.store.event_log import Entry, Event, Store
from aioli.store.row_codec import AnnouncedRow, row_from_bytes

__all__ = ["Played", "Verified", "model_at", "replay", "row_in", "verify"]


class Played(NamedTuple):
    """How many entries were played, the number of the last, and how many announcements came out otherwise.

    The latter is 0 unless the log was written by another version, or on a machine whose arithmetic differs.
    """

    entries: int = 0
    last: int = 0
    unlike: int = 0


def replay(model: ServedModel, entries: Iterable[Entry], row_of: Callable[[str], AnnouncedRow]) -> Played:
    """Play entries of the log with a model that stands before the first of them.

    `row_of` returns the row of an id that was announced before these entries. A label is learned from what was
    announced, as the log tells it.
    """
    rows: dict[str, AnnouncedRow] = {}
    count, last, unlike = 0, 0, 0
    for entry in entries:
        count, last = count + 1, entry.sequence
        if entry.event == Event.ROW:
            rows[entry.id] = row = row_from_bytes(entry.body)
            unlike += not model.announce_again(row)
        elif entry.event == Event.LABEL:
            told = json.loads(entry.body)
            row = rows.pop(entry.id) if entry.id in rows else row_of(entry.id)
            model.learn(row, told["label"], told.get("weight", 1.0))
        else:
            rows.pop(entry.id, None)
    return Played(count, last, unlike)


def model_at(store: Store, number: int, until: int | None = None) -> ServedModel:
    """Return a model as it stood after entry `until`, from the newest snapshot that is not behind it."""
    kept = store.snapshot(number, until)
    model = ServedModel.restore(from_bytes(kept.data))
    replay(model, store.entries(number, kept.sequence, until), row_in(store, number))
    return model


class Verified(NamedTuple):
    """What a check of a model's log found.

    Attributes
    ----------
    entries
        How many were played from the first row on.
    unlike
        How many announcements came out otherwise than the log tells.
    equal
        Whether the state is, bit for bit, the one that a restart begins from.
    """

    entries: int
    unlike: int
    equal: bool


def verify(store: Store, number: int) -> Verified:
    """Play a model's whole log from its first row, and compare with its newest snapshot and the log behind that."""
    origin = store.origin(number)
    model = ServedModel.restore(from_bytes(origin.data))
    played = replay(model, store.entries(number, origin.sequence), row_in(store, number))
    equal = to_bytes(model.snapshot()) == to_bytes(model_at(store, number).snapshot())
    return Verified(played.entries, played.unlike, equal)


def row_in(store: Store, number: int) -> Callable[[str], AnnouncedRow]:
    """Return a function that finds the row of an id in a model's log."""
    return lambda name: row_from_bytes(store.find(number, [name])[name][0].body)
