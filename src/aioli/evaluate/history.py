"""Records the history of a run: losses, certificate and shares, at points close enough to draw curves through."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aioli.evaluate.loop import Announced, Observer
from aioli.evaluate.scoring import Scoring
from aioli.learners.protocol import AnyLearner, certifies, mixes

__all__ = ["History", "Number", "Point"]

Number = float | None  # a measured number; None, NaN and the infinities alike are not drawn
# Where a run is looked at: four times for every doubling of the rows.
LOOKS: list[int] = sorted({round(2.0 ** (k / 4)) for k in range(4 * 60)})


@dataclass(frozen=True)
class Point:
    """Losses, certificate, regret and shares of a run after its first `rows` rows.

    Attributes
    ----------
    log_loss, base_rate
        Mean log loss so far, in nats a row.
    recent
        Mean log loss of the rows since the point before.
    certificate, regret
        In nats, over all rows so far.
    weights
        The share of the mixture that each expert holds; None where there is no mixture.
    peers
        Mean log loss so far of other learners, by name.
    """

    rows: int
    log_loss: Number
    recent: Number = None
    base_rate: Number = None
    certificate: Number = None
    regret: Number = None
    weights: Mapping[str, Number] | None = None
    peers: Mapping[str, Number] = field(default_factory=dict)


class History(Observer):
    """Records a `Point` of the run four times for every doubling of the rows, and one at the end.

    Parameters
    ----------
    learner
        Returns the learner that plays now.
    peers
        Returns the mean log losses of other learners on the same rows, by name.
    """

    def __init__(
        self,
        learner: Callable[[], AnyLearner],
        scoring: Scoring,
        peers: Callable[[], Mapping[str, Number]] = dict[str, Number],
    ) -> None:
        self.points: list[Point] = []
        self._learner, self._scoring, self._peers = learner, scoring, peers

    def due(self, rows: int) -> int:
        """Return the row count of the next point."""
        return LOOKS[bisect_right(LOOKS, rows)]

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002  (an observer's signature)
        """Make a point if it is due."""
        if LOOKS[bisect_left(LOOKS, rows)] == rows:
            self.points.append(self._look(rows))

    def ended(self, rows: int) -> None:
        """Make the last point."""
        self.points = self.up_to(rows)

    def up_to(self, rows: int) -> list[Point]:
        """Return the points so far, and one for the last of so many rows, which all have been played."""
        if not rows or (self.points and self.points[-1].rows >= rows):
            return list(self.points)
        return [*self.points, self._look(rows)]

    def _look(self, rows: int) -> Point:
        self._scoring.settle()
        before = self.points[-1] if self.points else Point(0, 0.0)
        nats_before = before.rows * (before.log_loss or 0.0)
        scores, learner = self._scoring.scores, self._learner()
        return Point(
            rows=rows,
            log_loss=scores.log_loss,
            recent=(scores.nats - nats_before) / (rows - before.rows),
            base_rate=scores.base_rate,
            certificate=float(learner.certificate()) if certifies(learner) else None,
            weights=dict(learner.weights_) if mixes(learner) else None,
            peers=self._peers(),
        )
