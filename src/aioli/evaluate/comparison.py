"""The game with others beside: every learner says each row's probability before it learns it, on the same rows."""

import math
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from aioli.evaluate.loop import LOOKS, Playing, grow_to
from aioli.evaluate.sums import Scores
from aioli.learners.cloning import learn_rows
from aioli.numerics.compiling import Vector
from aioli.streams.protocol import Stream

__all__ = ["Clock", "Comparison", "Entrant", "Peer"]

PART = 1024  # rows that one learner plays before it is another's turn
UNTIMED = 64  # rows in which code is loaded and tables are first filled


class Peer(Protocol):
    """A learner of another library."""

    def announce(self, X: Any, y: Vector, weights: Vector | None = None) -> Iterator[float]:
        """Each row's probability of label 1, said before the row is learned; a row is learned when it is yielded."""

    def close(self) -> None:
        """Let go what it holds."""


@dataclass
class Clock:
    """How long a learner took, over the rows that are timed."""

    seconds: float = 0.0
    rows: int = 0

    def add(self, begun: float, first: int, rows: int) -> None:
        """So many rows, from the `first` of the stream on, were played from `begun` until now."""
        if first >= UNTIMED:
            self.seconds += time.perf_counter() - begun
            self.rows += rows

    @property
    def microseconds(self) -> float:
        """A row; NaN where none was timed."""
        return 1e6 * self.seconds / self.rows if self.rows else math.nan


@dataclass
class Entrant:
    """A peer in the contest, how it does, and why it left where it has left."""

    name: str
    peer: Peer
    board: Scores = field(default_factory=Scores)
    clock: Clock = field(default_factory=Clock)
    left: str | None = None


class Comparison(Playing):
    """A learner on a stream, and peers who play the same rows, part by part. Memory: that of the learners.

    A peer who raises an exception, or says what is no probability, leaves the contest, and `left` says why. One thread
    does it all, so that nobody's time is another's.
    """

    def __init__(self, stream: Stream, learner: Any, peers: Mapping[str, Peer], watched: bool = False) -> None:
        super().__init__(stream, learner, watched=watched)
        self.name = type(learner).__name__
        self.clock = Clock()
        self.entrants = [Entrant(name, peer) for name, peer in peers.items()]

    @property
    def playing(self) -> list[Entrant]:
        """The peers who have not left."""
        return [entrant for entrant in self.entrants if entrant.left is None]

    def tables(self) -> Iterator[int]:
        """Play table after table; yields the rows that all have played, whenever somebody has played a part."""
        with closing(self.stream.tables()) as tables:
            for table in tables:
                batch = self.stream.encode(table)
                assert batch.y is not None
                grow_to(self.learner, batch.X.shape[1], self.stream.features)
                if self.extremes is not None:
                    self.extremes.update(batch.X)
                start = 0
                while start < len(batch.y):
                    due = LOOKS[bisect_right(LOOKS, self.rows)] - self.rows
                    part = slice(start, min(start + PART, start + due, len(batch.y)))
                    yield from self._part(batch, part, looked=part.stop - start == due)
                    start = part.stop
        if self.rows and (not self.history or self.history[-1].rows < self.rows):
            self._look()

    def close(self) -> None:
        """Stop counting, and let the peers go."""
        super().close()
        for entrant in self.entrants:
            entrant.peer.close()

    def _part(self, batch: Any, part: slice, looked: bool) -> Iterator[int]:
        X, y = batch.X[part], batch.y[part]
        weights = None if batch.weights is None else batch.weights[part]
        begun = time.perf_counter()
        p = learn_rows(self.learner, X, y, weights)
        self.clock.add(begun, self.rows, len(y))
        self.board.count(p, y)
        for entrant in self.playing:
            yield self.rows
            self._let_play(entrant, X, y, weights)
        self.rows += len(y)
        if looked:
            self._look()
        yield self.rows

    def _let_play(self, entrant: Entrant, X: Any, y: Vector, weights: Vector | None) -> None:
        begun = time.perf_counter()
        try:
            p = np.array(list(entrant.peer.announce(X, y, weights)), dtype=np.float64)
        except Exception as error:  # of whatever kind: a library of others must not end the run
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            entrant.left = f"{entrant.name} is left out from row {self.rows + 1:,} on: {reason}"
            return
        entrant.clock.add(begun, self.rows, len(y))
        wrong = np.flatnonzero(~((p >= 0.0) & (p <= 1.0)))
        if wrong.size:
            row, said = self.rows + int(wrong[0]) + 1, p[wrong[0]]
            entrant.left = f"{entrant.name} is left out from row {row:,} on: it said {said:g}, which is no probability"
            return
        entrant.board.count(p, y)

    def _look(self) -> None:
        super()._look()
        losses = {entrant.name: entrant.board.log_loss for entrant in self.playing}
        self.history[-1] = replace(self.history[-1], peers=losses)
