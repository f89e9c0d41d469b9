"""Summarises the columns of a stream for a report: kind, missing values, least, mean and greatest."""

from dataclasses import dataclass

import numpy as np

from aioli.evaluate.history import Number
from aioli.evaluate.loop import Observer
from aioli.numerics.compiling import Matrix
from aioli.streams.protocol import Batch, Stream

__all__ = ["Column", "Extremes", "summarize_columns"]

COUNT, SUM, LEAST, GREATEST = range(4)


@dataclass(frozen=True)
class Column:
    """A column of the data: its kind, the share of missing values, and what else is known of its values."""

    name: str
    kind: str
    missing: Number = None
    categories: int | None = None
    note: str = ""
    least: Number = None
    mean: Number = None
    greatest: Number = None


class Extremes(Observer):
    """Keeps count, sum, least and greatest of every feature of dense rows. O(d) a row."""

    def __init__(self) -> None:
        self.table: Matrix = np.zeros((4, 0))

    def batch_ended(self, batch: Batch) -> None:
        """Count the rows of a batch; a new feature counts as 0 in all rows before."""
        X = batch.X
        if not isinstance(X, np.ndarray):
            self.table = np.zeros((4, 0))  # a sparse row does not hold what is 0
            return
        if not len(X):
            return
        more = X.shape[1] - self.table.shape[1]
        if more:
            fresh = np.zeros((4, more))
            if self.table.shape[1]:
                fresh[COUNT] = self.table[COUNT, 0]
            else:
                fresh[LEAST], fresh[GREATEST] = np.inf, -np.inf
            self.table = np.hstack([self.table, fresh])
        self.table[COUNT] += len(X)
        self.table[SUM] += X.sum(axis=0)
        self.table[LEAST] = np.minimum(self.table[LEAST], X.min(axis=0))
        self.table[GREATEST] = np.maximum(self.table[GREATEST], X.max(axis=0))

    def of(self, place: int) -> tuple[float, float, float] | None:
        """Return least, mean and greatest of the feature at this place; None where no row had it."""
        if place >= self.table.shape[1] or not self.table[COUNT, place]:
            return None
        count, total, least, greatest = self.table[:, place].tolist()
        return least, total / count, greatest


def summarize_columns(stream: Stream, rows: int, extremes: Extremes | None) -> list[Column]:
    """Return one `Column` for each column but the label; a single one for sparse rows, whose features are many."""
    if not stream.kinds:
        note = _shared(stream.shared)
        return [Column("features by name", "sparse", categories=len(stream.features), note=note)]
    places = {name: place for place, name in enumerate(stream.features)}
    columns = []
    for name, kind in stream.kinds.items():
        if name == stream.label:
            continue
        ends = extremes.of(places[name]) if extremes is not None and name in places and kind == "number" else None
        least, mean, greatest = ends or (None, None, None)
        columns.append(
            Column(
                name,
                kind,
                missing=stream.missing.get(name, 0) / rows,
                categories=stream.categories.get(name),
                note=_shared(stream.shared) if kind == "category" else "",
                least=least,
                mean=mean,
                greatest=greatest,
            )
        )
    return columns


def _shared(values: int) -> str:
    return f"rare ones share buckets by their hash ({values:,} values of all columns)" if values else ""
