"""The one loop: every row is predicted before its label is learned, and observers see what was announced.

A `Player` predicts and learns; each `Observer` is told what was announced. `evaluate.progressive`, the run of the
command line and its comparison with other libraries are all this loop, with players and observers of their own.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from aioli.errors import RowRefused
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Label
from aioli.streams.files.where import Where
from aioli.streams.protocol import Batch, Keys, rows_of
from aioli.streams.skipped_rows import SkippedRows

__all__ = ["NOTHING", "Announced", "Loop", "Observer", "Player", "part_of_batch"]


class Announced(NamedTuple):
    """The probabilities that were announced for some rows, and the labels that then came.

    `base` is what the base rate of the labels known then said, where labels are late; None where they are not.
    `classes` are the labels of K classes: p then has a column for each, and y their numbers; None in a game of two.
    `keys` are carried beside the rows. Rows without labels are announced apart: all of y is then NaN.
    """

    p: Vector
    y: Vector
    base: Vector | None = None
    classes: Sequence[Label] | None = None
    keys: Keys | None = None

    @property
    def unlabelled(self) -> bool:
        """Whether these are rows without labels."""
        return len(self.y) > 0 and math.isnan(self.y[0])


NOTHING = Announced(np.empty(0), np.empty(0))


class Player(Protocol):
    """A player predicts rows and learns from their labels: a learner alone, with late labels, or beside its peers."""

    def play(self, batch: Batch, room: int) -> tuple[int, Announced]:
        """Predict rows from the first on, and learn from at most `room` labels as they come.

        Returns how many rows were predicted, and the rows whose labels came: at least one of either.
        """
        ...

    def play_rest(self, rows: int) -> Announced:
        """Learn from up to `rows` late labels after the last row; return these rows, none when all labels have come."""
        ...


class Observer:
    """An observer is told of every piece of rows that was played; a subclass overrides the calls that it needs."""

    def due(self, rows: int) -> int | None:  # noqa: ARG002  (for those who override it)
        """Return the row count, above `rows`, at which the loop must stop for this observer; None where it need not."""
        return None

    def played(self, announced: Announced, rows: int) -> None:
        """Receive the piece that was just played; `rows` is the count so far, this piece included."""

    def predicted(self, announced: Announced) -> None:
        """Receive rows that have no label: they were predicted, and nothing was learned from them."""

    def batch_ended(self, batch: Batch) -> None:
        """Receive a batch, once all of its rows have been played."""

    def ended(self, rows: int) -> None:
        """Receive the end of the stream, after `rows` rows; called once."""


class Loop:
    """Plays batches of rows, in pieces that end where observers want to look.

    `rows` counts the rows played so far, `within` those of the current batch. While a piece is being learned and scored
    the loop is not `whole`, and cannot be resumed from there; while it is being learned, the learner may be `torn`.

    Parameters
    ----------
    longest
        The most rows of a piece; None for no limit.
    skipped
        Counts rows that the learner refuses, which are then left out; None: such a row ends the game.
    """

    def __init__(
        self,
        player: Player,
        observers: Sequence[Observer] = (),
        longest: int | None = None,
        skipped: SkippedRows | None = None,
    ) -> None:
        self.player, self.skipped = player, skipped
        self.observers = list(observers)
        self.rows = self.within = 0
        self.whole, self.torn = True, False
        self._longest = longest

    def play_batch(self, batch: Batch) -> Iterator[int]:
        """Play the rest of a batch; yield the count of rows so far after every piece."""
        assert batch.y is not None
        size = len(batch.y)
        ended = False
        while not ended:
            with self._uninterrupted():
                if self.within < size:
                    longest = size if self._longest is None else self.within + self._longest
                    self._play(part_of_batch(batch, slice(self.within, min(size, longest))))
                ended = self.within == size
                if ended:  # no interruption comes between the last row of a batch and its end
                    self._end(batch)
            yield self.rows

    def play_rest(self) -> Iterator[int]:
        """Learn from late labels once the stream is over; yield the count of rows so far after every piece."""
        while self._hear_rest():
            yield self.rows
        for observer in self.observers:
            observer.ended(self.rows)

    def _uninterrupted(self) -> AbstractContextManager[object]:
        """Return a context in which Ctrl-C does not tear a piece."""
        return nullcontext()

    def _room(self) -> int:
        """Return the most rows that the next piece may have: up to the nearest stop of an observer, or `longest`."""
        dues = [due for observer in self.observers if (due := observer.due(self.rows)) is not None]
        rooms = [due - self.rows for due in dues] + ([] if self._longest is None else [self._longest])
        return min(rooms, default=1 << 62)

    def _play(self, piece: Batch) -> None:
        self.whole, self.torn = False, True
        try:
            played, announced = self.player.play(piece, self._room())
        except ValueError as error:
            self.whole, self.torn = True, False  # a refused call leaves the learner as it was
            if not isinstance(error, RowRefused) or error.row is None:
                raise
            placed = error.placed(piece.where(error.row))
            if self.skipped is None:
                raise placed from error
            self._play_without(piece, error.row, placed)
            return
        self.torn = False
        self.within += played
        self._tell(announced)
        self.whole = True

    def _play_without(self, piece: Batch, row: int, refusal: RowRefused) -> None:
        """Play the rows before one that was refused; if it is the first, leave it out."""
        assert self.skipped is not None
        if row:
            self._play(part_of_batch(piece, slice(0, row)))
        else:
            self.within += 1
            self.skipped.add([str(refusal)])

    def _hear_rest(self) -> int:
        """Learn from a piece of the labels that are still out; return how many came."""
        with self._uninterrupted():
            self.whole, self.torn = False, True
            announced = self.player.play_rest(self._room())
            self.torn = False
            self._tell(announced)
            self.whole = True
        return len(announced.y)

    def _tell(self, announced: Announced) -> None:
        if not len(announced.y):
            return
        if announced.unlabelled:
            for observer in self.observers:
                observer.predicted(announced)
            return
        self.rows += len(announced.y)
        for observer in self.observers:
            observer.played(announced, self.rows)

    def _end(self, batch: Batch) -> None:
        for observer in self.observers:
            observer.batch_ended(batch)
        self.within = 0


def part_of_batch(batch: Batch, piece: slice) -> Batch:
    """Return a slice of a batch; its `where` still names rows by their place in the file."""
    assert batch.y is not None
    if piece == slice(0, len(batch.y)):
        return batch
    return replace(rows_of(batch, piece), where=_Shifted(batch.where, piece.start))


@dataclass(frozen=True)
class _Shifted:
    """Names the rows of a slice by their place in the file, given the place of the whole batch."""

    where: Where
    first: int

    @property
    def path(self) -> str:
        return self.where.path

    def __call__(self, row: int) -> str:
        return self.where(self.first + row)
