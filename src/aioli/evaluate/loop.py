"""The one loop: every row is predicted before its label is learned, and observers see what was announced.

Who plays (`Player`) and who watches (`Observer`) are given: the library's checkpoints, the command's run, its
checkpoints on disk and its comparison with other libraries are all this loop.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from aioli.errors import CapabilityMissing, RowRefused
from aioli.learners.protocol import Learner, weighs
from aioli.numerics.compiling import Vector
from aioli.streams.files.where import Where
from aioli.streams.protocol import Batch

__all__ = ["Alone", "Announced", "Loop", "Observer", "Player", "learn_batch"]


class Announced(NamedTuple):
    """The probabilities that were announced for some rows, and the labels that then came."""

    p: Vector
    y: Vector


NOTHING = Announced(np.empty(0), np.empty(0))


class Player(Protocol):
    """Whoever predicts rows and learns them."""

    def play(self, batch: Batch) -> Announced:
        """Predict the rows and learn from labels as they come; return the rows whose labels came, at most as many."""
        ...

    def play_rest(self, rows: int) -> Announced:
        """Learn from at most so many of the labels that are still out, once no more rows come."""
        ...


class Observer:
    """Whoever watches a run as it goes. An observer overrides what concerns it."""

    def due(self, rows: int) -> int | None:  # noqa: ARG002
        """Return at how many rows, more than these, the next piece must end at the latest; None for no such number."""
        return None

    def played(self, announced: Announced, rows: int) -> None:
        """Take in a piece that has been played, with which there are so many rows."""

    def batch_ended(self, batch: Batch) -> None:
        """Take note that the whole of a batch has been played."""

    def ended(self, rows: int) -> None:
        """Take note that no more rows come."""


class Alone:
    """A player that is one learner, whose labels come at once."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def play(self, batch: Batch) -> Announced:
        """See `Player`."""
        assert batch.y is not None
        return Announced(learn_batch(self.learner, batch), batch.y)

    def play_rest(self, rows: int) -> Announced:  # noqa: ARG002
        """Return nothing: no label is late."""
        return NOTHING


class Loop:
    """Plays batches of rows, in pieces that end where observers want to look.

    At any moment `rows` have been played, `within` of them of the batch in hand. A run can go on from there unless it
    is not `whole`, while a piece is being learned and counted; the learner itself may then be `torn`.

    Parameters
    ----------
    longest
        The most rows of a piece; None for no limit.
    """

    def __init__(self, player: Player, observers: Sequence[Observer] = (), longest: int | None = None) -> None:
        self.player = player
        self.observers = list(observers)
        self.rows = self.within = 0
        self.whole, self.torn = True, False
        self._longest = longest

    def play_batch(self, batch: Batch) -> Iterator[int]:
        """Play what is left of a batch; yields the rows so far after every piece."""
        assert batch.y is not None
        size = len(batch.y)
        ended = False
        while not ended:
            with self._uninterrupted():
                if self.within < size:
                    self._play(_part(batch, slice(self.within, min(size, self.within + self._room()))))
                ended = self.within == size
                if ended:  # no interruption comes between the last row of a batch and its end
                    self._end(batch)
            yield self.rows

    def play_rest(self) -> Iterator[int]:
        """Learn from the labels that are still out, where labels are late; yields the rows so far after every piece."""
        while len((announced := self.player.play_rest(self._room())).y):
            self._tell(announced)
            yield self.rows
        for observer in self.observers:
            observer.ended(self.rows)

    def _uninterrupted(self) -> AbstractContextManager[object]:
        """Return a context within which no piece is torn."""
        return nullcontext()

    def _room(self) -> int:
        """Return how many rows the next piece may have."""
        dues = [due for observer in self.observers if (due := observer.due(self.rows)) is not None]
        rooms = [due - self.rows for due in dues] + ([] if self._longest is None else [self._longest])
        return min(rooms, default=1 << 62)

    def _play(self, piece: Batch) -> None:
        assert piece.y is not None
        self.whole, self.torn = False, True
        try:
            announced = self.player.play(piece)
        except ValueError as error:
            self.whole, self.torn = True, False  # a refused call leaves the learner as it was
            if isinstance(error, RowRefused) and error.row is not None:
                raise error.placed(piece.where(error.row)) from error
            raise
        self.torn = False
        self.within += len(piece.y)
        self._tell(announced)
        self.whole = True

    def _tell(self, announced: Announced) -> None:
        self.rows += len(announced.y)
        for observer in self.observers:
            observer.played(announced, self.rows)

    def _end(self, batch: Batch) -> None:
        for observer in self.observers:
            observer.batch_ended(batch)
        self.within = 0


def learn_batch(learner: Learner, batch: Batch) -> Vector:
    """Learn the rows; return each row's probability before its label. Weights are refused where none can be taken."""
    if batch.weights is None:
        return learner.learn_many(batch.X, batch.y)
    if not weighs(learner):
        raise CapabilityMissing(
            f"weights came, but {type(learner).__name__} takes none; use Auto or AIOLI (nothing was learned)"
        )
    return learner.learn_many(batch.X, batch.y, batch.weights)


def _part(batch: Batch, piece: slice) -> Batch:
    """Return some rows of a batch, which know their places."""
    assert batch.y is not None
    if piece == slice(0, len(batch.y)):
        return batch
    weights = None if batch.weights is None else batch.weights[piece]
    return replace(batch, X=batch.X[piece], y=batch.y[piece], weights=weights, where=_Shifted(batch.where, piece.start))


@dataclass(frozen=True)
class _Shifted:
    """Says where the rows of a piece are, the first of which is one of a batch."""

    where: Where
    first: int

    @property
    def path(self) -> str:
        return self.where.path

    def __call__(self, row: int) -> str:
        return self.where(self.first + row)
