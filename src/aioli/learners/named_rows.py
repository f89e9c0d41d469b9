"""Rows whose cells go by names, for learners of numbers: data frames and dictionaries, with words, dates and gaps."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Self

import numpy as np

from aioli.errors import CapabilityMissing
from aioli.learners.all_or_nothing import all_or_nothing
from aioli.snapshots.tree import Snapshot
from aioli.streams.frames import is_named

if TYPE_CHECKING:
    from aioli.streams.files.table import Features, Table
    from aioli.streams.table_encoder import TableEncoder

__all__ = ["TakesNamedRows", "only_row"]

STREAM = "stream"  # the part of a model's file that says how its columns are encoded, as the command writes it
LABELS = "labels"  # within it, what the classes are called


def only_row(rows: object) -> object:
    """Return the one row of a matrix as learners take a single row the short way: dense, of one dimension."""
    return rows[0] if type(rows) is np.ndarray and rows.ndim == 2 and len(rows) == 1 else rows


def new_encoder() -> "TableEncoder":
    """Return an encoder that has seen no row. It is loaded with the first that needs it: a process starts sooner."""
    from aioli.streams.table_encoder import TableEncoder

    return TableEncoder()


class TakesNamedRows(ABC):
    """A learner that begins with data frames or dictionaries encodes them, and all that come later, as files are.

    One that begins with rows of numbers alone, or that was told what its columns are called, takes numbers alone.
    Arrays are always features: of a learner that encodes, as many as it has by then.
    """

    _table: "TableEncoder | None" = None  # from the first row that was learned, where its cells had names
    _labels_told: Snapshot | None = None  # what the classes are called in the file that it was loaded from

    @property
    @abstractmethod
    def n_features_(self) -> int | None:
        """How many features a row has; None before the first row."""

    @property
    @abstractmethod
    def feature_names_(self) -> list[str] | None:
        """Names of the features; None until given."""

    @feature_names_.setter
    @abstractmethod
    def feature_names_(self, names: Sequence[str] | None) -> None: ...

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, as if they had been there, and 0, from the first row.

        Exactly so in `Auto`; in `ClassAuto` but for two choices that the first row makes: how long the random waves
        are, and which products are taken of more than 22 columns. A learner that encodes rows refuses: it grows by
        itself.
        """
        if self._table is not None:
            raise CapabilityMissing(
                "the learner encodes rows by the names of their columns, and grows by itself when a new one comes; "
                "give it rows that have it"
            )
        self._grow(columns, names)
        return self

    @abstractmethod
    def _grow(self, columns: int, names: Sequence[str] | None) -> None:
        """Make room for new columns, whoever knows of them."""

    def meet_columns(self, kinds: Collection[str]) -> bool:  # noqa: ARG002  (most play whatever the columns are)
        """Choose, before the first row, who plays columns of these kinds; return whether rows may be sparse."""
        return False

    def _by_name(self, X: object) -> bool:
        """Return whether rows must be encoded before this learner can take them."""
        if type(X) is np.ndarray:  # asked for every row
            return False
        open_yet = self.n_features_ is None and self.feature_names_ is None
        return (self._table is not None or open_yet) and is_named(X)

    def features_of(self, X: object) -> object:
        """Return rows by the features known so far, where their cells have names; others as they came."""
        if not self._by_name(X):
            return X
        if self._table is None:
            return new_encoder().encode(X)
        rows, width = self._table.transform(X), self.n_features_
        return rows if width is None or rows.shape[1] <= width else rows[:, :width]

    @contextmanager
    def _announcing(self, X: object) -> Iterator[object]:
        """Yield rows that are to be announced as features; the first of all show what the columns are."""
        if self._table is not None:
            yield self.features_of(X)
            return
        with all_or_nothing(self):
            table = new_encoder()
            rows = table.encode_table(self._met(table, X), moving=False)
            self._table = table
            with self._named(table):
                yield rows

    @contextmanager
    def _learning(self, X: object, check: Callable[[int], None]) -> "Iterator[Features]":
        """Yield rows that are to be learned as features, new ones among them; a refusal leaves all as it was.

        `check` refuses what came with so many rows, before the learner grows. What is refused after that, such as rows
        that are too long, leaves it with columns that were 0 in all rows.
        """
        begins, table = self._table is None, new_encoder() if self._table is None else self._table
        with table.all_or_nothing(lambda: self.n_features_), all_or_nothing(self) if begins else nullcontext():
            rows = table.encode_table(self._met(table, X)) if begins else table.encode(X)
            known = self.n_features_
            if known is not None and known < len(table.features):
                check(rows.shape[0])
                self._grow(len(table.features) - known, table.features[known:])
            with self._named(table):
                yield rows
            self._table = table

    @contextmanager
    def _named(self, table: "TableEncoder") -> Iterator[None]:
        """Give the features their names before the first row: who plays learns from them what marks a gap."""
        begins = self.feature_names_ is None
        try:
            if begins:
                self.feature_names_ = list(table.features)
            yield
        except BaseException:
            if begins:
                self.feature_names_ = None
            raise

    def _met(self, table: "TableEncoder", X: object) -> "Table | None":
        """Return the first rows of all as a table: they say what the columns are, and so who plays."""
        first = table.table(X)
        if self.meet_columns(set(table.kinds.values())):
            table.allow_wide()
        return first

    def _table_parts(self, labels: Snapshot) -> dict[str, Snapshot]:
        """Return the part of a snapshot that says how columns are encoded, and what the classes are called."""
        return {} if self._table is None else {STREAM: self._table.snapshot(labels=labels)}

    @property
    def encoding_(self) -> Snapshot | None:
        """How columns are encoded, as the file of a model says it; None where rows are numbers alone."""
        return None if self._table is None else self._table.snapshot()

    def forget_encoding(self) -> None:
        """Take numbers alone from now on, since whoever is around this learner encodes rows."""
        self._table = None

    def _recall_table(self, snapshot: Snapshot) -> None:
        """Take from a snapshot, which may be a model of the command, how columns are encoded."""
        stream = snapshot.parts.get(STREAM)
        if stream is None or "scaler" in stream.parts:
            return
        encoder = stream.parts.get("encoder")
        if stream.kind == "FileStream" and encoder is not None and encoder.kind == "Encoder":
            self._table, self._labels_told = type(new_encoder()).restore(stream), stream.parts.get(LABELS)
