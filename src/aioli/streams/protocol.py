"""A stream as the evaluation loop sees it: tables are read, perhaps ahead in another thread, then made batches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Label
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.marks import Mark
from aioli.streams.files.table import Features, SparseTable, Table, Tables
from aioli.streams.files.where import Where
from aioli.streams.labels import Labels
from aioli.streams.raw_rows import RawRow

__all__ = ["Batch", "Keys", "Stream", "labelled_rows", "rows_of"]

Keys: TypeAlias = Sequence[tuple[str | None, ...]]  # of each row


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of a stream, ready for a learner.

    Attributes
    ----------
    X
        The rows, dense or CSR, with as many features as the stream has met so far.
    y
        Their labels, 0.0 or 1.0, or the codes of their classes; None where the stream has none. NaN where a row has
        none: it is predicted, and nothing is learned from it.
    weights
        How much each row counts; None where every row counts 1.
    where
        Says where a row of the batch is to be found, such as "clicks.csv, line 12".
    times
        When each row came, in seconds; None where nobody asked.
    label_times
        When each row's label comes, in seconds, infinity where it never does; None where labels have no times of their
        own.
    classes
        What the classes are called, in the order of their codes, where labels may be more than two: `y` then holds
        0.0, 1.0, 2.0, …; None where labels are 0.0 and 1.0.
    keys
        What is carried beside each row, as it is written; None where nothing is.
    raw
        The rows as other libraries are given them (`streams.raw_rows`); None where nobody asked.
    """

    X: Features
    y: Vector | None
    weights: Vector | None
    where: Where
    times: Vector | None = None
    classes: Sequence[Label] | None = None
    label_times: Vector | None = None
    keys: Keys | None = None
    raw: Sequence[RawRow] | None = None


def rows_of(batch: Batch, rows: slice | NDArray[np.int64]) -> Batch:
    """Return some rows of a batch; places in the file are those of the whole batch where they are no slice."""
    places = range(batch.X.shape[0])[rows] if isinstance(rows, slice) else rows.tolist()
    keys = None if batch.keys is None else [batch.keys[t] for t in places]
    raw = None if batch.raw is None else [batch.raw[t] for t in places]
    return replace(
        batch,
        X=batch.X[rows],
        y=None if batch.y is None else batch.y[rows],
        weights=None if batch.weights is None else batch.weights[rows],
        times=None if batch.times is None else batch.times[rows],
        label_times=None if batch.label_times is None else batch.label_times[rows],
        keys=keys,
        raw=raw,
    )


def labelled_rows(batch: Batch) -> Batch:
    """Return the rows of a batch that have a label."""
    if batch.y is None or not np.isnan(batch.y).any():
        return batch
    return rows_of(batch, np.flatnonzero(~np.isnan(batch.y)))


class Stream(Protocol):
    """Rows with labels that come in an order, can be left after any table and gone on with from a snapshot.

    Attributes
    ----------
    name
        The file, folder or law that the rows come from.
    label
        The name of the label's column; None where the rows have no label.
    labels
        What the classes are called, and how many rows of each have been encoded.
    kinds
        What each column is, the label among them; empty for sparse files, which have no columns.
    sparse
        Whether batches hold CSR arrays.
    hostile
        Whether labels depend on what the learner says, so that no table may be encoded ahead of the learner.
    """

    name: str
    label: str | None
    labels: Labels
    kinds: dict[str, str]
    sparse: bool
    hostile: bool

    @property
    def features(self) -> list[str]:
        """The names of the features so far, in their order."""

    @property
    def missing(self) -> Mapping[str, int]:
        """How many values were missing, by column."""

    @property
    def categories(self) -> Mapping[str, int]:
        """How many categories have a feature of their own, by column."""

    @property
    def shared(self) -> int:
        """How many values had to share a hashed feature with others."""

    @property
    def fraction(self) -> float | None:
        """How much of the stream has been read, from 0 to 1; None where its length is not known."""

    @property
    def rereadable(self) -> bool:
        """Whether `read_again` can give the rows a second time; a pipe cannot."""

    def marks(self, count: int = 0) -> list[Mark]:
        """Return what is remembered of the files read so far, or of the first `count`; nothing where there is none."""

    def tables(self) -> Tables:
        """Yield the tables that are left; this may be done ahead, in another thread."""

    def encode(self, table: Table | SparseTable) -> Batch:
        """Return the rows of the next table. Tables are encoded in their order; one that is refused changes nothing."""

    def read_again(self) -> Iterator[Batch]:
        """Yield all rows from the first, with the labels that they had."""

    def snapshot(self) -> Snapshot:
        """Return all that is needed to go on behind the last table that was encoded."""

    def close(self) -> None:
        """Close the files behind the stream; a second time does nothing."""
