"""Scores a run piece by piece, in a thread beside the one that learns."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from aioli.evaluate.loop import Announced, Observer
from aioli.evaluate.sums import LateScores, Scores

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

    Attributes
    ----------
    scores
        What has been counted; complete once `settle` has returned.
    """

    def __init__(self, threaded: bool = True, late: bool = False) -> None:
        self.scores = LateScores() if late else Scores()
        self._thread = ThreadPoolExecutor(max_workers=1) if threaded else None
        self._waiting: deque[Future[None]] = deque()

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002
        """Add the piece to the scores, or hand it to the thread that does."""
        if self._thread is None:
            self.scores.count(*announced)
            return
        if len(self._waiting) > AHEAD:
            self._waiting.popleft().result()
        self._waiting.append(self._thread.submit(self.scores.count, *announced))

    def settle(self) -> None:
        """Wait until every row has been counted."""
        while self._waiting:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Stop the thread."""
        if self._thread is not None:
            self._thread.shutdown()
