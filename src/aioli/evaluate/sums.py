"""The base of running scores, each a function of sums over rows, and `Scores`, all of a run in one pass."""

from abc import ABC, abstractmethod
from typing import Protocol, Self

import numpy as np

from aioli.errors import ParameterRefused, RowRefused
from aioli.evaluate import score_functions as functions
from aioli.evaluate.score_functions import Reliability
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.rows import as_labels

__all__ = ["LateScores", "Score", "Scores", "Sums"]


class Score(Protocol):
    """A running score of probabilities and the labels that came."""

    def update(self, p: object, y: object) -> None:
        """Take in the probabilities announced for some rows, and their labels."""
        ...

    @property
    def value(self) -> float:
        """The score of all rows so far."""
        ...


class Sums(ABC):
    """The base of every score: its state is named sums, which merge by adding."""

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        self._sums: dict[str, Vector] = {name: np.zeros(shape) for name, shape in shapes.items()}

    @abstractmethod
    def _add(self, p: Vector, y: Vector) -> None: ...

    def update(self, p: object, y: object) -> None:
        """Take in the probabilities announced for some rows, and their labels; all of them, or none if one is wrong."""
        announced = np.atleast_1d(np.asarray(p, dtype=np.float64))
        if announced.ndim != 1:
            raise RowRefused(f"probabilities of shape {announced.shape} came", remedy="give one a row")
        wrong = ~((announced >= 0.0) & (announced <= 1.0))
        if wrong.any():
            t = int(np.argmax(wrong))
            raise RowRefused(
                f"the probability is {announced[t]}",
                row=t,
                value=float(announced[t]),
                remedy="give one from 0 to 1",
            )
        self._add(np.ascontiguousarray(announced), as_labels(np.atleast_1d(np.asarray(y)), announced.size))

    def merge(self, other: Self) -> Self:
        """Take in what another score of this kind has counted of other rows."""
        if type(other) is not type(self):
            raise ParameterRefused(
                f"a {type(other).__name__} cannot merge into a {type(self).__name__}; give the same kind",
                parameter="other",
                value=other,
            )
        for name, total in self._sums.items():
            total += other._sums[name]
        return self

    def snapshot(self) -> Snapshot:
        """Return its parameters and its sums."""
        arrays = {name: total.copy() for name, total in self._sums.items()}
        return Snapshot(type(self).__name__, self._parameters(), arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal score, which goes on from what was counted."""
        score = cls._made_for(snapshot.of(cls.__name__))
        for name, total in score._sums.items():
            total[...] = snapshot.array(name, total.shape)
        return score

    def _parameters(self) -> dict[str, Plain]:
        return {}

    @classmethod
    def _made_for(cls, _snapshot: Snapshot) -> Self:
        """Return a score of the snapshot's parameters that has counted nothing."""
        return cls()


class Scores(Sums):
    """Log loss, Brier, accuracy, AUC and calibration of announced probabilities, and the base rate's log loss.

    All sums are added in one compiled pass, which a long stream can afford; the classes of `evaluate.scores` say what
    each score is.

    >>> scores = Scores()
    >>> scores.update(np.array([0.9, 0.2, 0.6]), np.array([1.0, 0.0, 0.0]))
    >>> print(f"{scores.log_loss:.4f} {scores.brier:.4f} {scores.auc:.2f}")
    0.4149 0.1367 1.00
    """

    def __init__(self) -> None:
        super().__init__(totals=(functions.TOTALS,), bins=(3, functions.BINS), cells=(2, functions.CELLS))
        self._totals: Vector = self._sums["totals"]
        self.bins: Matrix = self._sums["bins"]  # rows of each class, and their probabilities, in bins of like ones
        self.cells: Matrix = self._sums["cells"]  # rows of each class in equally wide parts of [0, 1]

    def _add(self, p: Vector, y: Vector) -> None:
        self.count(p, y)

    def count(self, p: Vector, y: Vector, base: Vector | None = None, classes: None = None) -> None:  # noqa: ARG002  (the signature of `ClassScores.count`)
        """Take in what a learner announced, and the labels 0.0 or 1.0, all of it trusted. O(1) a row."""
        functions.add_all(p, y, self._totals, self.bins, self.cells)

    @property
    def rows(self) -> int:
        """How many rows have come."""
        return int(self._totals[functions.ROWS])

    @property
    def nats(self) -> float:
        """The sum of the log losses."""
        return float(self._totals[functions.NATS])

    @property
    def log_loss(self) -> float:
        """Mean log loss, in nats a row."""
        return functions.mean(self._totals, functions.NATS)

    @property
    def clipped(self) -> int:
        """How many rows gave their label no probability at all; `log_loss` is then a lower bound."""
        return int(self._totals[functions.CLIPPED])

    @property
    def base_rate(self) -> float:
        """Mean log loss of the running base rate."""
        return functions.base_rate_loss(self._totals, functions.SMOOTHING)

    @property
    def brier(self) -> float:
        """Mean squared error."""
        return functions.mean(self._totals, functions.SQUARES)

    @property
    def accuracy(self) -> float:
        """The part of rows whose label had the larger probability."""
        return functions.mean(self._totals, functions.RIGHT)

    @property
    def auc(self) -> float:
        """Area under the ROC curve."""
        return functions.area_under_curve(self.bins)

    @property
    def auc_error(self) -> float:
        """How far at most `auc` is from the exact area."""
        return functions.area_error(self.bins)

    @property
    def auc_interval(self) -> tuple[float, float]:
        """The interval that holds the area of the rows' law about 95 times in 100."""
        reach = 1.96 * functions.area_deviation(self.bins)
        return max(self.auc - reach, 0.0), min(self.auc + reach, 1.0)

    @property
    def ece(self) -> float:
        """Expected calibration error."""
        return functions.calibration_error(self.reliability())

    def reliability(self) -> list[Reliability]:
        """Return the points of a reliability diagram."""
        return functions.reliability_table(self.bins, functions.GROUPS)

    def tails(self) -> list[Reliability]:
        """Return a reliability diagram that is as fine near 0 and 1 as in the middle."""
        return functions.tail_table(self.bins)

    def decisions(self) -> list[tuple[float, int, int, int]]:
        """Return some thresholds, the rows called positive there, how many of these are, and how many are missed."""
        return functions.decision_table(self.bins)

    def thresholds(self) -> list[tuple[float, float, float, float]]:
        """Return threshold, true and false positive rate, and precision: from the strictest to the most lenient."""
        return functions.threshold_curve(self.bins)


class LateScores(Scores):
    """The same scores where labels come late: the base rate is of the labels that were known when a row came."""

    def __init__(self) -> None:
        super().__init__()
        self._sums["late_base"] = np.zeros(functions.TOTALS)

    def count(self, p: Vector, y: Vector, base: Vector | None = None, classes: None = None) -> None:  # noqa: ARG002  (the signature of `ClassScores.count`)
        """Take in what was announced, what the base rate announced, and the labels."""
        super().count(p, y)
        if base is not None:
            functions.add_totals(base, y, self._sums["late_base"])

    @property
    def base_rate(self) -> float:
        """Mean log loss of the running base rate, which knows a label when the learner does."""
        return functions.mean(self._sums["late_base"], functions.NATS)
