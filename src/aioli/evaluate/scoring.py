"""Scores a run piece by piece, in a thread beside the one that learns."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.loop import Announced, Observer
from aioli.evaluate.sums import LateScores, Scores
from aioli.evaluate.windows import Windows
from aioli.outcomes.class_labels import Label

__all__ = ["Scoring"]

AHEAD = 2  # pieces that wait to be counted


class Scoring(Observer):
    """Adds each piece of a run to its scores, in a thread of its own or in the caller's.

    Parameters
    ----------
    threaded
        Whether a thread of its own counts.
    late
        Whether labels are late, so that the base rate knows them late too.
    declared
        The classes that the learner was told beforehand; none where they come by themselves.

    Attributes
    ----------
    scores
        What has been counted; complete once `settle` has returned. They are `ClassScores` from the first row of a game
        of K classes on, which go on from what was counted of two.
    windows
        The same rows in equal windows, of games of two classes.
    """

    def __init__(self, threaded: bool = True, late: bool = False, declared: Sequence[Label] = ()) -> None:
        self.scores: Scores | ClassScores = LateScores() if late else Scores()
        self.windows = Windows()
        self._declared = declared
        self._thread = ThreadPoolExecutor(max_workers=1) if threaded else None
        self._waiting: deque[Future[None]] = deque()

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002  (an observer's signature)
        """Add the piece to the scores, or hand it to the thread that does."""
        if self._thread is None:
            self._count(announced)
            return
        if len(self._waiting) > AHEAD:
            self._wait_for_first()
        self._waiting.append(self._thread.submit(self._count, announced))

    def _wait_for_first(self) -> None:
        """Wait until the oldest piece is counted, then forget it: after Ctrl-C in between it is waited for again."""
        self._waiting[0].result()
        self._waiting.popleft()

    def _count(self, announced: Announced) -> None:
        p, y, base, classes, _ = announced
        scores = self.scores
        if classes is None:
            assert isinstance(scores, Scores)
            scores.count(p, y, base)
            self.windows.count(p, y)
            return
        if isinstance(scores, Scores):
            turns = scores.rows > 0
            scores = (
                ClassScores.of_two_classes(scores, classes[:2])
                if turns
                else ClassScores(self._declared, declared=bool(self._declared))
            )
        scores.count(p, y, base, classes)
        self.scores = scores

    def settle(self) -> None:
        """Wait until every row has been counted."""
        while self._waiting:
            self._wait_for_first()

    def close(self) -> None:
        """Stop the thread."""
        if self._thread is not None:
            self._thread.shutdown()
