"""Maps rows to coordinates among a dictionary of the stream's own rows, which grows and then exchanges its points."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.announcements import Delayed
from aioli.learners.kernel.base_learner import BaseLearner, Forecaster
from aioli.learners.kernel.dictionary import Dictionary, restricted
from aioli.learners.kernel.feature_map_learner import FeatureMap
from aioli.learners.kernel.scales import Scaling
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["NystromMap", "NystromMaps"]

SMALLEST_RESIDUAL = 1e-10  # below it the new coordinate would be rounding
GAIN = 4.0  # by which a new point must say more than the one whose place it takes
MEMORY = 256.0  # rows over which residuals are averaged, once the budget is spent
LOST = 0.1, 1.5  # the mean residual, and how many times its least, from which the dictionary is of another place
SMALLEST_BLOCK = 16  # rows whose coordinates are computed together after the dictionary has changed


class NystromMap(FeatureMap):
    """Coordinates among the points of a dictionary that grows up to a budget."""

    def __init__(
        self, base: BaseLearner, bandwidth: float, dictionary: Dictionary, budget: int, accuracy: float
    ) -> None:
        super().__init__(base, bandwidth)
        self.dictionary = dictionary
        self.budget = budget
        self.threshold = max(accuracy, SMALLEST_RESIDUAL)
        self.block = SMALLEST_BLOCK
        self.mean, self.least = 1.0, 1.0  # of the residuals, once the budget is spent

    @property
    def width(self) -> int:
        """Return how many columns a row has."""
        return int(self.dictionary.points.shape[1])

    @property
    def full(self) -> bool:
        """Return whether the budget is spent."""
        return len(self.dictionary) >= self.budget

    def logits(self, X: Matrix) -> Vector:
        """Return each row's log-odds, as if it came next: one that would join the dictionary has its own coordinate."""
        base, F = self._coordinates(X)
        return base.logits(F)

    def announce(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Return each row's log-odds, as if it came next, and the memory of its announcement."""
        base, F = self._coordinates(X)
        return base.announce(F)

    def play(self, X: Matrix, y: Vector, weights: Vector | None, delayed: Delayed | None) -> Vector:
        """Learn from the rows in order; returns each row's probability before its label."""
        X = self.scaled(X)
        said = np.empty(len(X))
        t = 0
        while t < len(X):
            rows = slice(t, t + self.block)
            step = self._swapping if self.full else self._growing
            played = step(
                X[rows],
                y[rows],
                None if weights is None else weights[rows],
                None if delayed is None else delayed.of(rows),
            )
            said[t : t + len(played)] = played
            t += len(played)
            self.block = min(2 * self.block, len(X))
        return said

    def snapshot(self) -> Snapshot:
        """Return the dictionary, the base learner on it, and the running residuals."""
        values: dict[str, Plain] = {
            "bandwidth": self.bandwidth,
            "budget": self.budget,
            "threshold": self.threshold,
            "block": self.block,
            "mean": self.mean,
            "least": self.least,
        }
        parts = {"dictionary": self.dictionary.snapshot(), "base": self.base.snapshot()}
        return Snapshot("NystromMap", values, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal map from a snapshot."""
        dictionary = Dictionary.restore(snapshot.of("NystromMap").part("dictionary"))
        base = BaseLearner.restore(snapshot.part("base"), len(dictionary))
        budget, threshold = snapshot.whole("budget", least=1), snapshot.number("threshold")
        restored = cls(base, snapshot.positive("bandwidth"), dictionary, budget, threshold)
        restored.block = snapshot.whole("block", least=1)
        restored.mean, restored.least = snapshot.number("mean"), snapshot.number("least")
        return restored

    # ---- within

    def _coordinates(self, X: Matrix) -> tuple[BaseLearner, Matrix]:
        """Return the rows' coordinates, and who plays on them: a copy with room for those that would join."""
        F = self.dictionary.coordinates(self.scaled(X))
        residuals = _residuals(F)
        joining = residuals > self.threshold
        if self.full or not joining.any():
            return self.base, F
        own = np.sqrt(np.where(joining, residuals, 0.0))
        return copy.deepcopy(self.base).grow(), np.column_stack([F, own])

    def _growing(self, X: Matrix, y: Vector, weights: Vector | None, delayed: Delayed | None) -> Vector:
        """Play all rows; each that is new joins the dictionary before it is announced, while there is room."""
        F = self.dictionary.coordinates(X)
        residuals = _residuals(F)
        said = np.empty(len(X))
        first = 0
        while not self.full:
            new = np.flatnonzero(residuals[first:] > self.threshold)
            if not new.size:
                break
            j = first + int(new[0])
            self._learn(F, y, weights, delayed, slice(first, j), said)
            further = self.dictionary.next_coordinate(X, F, X[j], F[j], residuals[j])
            self.dictionary.add(X[j], F[j], residuals[j])
            self.base.grow()
            F = np.column_stack([F, further])
            residuals = residuals - further * further
            first = j
        self._learn(F, y, weights, delayed, slice(first, len(X)), said)
        return said

    def _swapping(self, X: Matrix, y: Vector, weights: Vector | None, delayed: Delayed | None) -> Vector:
        """Play rows up to the first that deserves a place, which it takes once it has been played."""
        F = self.dictionary.coordinates(X)
        residuals = _residuals(F)
        means, leasts = running_means(residuals, self.mean, self.least)
        lost = (residuals > self.threshold) & (means > np.maximum(LOST[0], LOST[1] * leasts))
        end, leaving = len(X), None
        if self.base.state is not None and lost.any():
            redundancies = self.dictionary.redundancies()
            new = np.flatnonzero(lost & (residuals > GAIN * float(redundancies.min())))
            if new.size:
                end, leaving = int(new[0]) + 1, int(np.argmin(redundancies))
        said = np.empty(end)
        self._learn(F, y, weights, delayed, slice(0, end), said)
        self.mean, self.least = float(means[end - 1]), float(leasts[end - 1])
        if leaving is not None:
            self._swap(leaving, X[end - 1])
        return said

    def _swap(self, j: int, x: Vector) -> None:
        state = self.base.state
        assert state is not None  # an AIOLI that has learned: `_swapping` saw to it
        self.base.settle(restricted(state, j, *self.dictionary.drop(j)))
        f = self.dictionary.coordinates(x[None, :])
        self.dictionary.add(x, f[0], float(_residuals(f)[0]))
        self.base.grow()
        self.block = SMALLEST_BLOCK // 2  # doubled at once

    def _learn(
        self, F: Matrix, y: Vector, weights: Vector | None, delayed: Delayed | None, rows: slice, said: Vector
    ) -> None:
        if rows.start < rows.stop:
            stakes = None if weights is None else weights[rows]
            said[rows] = self.base.play(F[rows], y[rows], stakes, None if delayed is None else delayed.of(rows))


@dataclass(frozen=True)
class NystromMaps:
    """Makes the maps of one `Nystrom`, each with a dictionary of its own."""

    base: BaseLearner
    kernel: str
    budget: int
    accuracy: float

    def fresh(self, width: int, bandwidth: float, _number: int) -> NystromMap:
        """Return a map of rows of this width, with an empty dictionary."""
        base = BaseLearner.fresh(self.base.learner)
        return NystromMap(base, bandwidth, Dictionary(width, self.kernel), self.budget, self.accuracy)

    def grown(self, known: Forecaster, columns: int, _number: int) -> NystromMap:
        """Return the map with new columns, which have been 0 so far."""
        assert isinstance(known, NystromMap)
        known.dictionary.points = np.pad(known.dictionary.points, ((0, 0), (0, columns)))
        return known

    def restore(self, snapshot: Snapshot) -> NystromMap:
        """Make the map of a snapshot, of the budget that all have."""
        restored = NystromMap.restore(snapshot)
        if restored.budget != self.budget or len(restored.dictionary) > self.budget:
            raise SnapshotRefused(f"in a NystromMap, {len(restored.dictionary)} points came of {self.budget}")
        return restored

    def few_rows(self, _scaling: Scaling, _maps: Sequence[Forecaster]) -> None:
        """Return None: a dictionary that may change with every row plays by itself."""


def _residuals(F: Matrix) -> Vector:
    """Return each row's squared distance, in the kernel's space, from the span of the dictionary."""
    return np.asarray(1.0 - np.einsum("ij,ij->i", F, F))


@compiled("Tuple((f8[::1],f8[::1]))(f8[::1],f8,f8)")
def running_means(residuals: Vector, mean: float, least: float) -> tuple[Vector, Vector]:
    """Return the running mean of residuals after each row, and the least that it has been. O(1) a row."""
    means, leasts = np.empty(residuals.size), np.empty(residuals.size)
    for t in range(residuals.size):
        mean += (residuals[t] - mean) / MEMORY
        least = min(least, mean)
        means[t], leasts[t] = mean, least
    return means, leasts
