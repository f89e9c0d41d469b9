"""Plays a learner whose labels come late: rows are predicted when they come, and learned when their labels do."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from aioli.errors import ParameterRefused, RowRefused
from aioli.evaluate.delay import Delay
from aioli.evaluate.loop import NOTHING, Announced, part_of_batch
from aioli.evaluate.prompt_player import learn_batch
from aioli.evaluate.rows_by_due import RowsByDue
from aioli.evaluate.score_functions import SMOOTHING
from aioli.evaluate.waiting_rows import Block, Tickets, WaitingRows
from aioli.learners.announcements import Announcements
from aioli.learners.protocol import Learner, learns_late
from aioli.numerics.compiling import Vector
from aioli.streams.files.table import Features
from aioli.streams.protocol import Batch

__all__ = ["DelayedPlayer", "LatePlayer"]

AHEAD = 256  # rows that are looked at for the next label that comes at a time of its own


class LatePlayer(ABC):
    """Plays rows whose labels come late. Memory: the rows that wait, and what was announced for them.

    Rows between which no label comes are announced together, and labels between which no row comes are learned
    together: the same game at more speed. A subclass says how rows are announced and learned. A row whose label will
    never come is announced, and nothing is learned from it.

    Attributes
    ----------
    record
        Receives the probabilities and labels of rows when they are announced, in the order of the rows; None: nobody.
    """

    def __init__(self, delay: Delay) -> None:
        self.delay = delay
        self.waiting = RowsByDue() if delay.listed else WaitingRows()
        self.record: Callable[[Announced], None] | None = None

    @abstractmethod
    def _announce_rows(self, X: Features) -> tuple[Tickets | None, Vector]:
        """Predict rows; return their announcements, None where the learner makes none, and their probabilities."""

    @abstractmethod
    def _learn(self, block: Block) -> None:
        """Learn from the labels of rows that were announced earlier."""

    def _base(self, y: Vector) -> Vector:
        """Return what the base rate of the labels known so far says of rows."""
        ones, heard = self.waiting.came.item(1), self.waiting.heard
        return np.full(len(y), (ones + SMOOTHING) / (heard + 2.0 * SMOOTHING))

    def _told(self, p: Vector, y: Vector, base: Vector | None = None) -> Announced:
        """Return announced rows in the form that observers receive."""
        return Announced(p, y, base)

    @property
    @abstractmethod
    def _width(self) -> int | None:
        """How many columns a row must have now; None for as many as it has."""

    def play(self, batch: Batch, room: int) -> tuple[int, Announced]:
        """See `Player`. A row that is refused is refused when it is the first of what is played."""
        assert batch.y is not None
        played, heard, left = 0, list[Announced](), room
        while True:
            owed = self._owed(batch, played)
            if owed:
                if not left:
                    break
                heard.append(self._hear(min(owed, left)))
                left -= len(heard[-1].y)
            elif played == len(batch.y):
                break
            else:
                group = slice(played, min(len(batch.y), played + self._free(batch, played)))
                announced = self._announce(part_of_batch(batch, group), first=not played and not heard)
                played += announced
                if announced < group.stop - group.start:
                    break
        return played, _joined(heard)

    def play_rest(self, rows: int) -> Announced:
        """See `Player`."""
        announced = NOTHING
        while len(self.waiting) and not len(announced.y):
            announced = self._hear(min(rows, len(self.waiting)))
        return announced

    def _owed(self, batch: Batch, row: int) -> int:
        """Return how many labels are to be learned before this row of the batch is announced, or after its last row."""
        if self.delay.rows is not None:
            return max(0, len(self.waiting) - self.delay.rows)
        if self.delay.batch is not None:
            return self.waiting.owed
        assert batch.y is not None
        return self.waiting.due(self._time(batch, row)) if row < len(batch.y) else 0

    def _free(self, batch: Batch, row: int) -> int:
        """Return how many rows, from this one on, are announced before the next label comes: at least one."""
        if self.delay.rows is not None:
            return self.delay.rows + 1 - len(self.waiting)
        if self.delay.batch is not None:
            return self.delay.batch - len(self.waiting)
        assert batch.times is not None
        if self.delay.listed:
            return self._free_of_listed(batch, row)
        assert self.delay.seconds is not None
        until = min(self.waiting.next_due, self._time(batch, row) + self.delay.seconds)
        clock = np.maximum.accumulate(np.maximum(batch.times[row:], self.waiting.clock))
        return max(1, int(np.searchsorted(clock, until)))

    def _free_of_listed(self, batch: Batch, row: int) -> int:
        assert batch.times is not None
        assert batch.label_times is not None
        ahead = slice(row, row + AHEAD)
        clock = np.maximum.accumulate(np.maximum(batch.times[ahead], self.waiting.clock))
        soonest = np.minimum(np.minimum.accumulate(batch.label_times[ahead]), self.waiting.next_due)
        come = np.flatnonzero(clock[1:] >= soonest[:-1])
        return int(come[0]) + 1 if come.size else len(clock)

    def _time(self, batch: Batch, row: int) -> float:
        if batch.times is None:
            raise ParameterRefused(
                "labels come late by time, but the rows have no times; give a column of times",
                parameter="delay",
                value=self.delay.seconds,
            )
        return max(self.waiting.clock, batch.times.item(row))

    def _announce(self, rows: Batch, first: bool) -> int:
        """Announce rows, all or those before one that is refused; return how many."""
        try:
            self._keep(rows)
        except RowRefused as error:
            if not error.row and first:
                if error.row is None:  # a single row was refused
                    problem, column, value = error.problem, error.column, error.value
                    raise RowRefused(problem, row=0, column=column, value=value, remedy=error.remedy) from error
                raise
            if error.row:
                self._keep(part_of_batch(rows, slice(0, error.row)))
            return error.row or 0
        assert rows.y is not None
        return len(rows.y)

    def _keep(self, rows: Batch) -> None:
        assert rows.y is not None
        count, waiting = len(rows.y), self.waiting
        tickets, p = self._announce_rows(rows.X)
        base = self._base(rows.y)
        due = np.zeros(count)
        if rows.times is not None:
            clock = np.maximum.accumulate(np.maximum(rows.times, waiting.clock))
            waiting.clock = clock.item(-1)
            due = clock + (self.delay.seconds or 0.0) if rows.label_times is None else rows.label_times
        # copies, since the caller may write over the rows by the time that their labels come
        weights = None if rows.weights is None else rows.weights.copy()
        block = Block(rows.X.copy(), rows.y.copy(), weights, p, base, due, tickets)
        waiting.add(block.of(np.flatnonzero(np.isfinite(due))) if self.delay.listed else block)
        if self.record is not None:
            self.record(self._told(p, rows.y)._replace(keys=rows.keys))
        if self.delay.batch is not None and len(waiting) == self.delay.batch:
            waiting.owed = len(waiting)

    def _hear(self, rows: int) -> Announced:
        """Learn the labels of the oldest `rows` rows that wait; return what was announced for them."""
        if not rows:
            return NOTHING
        block = self.waiting.first(rows, self._width)
        told = np.flatnonzero(~np.isnan(block.y))
        heard = block if len(told) == len(block.y) else block.of(told)
        if len(told):
            self._learn(heard)
        self.waiting.drop(block)
        return self._told(heard.p, heard.y, heard.base)


class DelayedPlayer(LatePlayer):
    """Plays one learner whose labels come late.

    A learner of late labels learns from what it announced when the row came; another learns as if it said it now.
    """

    def __init__(self, learner: Learner, delay: Delay) -> None:
        super().__init__(delay)
        self.learner = learner

    @property
    def _width(self) -> int | None:
        return self.learner.n_features_

    def _announce_rows(self, X: Features) -> tuple[Tickets | None, Vector]:
        learner = self.learner
        if not learns_late(learner):
            return None, learner.predict_many(X)
        one = isinstance(X, np.ndarray) and len(X) == 1
        tickets = learner.announce(X[0]).row if one else learner.announce_many(X)
        return tickets, tickets.probabilities

    def _learn(self, block: Block) -> None:
        learner, one = self.learner, len(block.y) == 1
        if isinstance(block.tickets, Announcements) and learns_late(learner):
            if one and isinstance(block.X, np.ndarray):
                weight = 1.0 if block.weights is None else block.weights.item(0)
                learner.learn(block.X[0], block.y.item(0), weight, announced=block.tickets[0])
            else:
                learner.learn_many(block.X, block.y, block.weights, announced=block.tickets)
        elif block.weights is not None:
            learn_batch(learner, Batch(block.X, block.y, block.weights, _nowhere))
        else:
            for t, y in enumerate(block.y.tolist()):
                learner.learn(block.X[t] if isinstance(block.X, np.ndarray) else block.X[t : t + 1], y)


class _Nowhere:
    """Names a row in messages where its place in the file is no longer known."""

    path = ""

    def __call__(self, row: int) -> str:
        return f"row {row} of those whose labels came late"


_nowhere = _Nowhere()


def _joined(heard: list[Announced]) -> Announced:
    if len(heard) < 2:
        return heard[0] if heard else NOTHING
    base = np.concatenate([each.y if each.base is None else each.base for each in heard])
    p, y = np.concatenate([each.p for each in heard]), np.concatenate([each.y for each in heard])
    return Announced(p, y, base, heard[0].classes)
