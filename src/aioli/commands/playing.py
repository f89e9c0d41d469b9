"""The game over a whole stream: reading ahead, predicting, learning, scoring, in memory that does not grow."""

import queue
import threading
from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from aioli.commands.columns import Extremes
from aioli.commands.predictions import Spool
from aioli.evaluate.scoreboard import Scoreboard
from aioli.numerics.compiling import Vector
from aioli.report.record import Point

__all__ = ["Playing"]

AHEAD = 2  # tables that wait to be played
# Where the run is looked at: four times for every doubling of the rows, which is enough for a curve.
LOOKS = sorted({round(2.0 ** (k / 4)) for k in range(4 * 60)})


class Playing:
    """A learner on a stream, how it has done so far, and what to remember of it.

    One thread reads, one plays, one counts: each works on other rows, in the order of the rows.
    """

    def __init__(self, stream: Any, learner: Any, spool: Spool | None = None, watched: bool = False) -> None:
        self.stream = stream
        self.learner = learner
        self.spool = spool
        self.board = Scoreboard()
        self.history: list[Point] = []
        self.extremes = Extremes() if watched else None  # of the columns, for those who will look at them
        self.rows = 0
        self._counter = ThreadPoolExecutor(max_workers=1)
        self._counting: Future[None] | None = None

    def tables(self) -> Iterator[int]:
        """Play table after table; yields the rows so far, when all that is remembered is of the same rows."""
        with _Ahead(self.stream.tables()) as ahead:
            for table in ahead:
                self._play(self.stream.encode(table))
                yield self.rows
        if self.rows and (not self.history or self.history[-1].rows < self.rows):
            self._look()

    def settle(self) -> None:
        """Wait until every row has been counted."""
        if self._counting is not None:
            self._counting.result()
            self._counting = None

    def close(self) -> None:
        """Stop counting."""
        self._counter.shutdown()

    def _play(self, batch: Any) -> None:
        grow_to(self.learner, batch.X.shape[1], self.stream.features)
        if self.extremes is not None:
            self.extremes.update(batch.X)
        start = 0
        while start < len(batch.y):
            due = LOOKS[bisect_right(LOOKS, self.rows)]
            stop = min(len(batch.y), start + due - self.rows)
            weights = None if batch.weights is None else batch.weights[start:stop]
            y = batch.y[start:stop]
            p = _learn(self.learner, batch.X[start:stop], y, weights)
            if self.spool is not None:
                self.spool.add(p, y)
            self._count(p, y)
            self.rows += stop - start
            start = stop
            if self.rows == due:
                self._look()

    def _count(self, p: Vector, y: Vector) -> None:
        self.settle()
        self._counting = self._counter.submit(self.board.update, p, y)

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
    from aioli.learners.templates import learn_rows  # which says so where a learner takes no weights

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
    """Reads tables in a thread of its own, a few ahead of the one that is played."""

    def __init__(self, tables: Any) -> None:
        self._tables = tables
        self._queue: queue.Queue[Any] = queue.Queue(AHEAD)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Iterator[Any]:
        self._thread.start()
        return iter(self._next, None)

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        while self._thread.is_alive():
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
            for table in self._tables:
                self._queue.put(table)
                if self._stopped.is_set():
                    self._tables.close()
                    return
            self._queue.put(None)
        except BaseException as error:
            self._queue.put(error)
