"""Plays the log of a model again: to restart, to go back in time, and to check that the state is what the log says."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from aioli.service.model import ServedModel
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.store.event_log import Entry, Event, Store
from aioli.store.label_codec import LearnedLabel, label_from_bytes
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
    """Play entries of the log with a model that stands before the first of them, in the runs in which they were played.

    `row_of` returns the row of an id that was announced before these entries. A label is learned from what was
    announced, as the log tells it.
    """
    game = _Replay(model, row_of)
    count, last = 0, 0
    for entry in entries:
        count, last = count + 1, entry.sequence
        game.play(entry)
    game.end_run()
    return Played(count, last, game.unlike)


class _Replay:
    """Plays entries one after the other; those of one run wait for its last."""

    def __init__(self, model: ServedModel, row_of: Callable[[str], AnnouncedRow]) -> None:
        self._model, self._row_of = model, row_of
        self._rows: dict[str, AnnouncedRow] = {}
        self._announced: list[AnnouncedRow] = []  # of the run that has not ended, or
        self._learned: list[tuple[AnnouncedRow, LearnedLabel]] = []
        self.unlike = 0

    def play(self, entry: Entry) -> None:
        """Take in the next entry."""
        if entry.event == Event.ROW:
            row = row_from_bytes(entry.body)
            if not row.joined:
                self.end_run()
            self._announced.append(row)
            self._rows[entry.id] = row
        elif entry.event == Event.LABEL:
            label = label_from_bytes(entry.body)
            if not label.joined:
                self.end_run()
            row = self._rows.pop(entry.id) if entry.id in self._rows else self._row_of(entry.id)
            self._learned.append((row, label))
        else:
            self._rows.pop(entry.id, None)

    def end_run(self) -> None:
        """Play the run that has come to its end, if there is one."""
        if self._announced:
            self.unlike += self._model.announce_again(self._announced)
            self._announced = []
        if self._learned:
            rows, labels = zip(*self._learned, strict=True)
            self._model.learn_many(rows, labels)
            self._learned = []


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
