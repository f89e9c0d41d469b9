"""Runs a learner beside learners of other libraries: each predicts a row before it learns it, on the same rows."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.delay import Delay
from aioli.evaluate.delayed import DelayedPlayer, LatePlayer
from aioli.evaluate.loop import Announced, part_of_batch
from aioli.evaluate.prompt_player import PromptPlayer
from aioli.evaluate.run import Run
from aioli.evaluate.smoothed_scores import SmoothedScores
from aioli.evaluate.sums import Scores
from aioli.evaluate.waiting_rows import Block
from aioli.learners.announcements import Announcements
from aioli.learners.protocol import AnyLearner, Learner, plays_two_classes
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Label
from aioli.streams.files.table import Features
from aioli.streams.protocol import Batch, Stream
from aioli.streams.raw_rows import RawRow

__all__ = ["UNTIMED", "ClassPeer", "Clock", "Comparison", "Entrant", "LatePeer", "Peer"]

PART = 1024  # rows that one learner plays before it is another's turn
UNTIMED = 64  # rows in which code is loaded and tables are first filled


class Peer(Protocol):
    """A learner of another library."""

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[float]:
        """Yield each row's probability of label 1, predicted before the row is learned, and once it has been."""

    def close(self) -> None:
        """Free the memory and files that the library holds."""


@runtime_checkable
class RawPeer(Peer, Protocol):
    """A learner of another library whose users give it words as they are, and not as columns of 0 and 1."""

    def announce_raw(self, rows: Sequence[RawRow], y: Vector, weights: Vector | None = None) -> Iterator[float]:
        """See `Peer.announce`."""


class ClassPeer(Protocol):
    """A learner of another library, of K classes that it knows by their numbers."""

    def announce(self, X: Features, y: Vector, weights: Vector | None = None) -> Iterator[Vector]:
        """Yield each row's probabilities, predicted before the row is learned, and once it has been."""

    def close(self) -> None:
        """Free the memory and files that the library holds."""


@runtime_checkable
class LatePeer(Peer, Protocol):
    """A learner of another library that can learn a row after it has predicted others."""

    def predict(self, X: Features) -> Iterator[float]:
        """Yield each row's probability of label 1; no label is known yet."""

    def learn(self, X: Features, y: Vector, weights: Vector | None = None) -> None:
        """Learn from the rows, in their order."""


class DelayedPeer(LatePlayer):
    """Plays a peer whose labels come late."""

    def __init__(self, peer: LatePeer, delay: Delay) -> None:
        super().__init__(delay)
        self._peer = peer

    @property
    def _width(self) -> int | None:
        return None  # rows are as wide as the widest so far

    def _announce_rows(self, X: Features) -> tuple[Announcements | None, Vector]:
        return None, np.array(list(self._peer.predict(X)), dtype=np.float64)

    def _learn(self, block: Block) -> None:
        self._peer.learn(block.X, block.y, block.weights)


@dataclass
class Clock:
    """Counts a learner's seconds and rows, but for the first `UNTIMED` rows of the stream."""

    seconds: float = 0.0
    rows: int = 0

    def add(self, begun: float, first: int, rows: int) -> None:
        """Add the time since `begun` for `rows` rows, the first of which is row `first` of the stream."""
        if first >= UNTIMED:
            self.seconds += time.perf_counter() - begun
            self.rows += rows

    @property
    def microseconds(self) -> float:
        """Mean microseconds a row; NaN where no row was timed."""
        return 1e6 * self.seconds / self.rows if self.rows else math.nan


@dataclass
class Entrant:
    """A peer in the comparison, its scores and its clock; `left` says why it was left out, None where it was not."""

    name: str
    peer: Peer | ClassPeer
    scores: Scores | ClassScores = field(default_factory=Scores)
    clock: Clock = field(default_factory=Clock)
    left: str | None = None
    late: DelayedPeer | None = None

    def play(self, batch: Batch, first: int) -> None:
        """Play a batch that begins with row `first`; a peer that raises, or predicts no probability, is left out."""
        assert batch.y is not None
        y = batch.y
        self._count(lambda: Announced(self._said(batch, y), y), first)

    def _said(self, batch: Batch, y: Vector) -> Vector:
        """Return what the peer says, given the rows as its users give them."""
        if batch.raw is not None and isinstance(self.peer, RawPeer):
            return np.array(list(self.peer.announce_raw(batch.raw, y, batch.weights)), dtype=np.float64)
        return np.array(list(self.peer.announce(batch.X, y, batch.weights)), dtype=np.float64)

    def play_late(self, hear: Callable[[DelayedPeer], Announced], first: int) -> None:
        """Play rows whose labels come late, after the `first` labels."""
        late = self.late
        if late is not None:
            self._count(lambda: hear(late), first)

    def _count(self, play: Callable[[], Announced], first: int) -> None:
        begun = time.perf_counter()
        try:
            p, y, *_ = play()
        except Exception as error:  # of whatever kind: a library of others must not end the run
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            self.left = f"{self.name} is left out from row {first + 1:,} on: {reason}"
            return
        self.clock.add(begun, first, len(y))
        outside = ~((p >= 0.0) & (p <= 1.0))
        wrong = np.flatnonzero(outside if p.ndim == 1 else outside.any(axis=1))
        if wrong.size:
            row, said = first + int(wrong[0]) + 1, np.atleast_1d(p[wrong[0]])[np.atleast_1d(outside[wrong[0]])][0]
            self.left = f"{self.name} is left out from row {row:,} on: it said {said:g}, which is no probability"
            return
        self.scores.count(p, y)


class SideBySide(PromptPlayer):
    """Plays a learner and, after it on the same rows, each peer that has not been left out.

    Parameters
    ----------
    turn
        Called whenever it is a peer's turn.
    """

    def __init__(self, learner: AnyLearner, entrants: list[Entrant], turn: Callable[[], None]) -> None:
        super().__init__(learner, some_unlabelled=True)
        self.entrants = entrants
        self.clock = Clock()
        self._turn = turn
        self._rows = 0

    def play(self, batch: Batch, room: int) -> tuple[int, Announced]:
        """See `Player`."""
        begun = time.perf_counter()
        rows, announced = super().play(batch, room)
        if announced.unlabelled:
            return rows, announced
        self.clock.add(begun, self._rows, len(announced.y))
        for entrant in self.entrants:
            if entrant.left is None:
                self._turn()
                entrant.play(part_of_batch(batch, slice(0, rows)), self._rows)
        self._rows += rows
        return rows, announced


class SideBySideLate(DelayedPlayer):
    """The same where labels come late: everybody predicts when a row comes, and learns when its label does."""

    def __init__(self, learner: Learner, delay: Delay, entrants: list[Entrant], turn: Callable[[], None]) -> None:
        super().__init__(learner, delay)
        self.entrants = entrants
        self.clock = Clock()
        self._turn = turn
        for entrant in entrants:
            if isinstance(entrant.peer, LatePeer):
                entrant.late = DelayedPeer(entrant.peer, delay)
            else:
                entrant.left = f"{entrant.name} is left out: it cannot learn from labels that come late"

    def play(self, batch: Batch, room: int) -> tuple[int, Announced]:
        """See `Player`. The schedule is everybody's, so that all take the same rows and labels."""
        first, begun = self.waiting.heard, time.perf_counter()
        rows, announced = super().play(batch, room)
        self.clock.add(begun, first, len(announced.y))
        self._others(lambda peer: peer.play(batch, room)[1], first)
        return rows, announced

    def play_rest(self, rows: int) -> Announced:
        """See `Player`."""
        first, begun = self.waiting.heard, time.perf_counter()
        announced = super().play_rest(rows)
        self.clock.add(begun, first, len(announced.y))
        self._others(lambda peer: peer.play_rest(rows), first)
        return announced

    def _others(self, hear: Callable[[DelayedPeer], Announced], first: int) -> None:
        for entrant in self.entrants:
            if entrant.left is None:
                self._turn()
                entrant.play_late(hear, first)


class Comparison(Run):
    """Plays a stream with a learner and, part by part on the same rows, with its peers. Memory: that of the learners.

    A peer who raises an exception, or says what is no probability, leaves the comparison, and `left` says why. One
    thread does it all, so that nobody's time is another's.

    Parameters
    ----------
    peers
        The other learners, by name.
    turn
        Called whenever it is a peer's turn.
    classes
        All labels, in the order of their codes, where the peers are of K classes; None where they are of two.
    """

    def __init__(
        self,
        stream: Stream,
        learner: AnyLearner,
        peers: Mapping[str, Peer | ClassPeer],
        with_extremes: bool = False,
        turn: Callable[[], None] = lambda: None,
        delay: Delay | None = None,
        classes: Sequence[Label] | None = None,
        tolerant: bool = False,
    ) -> None:
        self.name = type(learner).__name__.removeprefix("Class")
        self.entrants = [
            Entrant(name, peer) if classes is None else Entrant(name, peer, SmoothedScores(classes))
            for name, peer in peers.items()
        ]
        together: SideBySide | SideBySideLate
        if delay is None or not plays_two_classes(learner):
            together = SideBySide(learner, self.entrants, turn)
        else:
            together = SideBySideLate(learner, delay, self.entrants, turn)
        self.clock = together.clock
        super().__init__(
            stream,
            learner,
            with_extremes=with_extremes,
            player=together,
            longest=PART,
            peers=self._losses,
            threads=False,
            delay=delay,
            tolerant=tolerant,
        )

    @property
    def playing(self) -> list[Entrant]:
        """The peers who have not left."""
        return [entrant for entrant in self.entrants if entrant.left is None]

    def close(self) -> None:
        """Close the run and every peer."""
        super().close()
        for entrant in self.entrants:
            entrant.peer.close()

    def _losses(self) -> dict[str, float | None]:
        return {entrant.name: entrant.scores.log_loss for entrant in self.playing}
