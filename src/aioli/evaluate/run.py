"""A whole stream played by a learner: read, learned and counted in three threads, in memory that does not grow."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import NamedTuple

from aioli.errors import CapabilityMissing
from aioli.evaluate.column_summary import Extremes
from aioli.evaluate.deferred_sigint import DeferredSigint
from aioli.evaluate.history import History, Number
from aioli.evaluate.loop import Alone, Loop, Observer, Player
from aioli.evaluate.read_ahead import ReadAhead
from aioli.evaluate.scoring import Scoring
from aioli.evaluate.sums import Scores
from aioli.learners.protocol import Learner, grows, names_columns
from aioli.snapshots.tree import Snapshot
from aioli.streams.protocol import Batch, Stream

__all__ = ["Run"]


class Encoded(NamedTuple):
    """A table's rows, the stream's snapshot behind them, and how much of the stream has been read with them."""

    batch: Batch
    after: Snapshot
    fraction: float | None


class Run(Loop):
    """A learner on a stream, how it has done so far, and all that is needed to go on.

    One thread reads, one plays, one counts: each works on other rows, in the order of the rows. At any moment the run
    can go on from `before`, the stream's snapshot before the table in hand, `within` rows of which have been played;
    but for the moments when it is not `whole`, while rows are being learned and counted.

    Parameters
    ----------
    stream, learner
        What is played, and who plays.
    observers
        Who else watches the rows.
    watched
        Whether the extremes of the columns will be looked at.
    player, longest
        Who plays in the learner's place, and how many rows at a time; None for the learner alone, and any number.
    peers
        Tells the mean log losses of other learners on the same rows, by name.
    threads
        False reads, plays and counts in one thread, and can be interrupted at any moment.
    """

    def __init__(
        self,
        stream: Stream,
        learner: Learner,
        observers: Sequence[Observer] = (),
        watched: bool = False,
        *,
        player: Player | None = None,
        longest: int | None = None,
        peers: Callable[[], Mapping[str, Number]] = dict[str, Number],
        threads: bool = True,
    ) -> None:
        self.stream = stream
        self.learner = learner
        self.scoring = Scoring(threads)
        self.history = History(learner, self.scoring, peers)
        self.extremes = Extremes() if watched else None
        further = [] if self.extremes is None else [self.extremes]
        super().__init__(player or Alone(learner), [*observers, self.scoring, self.history, *further], longest)
        self.before = self.known = stream.snapshot()  # `known` is of the end of the table in hand
        self.fraction: float | None = None  # of the stream, as far as it is known
        self._patience = DeferredSigint() if threads else None
        # The adversary asks the learner before each answer, and cannot be asked ahead.
        self._ahead = threads and not stream.hostile

    def tables(self) -> Iterator[int]:
        """Play table after table; yields the rows so far."""
        reading = ReadAhead(self._encoded()) if self._ahead else closing(self._encoded())
        with self._patience or nullcontext(), reading as tables:
            for batch, after, fraction in tables:
                with self._uninterrupted():
                    _widen(self.learner, batch.X.shape[1], self.stream.features)
                    self.known = after
                for _ in self.play_batch(batch):
                    pass
                self.fraction = fraction
                yield self.rows
        for _ in self.play_rest():
            pass

    @property
    def scores(self) -> Scores:
        """The scores of all rows so far; waits until they have been counted."""
        self.scoring.settle()
        return self.scoring.scores

    @property
    def taught(self) -> Snapshot:
        """The stream's snapshot with what it knows of its columns, as wide as the learner, also in a refused table."""
        return replace(self.known, values={**self.known.values, "label": self.stream.label})

    def close(self) -> None:
        """Stop counting."""
        self.scoring.close()

    def _encoded(self) -> Generator[Encoded, None, None]:
        for table in self.stream.tables():
            yield Encoded(self.stream.encode(table), self.stream.snapshot(), self.stream.fraction)

    def _uninterrupted(self) -> AbstractContextManager[object]:
        return nullcontext() if self._patience is None else self._patience.busy()

    def _end(self, batch: Batch) -> None:
        super()._end(batch)
        self.before = self.known


def _widen(learner: Learner, width: int, features: Sequence[str]) -> None:
    """Make the learner as wide as the rows, the new columns having been 0 so far; they get the stream's names."""
    known = learner.n_features_
    if known is not None and known < width:
        if not grows(learner):
            raise CapabilityMissing(
                f"{type(learner).__name__} cannot grow, and a new feature has come, {features[known]!r}; use Auto or "
                "AIOLI"
            )
        learner.grow(width - known, features[known:width] if names_columns(learner) else None)
    if names_columns(learner) and len(learner.feature_names_ or ()) != width:
        learner.feature_names_ = list(features[:width])
