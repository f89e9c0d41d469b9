"""Samples a few rows that stand for all rows of a stream, against which effects of columns are measured."""

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.evaluate.loop import Observer
from aioli.learners.batch.reservoir import Reservoir
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.table import Features
from aioli.streams.protocol import Batch

__all__ = ["Background", "RowSample"]

KEPT = 128  # rows of the sample
WIDE = 5000  # features beyond which rows are not made dense
QUANTILES = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
Places = NDArray[np.int64]


class RowSample(Observer):
    """Keeps a uniform sample of the rows of a run, as features: O(1) a row, and memory that does not grow."""

    def __init__(self) -> None:
        self._reservoir = Reservoir(KEPT, seed=0)
        self._rows = 0
        self._kept: list[tuple[Places, Vector]] = []  # of each row the places that are not 0, and their values
        self._labels: list[float] = []

    def batch_ended(self, batch: Batch) -> None:
        """Copy those rows of the batch that the reservoir chooses into the sample."""
        count = batch.X.shape[0]
        while self._reservoir.next <= self._rows + count:
            row = batch.X[[self._reservoir.next - self._rows - 1]]
            slot = self._reservoir.admit()
            label = math.nan if batch.y is None else float(batch.y[self._reservoir.rounds[slot] - self._rows - 1])
            self._kept[slot : slot + 1], self._labels[slot : slot + 1] = [_entries(row)], [label]
        self._rows += count

    def labelled(self) -> tuple[Matrix, Vector] | None:
        """Return the rows of the sample and their labels, in the order in which they came; None where rows are wide."""
        width = max((int(places[-1]) + 1 for places, _ in self._kept if len(places)), default=0)
        if not 0 < width <= WIDE:
            return None
        rows = np.zeros((len(self._kept), width))
        for row, (places, values) in zip(rows, self._kept, strict=True):
            row[places] = values
        order = np.argsort(self._reservoir.rounds)
        return rows[order], np.array(self._labels)[order]

    def background(self, width: int, sparse: bool) -> "Background | None":
        """Return what the sample says of rows of so many features; None where there was no row."""
        if not self._kept:
            return None
        if not sparse:
            rows = np.zeros((len(self._kept), width))
            for row, (places, values) in zip(rows, self._kept, strict=True):
                row[places] = values
            return Background.of_rows(rows)
        from scipy.sparse import csr_array

        starts = np.cumsum([0, *(len(places) for places, _ in self._kept)])
        places, values = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        return Background.of_rows(csr_array((values, places, starts), shape=(len(self._kept), width)))

    def snapshot(self) -> Snapshot:
        """Return the sample, and which row enters next."""
        starts = np.cumsum([0, *(len(places) for places, _ in self._kept)]).astype(np.int64)
        places = np.concatenate([np.zeros(0, dtype=np.int64), *(places for places, _ in self._kept)])
        values = np.concatenate([np.zeros(0), *(values for _, values in self._kept)])
        arrays = {"starts": starts, "places": places, "values": values, "labels": np.nan_to_num(self._labels, nan=-1.0)}
        return Snapshot("RowSample", {"rows": self._rows}, arrays, {"reservoir": self._reservoir.snapshot()})

    def go_on_from(self, other: Self) -> None:
        """Take over what another sample holds; the loop goes on telling this object of rows."""
        self._reservoir, self._rows = other._reservoir, other._rows
        self._kept, self._labels = list(other._kept), list(other._labels)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal sample, which goes on choosing the same rows."""
        sample, given = cls(), snapshot.of("RowSample")
        sample._reservoir, sample._rows = Reservoir.restore(given.part("reservoir")), given.whole("rows")
        labels = given.array("labels", (len(sample._reservoir.rounds),))
        sample._labels = np.where(labels < 0.0, np.nan, labels).tolist()
        cuts = given.integers("starts", (len(sample._reservoir.rounds) + 1,))[1:-1]
        parts = (np.split(given.integers("places", (None,)), cuts), np.split(given.array("values", (None,)), cuts))
        sample._kept = list(zip(*parts, strict=True)) if sample._reservoir.rounds else []
        return sample


class Background:
    """Holds the rows against which effects are measured, their average, and quantiles of each feature.

    A snapshot holds the average and the quantiles and no row; so one that is restored has one row, the average.

    Attributes
    ----------
    rows
        Dense or CSR.
    average
        The mean of each feature.
    """

    def __init__(self, rows: Features, average: Vector, places: Places, quantiles: Matrix) -> None:
        self.rows, self.average = rows, average
        self._quantiles = {int(place): quantiles[:, i] for i, place in enumerate(places)}

    @classmethod
    def of_rows(cls, rows: Features) -> Self:
        """Return the background that these rows make; quantiles are of features that are not all 0 and 1."""
        if isinstance(rows, np.ndarray):
            places = np.flatnonzero(((rows != 0.0) & (rows != 1.0)).any(axis=0))
            chosen: Matrix = rows[:, places]
        else:
            places = np.unique(rows.indices[rows.data != 1.0]).astype(np.int64)[:1000]
            chosen = rows[:, places].toarray()
        quantiles = np.quantile(chosen, QUANTILES, axis=0) if places.size else np.zeros((len(QUANTILES), 0))
        average = np.asarray(rows.mean(axis=0), dtype=np.float64).reshape(-1)
        return cls(rows, average, places, quantiles)

    def quantiles(self, place: int) -> list[float]:
        """Return the different quantiles of a feature, rising; 0 and 1 where it is never anything else."""
        known = self._quantiles.get(place)
        return [0.0, 1.0] if known is None else sorted(set(known.tolist()))

    def snapshot(self) -> Snapshot:
        """Return the average and the quantiles; no row is in it."""
        places, values = _entries(self.average[None, :])
        arrays = {
            "places": places,
            "values": values,
            "spread_places": np.array(list(self._quantiles), dtype=np.int64),
            "quantiles": np.array(list(self._quantiles.values())).T.reshape(len(QUANTILES), -1).copy(),
        }
        return Snapshot("Background", {"width": len(self.average)}, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make a background whose only row is the average."""
        given = snapshot.of("Background")
        average = np.zeros(given.whole("width"))
        places = given.places("places", len(average))
        average[places] = given.array("values", places.shape)
        spread = given.places("spread_places", len(average))
        return cls(average[None, :], average, spread, given.array("quantiles", (len(QUANTILES), len(spread))))


def _entries(row: Features) -> tuple[Places, Vector]:
    """Return the places of a row that are not 0, and their values."""
    if isinstance(row, np.ndarray):
        places = np.flatnonzero(row[0])
        return places, row[0, places].copy()
    return row.indices.astype(np.int64), row.data.astype(np.float64)
