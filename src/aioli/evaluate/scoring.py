"""The scores of a run, counted piece by piece beside the learner."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from aioli.evaluate.loop import Announced, Observer
from aioli.evaluate.sums import Scores

__all__ = ["Scoring"]

AHEAD = 2  # pieces that wait to be counted


class Scoring(Observer):
    """Counts the scores of a run, piece by piece, in a thread of its own or in the caller's.

    Attributes
    ----------
    scores
        What has been counted; complete once `settle` has returned.
    """

    def __init__(self, threaded: bool = True) -> None:
        self.scores = Scores()
        self._thread = ThreadPoolExecutor(max_workers=1) if threaded else None
        self._waiting: deque[Future[None]] = deque()

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002
        """Count the piece, or have it counted."""
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
        """Stop counting."""
        if self._thread is not None:
            self._thread.shutdown()
