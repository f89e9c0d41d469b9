"""The game over a whole stream: reading ahead, predicting, learning, scoring, in memory that does not grow."""

import queue
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from aioli.errors import FileRefused, RowRefused
from aioli.evaluate.column_summary import Extremes
from aioli.evaluate.deferred_sigint import DeferredSigint
from aioli.evaluate.history import Point
from aioli.evaluate.sums import Scores
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.store.predictions import Spool
from aioli.streams.files.table import Where
from aioli.streams.protocol import Batch, Stream

__all__ = ["READER", "Playing"]

READER = "aioli-reader"  # the name of the thread
AHEAD = 2  # tables that wait to be played, or to be counted
LONGEST_WAIT = 1.0  # seconds, for the reader to notice that it is no longer needed
# Where the run is looked at: four times for every doubling of the rows, which is enough for a curve.
LOOKS = sorted({round(2.0 ** (k / 4)) for k in range(4 * 60)})


class Playing:
    """A learner on a stream, how it has done so far, and what to remember of it.

    One thread reads, one plays, one counts: each works on other rows, in the order of the rows. At any moment the run
    can go on from `before`, the stream's state before the table in hand, `within` rows of which have been played; but
    for the moments when it is not `whole`, while rows are being learned and counted; the learner may then be `torn`.

    Parameters
    ----------
    stream, learner, spool
        What is played, who plays, and where the announced probabilities go.
    watched
        Whether the extremes of the columns will be looked at.
    """

    def __init__(self, stream: Stream, learner: Any, spool: Spool | None = None, watched: bool = False) -> None:
        self.stream = stream
        self.learner = learner
        self.spool = spool
        self.board = Scores()
        self.history: list[Point] = []
        self.extremes = Extremes() if watched else None
        self.rows = self.within = 0
        self.whole, self.torn = True, False
        self.before: Snapshot = stream.snapshot()
        self.fraction: float | None = None  # of the stream, as far as it is known
        self.known = self.before  # what the stream knew of its columns at the end of the table in hand
        self._patience = DeferredSigint()
        self._counter = ThreadPoolExecutor(max_workers=1)
        self._counting: deque[Future[None]] = deque()

    def tables(self) -> Iterator[int]:
        """Play table after table; yields the rows so far."""
        with self._patience, nullcontext(self._batches()) if self.stream.hostile else _Ahead(self._batches()) as ahead:
            for batch, known, fraction in ahead:
                with self._patience.busy():
                    grow_to(self.learner, batch.X.shape[1], self.stream.features)
                    self.known = known
                self._play(batch)
                self.fraction = fraction
                yield self.rows
        if self.rows and (not self.history or self.history[-1].rows < self.rows):
            self._look()

    @property
    def taught(self) -> Snapshot:
        """What the stream has learned of its columns, as wide as the learner, also when a table was refused."""
        return replace(self.known, values={**self.known.values, "label": self.stream.label})

    def settle(self) -> None:
        """Wait until every row has been counted."""
        while self._counting:
            self._counting.popleft().result()

    def close(self) -> None:
        """Stop counting."""
        self._counter.shutdown()

    def _batches(self) -> Iterator[tuple[Batch, Snapshot, float | None]]:
        """The rows of each table, the stream's state at its end, from which all can go on, and how far that is."""
        for table in self.stream.tables():
            yield self.stream.encode(table), self.stream.snapshot(), self.stream.fraction

    def _play(self, batch: Any) -> None:
        """Play the rows of a table that are left; no interrupt comes between its last row and its end."""
        while True:
            with self._patience.busy():
                if self.within < len(batch.y):
                    self._play_part(batch)
                if self.within == len(batch.y):
                    self._end(batch)
                    return

    def _play_part(self, batch: Any) -> None:
        due = LOOKS[bisect_right(LOOKS, self.rows)]
        part = slice(self.within, min(len(batch.y), self.within + due - self.rows))
        weights = None if batch.weights is None else batch.weights[part]
        self._play_rows(batch.X[part], batch.y[part], weights, batch.where)
        if self.rows == due:
            self._look()
        self.whole = True

    def _play_rows(self, X: Any, y: Vector, weights: Vector | None, where: Where) -> None:
        self.whole, self.torn = False, True
        try:
            p = _learn(self.learner, X, y, weights)
        except ValueError as error:
            self.whole, self.torn = True, False  # a refused call leaves the learner as it was
            if isinstance(error, RowRefused) and error.row is not None:
                place = where(self.within + error.row)
                raise FileRefused(error.placed(place), path=self.stream.name, place=place) from error
            raise
        self.torn = False
        if self.spool is not None:
            self.spool.add(p, y)
        self._count(p, y)
        self.rows += len(y)
        self.within += len(y)

    def _end(self, batch: Any) -> None:
        """The table in hand has been played."""
        if self.extremes is not None:
            self.extremes.update(batch.X)
        self.before, self.within = self.known, 0

    def _count(self, p: Vector, y: Vector) -> None:
        if len(self._counting) > AHEAD:
            self._counting.popleft().result()
        self._counting.append(self._counter.submit(self.board.count, p, y))

    def _look(self) -> None:
        self.settle()
        before = self.history[-1] if self.history else Point(0, 0.0)
        nats_before = before.rows * (before.log_loss or 0.0)
        board = self.board
        certificate = getattr(self.learner, "certificate", None)
        weights = getattr(self.learner, "weights_", None)
        self.history.append(
            Point(
                rows=self.rows,
                log_loss=board.log_loss,
                recent=(board.nats - nats_before) / (self.rows - before.rows),
                base_rate=board.base_rate,
                certificate=float(certificate()) if callable(certificate) else None,
                weights=dict(weights) if isinstance(weights, dict) else None,
            )
        )


def _learn(learner: Any, X: Any, y: Vector, weights: Vector | None) -> Vector:
    if weights is None:
        announced: Vector = learner.learn_many(X, y)
        return announced
    from aioli.learners.cloning import learn_rows  # which says so where a learner takes no weights

    return learn_rows(learner, X, y, weights)


def grow_to(learner: Any, width: int, features: list[str]) -> None:
    """Make the learner as wide as the rows, the new columns having been 0 so far."""
    known = learner.n_features_
    if known is not None and known < width:
        if not hasattr(learner, "grow"):
            raise ValueError(
                f"{type(learner).__name__} cannot grow, and a new feature has come, {features[known]!r}; use Auto or "
                "AIOLI"
            )
        learner.grow(width - known)
    if hasattr(learner, "feature_names_") and len(learner.feature_names_ or ()) != width:
        learner.feature_names_ = features[:width]


class _Ahead:
    """Reads batches in a thread of its own, a few ahead of the one that is played."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches
        self._queue: queue.Queue[Any] = queue.Queue(AHEAD)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read, name=READER, daemon=True)

    def __enter__(self) -> Iterator[Any]:
        self._thread.start()
        return iter(self._next, None)

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        until = time.monotonic() + LONGEST_WAIT  # it may be waiting for input that never comes
        while self._thread.is_alive() and time.monotonic() < until:
            while not self._queue.empty():
                self._queue.get_nowait()
            self._thread.join(0.01)

    def _next(self) -> Any:
        came = self._queue.get()
        if isinstance(came, BaseException):
            raise came
        return came

    def _read(self) -> None:
        try:
            for batch in self._batches:
                self._queue.put(batch)
                if self._stopped.is_set():
                    self._batches.close()
                    return
            self._queue.put(None)
        except BaseException as error:
            self._queue.put(error)
