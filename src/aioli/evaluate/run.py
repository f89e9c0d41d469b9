"""Plays a whole stream with a learner: one thread reads, one learns, one scores, in memory that does not grow."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from aioli.errors import CapabilityMissing
from aioli.evaluate.background import Background, RowSample
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.column_summary import Extremes
from aioli.evaluate.deferred_sigint import DeferredSigint
from aioli.evaluate.delay import Delay
from aioli.evaluate.delayed import DelayedPlayer
from aioli.evaluate.delayed_classes import DelayedClassPlayer
from aioli.evaluate.explaining import BACKGROUND
from aioli.evaluate.history import History, Number
from aioli.evaluate.loop import Loop, Observer, Player
from aioli.evaluate.prompt_player import PromptPlayer
from aioli.evaluate.read_ahead import ReadAhead
from aioli.evaluate.scoring import Scoring
from aioli.evaluate.sums import Scores
from aioli.learners.protocol import AnyLearner, grows, knows_classes, names_columns, plays_two_classes
from aioli.snapshots.tree import Snapshot
from aioli.streams.joined_stream import JoinedStream
from aioli.streams.protocol import Batch, Stream
from aioli.streams.skipped_rows import SkippedRows

if TYPE_CHECKING:
    from aioli.evaluate.key_scores import KeyScores

__all__ = ["Run", "widen"]


class PlaysLearner(Player, Protocol):
    """A player of a learner, which may become another."""

    @property
    def learner(self) -> AnyLearner:
        """The learner that plays now."""


class Encoded(NamedTuple):
    """A table as a batch, the stream's snapshot after it, and the fraction of the stream read by then."""

    batch: Batch
    after: Snapshot
    fraction: float | None


class Run(Loop):
    """Plays a stream with a learner, and holds the scores, the history and the position that a checkpoint needs.

    One thread reads, one plays, one scores: each works on other rows, in the order of the rows. Whenever the run is
    `whole`, it can be resumed from `before`, the stream's snapshot before the current table, by skipping the `within`
    rows of that table that have been played.

    Parameters
    ----------
    stream, learner
        The rows, and the learner that plays them.
    observers
        Further observers, besides scores and history.
    with_extremes
        Whether to keep least, mean and greatest of every feature, for a report.
    player, longest
        A player in place of the learner alone, and the most rows that it is given at a time.
    peers
        Returns the mean log losses of other learners on the same rows, by name.
    delay
        How late the labels come, where they do.
    threads
        False reads, plays and counts in one thread, and can be interrupted at any moment.
    tolerant
        Whether rows that the learner refuses are left out, and counted.
    by_key
        Scores by key, which are among the observers; None where rows have no keys of models.
    """

    def __init__(
        self,
        stream: Stream,
        learner: AnyLearner,
        observers: Sequence[Observer] = (),
        with_extremes: bool = False,
        *,
        player: PlaysLearner | None = None,
        longest: int | None = None,
        peers: Callable[[], Mapping[str, Number]] = dict[str, Number],
        threads: bool = True,
        delay: Delay | None = None,
        tolerant: bool = False,
        by_key: "KeyScores | None" = None,
    ) -> None:
        self.stream = stream
        self.by_key = by_key
        self.delay = delay
        declared = learner.classes_ if knows_classes(learner) and not learner.rounds else ()
        self.scoring = Scoring(threads, late=delay is not None, declared=declared)
        self.history = History(lambda: self.learner, self.scoring, peers)
        self.sample = RowSample()
        self.extremes = Extremes() if with_extremes else None
        further = [] if self.extremes is None else [self.extremes]
        self._plays = player or single_player(learner, delay, some_unlabelled=True)
        everybody = [*observers, self.scoring, self.history, self.sample, *further]
        super().__init__(self._plays, everybody, longest, SkippedRows() if tolerant else None)
        self.before = self.known = stream.snapshot()  # `known` is the snapshot after the current table
        self.fraction: float | None = None  # of the stream, as far as it is known
        self._patience = DeferredSigint() if threads else None
        # The adversary asks the learner before each answer, and cannot be asked ahead.
        self._ahead = threads and not stream.hostile

    @property
    def learner(self) -> AnyLearner:
        """The learner that plays now: another than at first, where a third class has come."""
        return self._plays.learner

    def tables(self) -> Iterator[int]:
        """Play table after table; yield the count of rows so far after each."""
        reading = ReadAhead(self._encoded()) if self._ahead else closing(self._encoded())
        with self._patience or nullcontext(), reading as tables:
            for batch, after, fraction in tables:
                with self._uninterrupted():
                    widen(self.learner, batch.X.shape[1], self.stream.features)
                    self.known = after
                for _ in self.play_batch(batch):
                    pass
                self.fraction = fraction
                yield self.rows
            for _ in self.play_rest():
                pass

    @property
    def scores(self) -> Scores | ClassScores:
        """The scores of all rows so far; waits until they have been counted."""
        self.scoring.settle()
        return self.scoring.scores

    @property
    def taught(self) -> Snapshot:
        """The stream's snapshot to save beside the learner: the columns it has seen, as many as the learner knows.

        Where a table is refused, columns that came with it are included, since the learner has grown by them.
        """
        known = replace(self.known, values={**self.known.values, "label": self.stream.label})
        if isinstance(self.stream, JoinedStream):
            known = self.stream.as_taught(known)
        background = self.background()
        return known if background is None else replace(known, parts={**known.parts, BACKGROUND: background.snapshot()})

    def background(self) -> Background | None:
        """Return some rows of those played, as wide as the learner; None where no table has ended."""
        width = self.learner.n_features_
        return None if width is None else self.sample.background(width, self.stream.sparse)

    def close(self) -> None:
        """Stop the thread that scores."""
        self.scoring.close()

    def _encoded(self) -> Generator[Encoded, None, None]:
        for table in self.stream.tables():
            yield Encoded(self.stream.encode(table), self.stream.snapshot(), self.stream.fraction)

    def _uninterrupted(self) -> AbstractContextManager[object]:
        return nullcontext() if self._patience is None else self._patience.busy()

    def _end(self, batch: Batch) -> None:
        super()._end(batch)
        self.before = self.known


def single_player(learner: AnyLearner, delay: Delay | None, some_unlabelled: bool = False) -> PlaysLearner:
    """Return the player of one learner, whose labels come at once or late; late ones are of two or declared classes.

    `some_unlabelled` predicts rows whose label is NaN, where labels come at once, and does not refuse them.
    """
    if delay is None:
        return PromptPlayer(learner, some_unlabelled)
    if plays_two_classes(learner):
        return DelayedPlayer(learner, delay)
    assert knows_classes(learner)
    return DelayedClassPlayer(learner, delay)


def widen(learner: AnyLearner, width: int, features: Sequence[str]) -> None:
    """Grow the learner to the width of the rows, and give new columns, which were 0 before, the stream's names."""
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
