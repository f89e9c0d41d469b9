"""Encodes sparse rows as CSR: every feature gets a column when it first comes.

A feature that has a number gets the column of that number; one that has a name gets the next that is free. Features
beyond a cap share columns by their hash, so that memory stays bounded whatever comes.
"""

import zlib
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import ParameterRefused
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.table import Csr, SparseTable

__all__ = ["SparseEncoder"]

WIDE_CAP = 1 << 20  # features that may have a column of their own
SHARED_BITS = 12
SHARED = 1 << SHARED_BITS  # columns that all later features share
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64/φ: neighbouring numbers go to distant columns


class SparseEncoder:
    """Encodes sparse tables; remembers which column each feature has.

    Parameters
    ----------
    cap
        How many features may have a column of their own; None for `WIDE_CAP`.
    """

    def __init__(self, cap: int | None = None) -> None:
        if cap is not None and cap < 0:
            raise ParameterRefused(f"the cap on columns is {cap}; it must be at least 0", parameter="cap", value=cap)
        self.cap = WIDE_CAP if cap is None else cap
        self.shared = 0  # entries of rows that had to share a column
        self.missing: dict[str, int] = {}  # nothing is: what a row does not name is 0
        self.categories: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._width = 0
        self._first = 0
        self.features: list[str] = []  # shared columns come last

    def encode(self, table: SparseTable) -> Csr:
        """Return the rows as a CSR array of as many columns as have been needed so far."""
        from scipy import sparse  # loaded where it is needed: a process starts sooner without it

        columns = self._columns_by_name(table)[table.features] if table.names else self._columns_by_number(table)
        if (beyond := columns >= self.cap).any():
            self.shared += int(beyond.sum())
            self._width = self.cap + SHARED
        self._name_columns()
        entries = (table.values, columns, table.starts)
        X: Csr = sparse.csr_array(
            entries, shape=(len(table), self._width), copy=True
        )  # the next line changes it in place
        X.sum_duplicates()
        return X

    def _columns_by_name(self, table: SparseTable) -> NDArray[np.int64]:
        """Return the column of each of the table's names."""
        columns = [self._names.get(name, -1) for name in table.names]
        for k, name in enumerate(table.names):
            if columns[k] < 0 and len(self._names) < self.cap:
                columns[k] = self._names[name] = len(self._names)
            elif columns[k] < 0:
                columns[k] = self.cap + zlib.crc32(name.encode()) % SHARED
        self._width = max(self._width, len(self._names))
        return np.array(columns, dtype=np.int64)

    def _columns_by_number(self, table: SparseTable) -> NDArray[np.int64]:
        """Return the column of each entry by its number; Knuth's multiplicative hash spreads those beyond the cap."""
        self._first = table.first
        columns = table.features.astype(np.int64)
        self._width = max(self._width, min(int(columns.max(initial=-1)) + 1, self.cap))
        mixed = (columns.astype(np.uint64) * GOLDEN) >> np.uint64(64 - SHARED_BITS)
        return np.where(columns < self.cap, columns, self.cap + mixed.astype(np.int64))

    def _name_columns(self) -> None:
        known, own = len(self.features), min(self._width, self.cap)
        if known < own:
            names = (
                islice(self._names, known, own) if self._names else (str(k + self._first) for k in range(known, own))
            )
            self.features += names
        self.features += [f"rare features, bucket {k}" for k in range(len(self.features) - own, self._width - own)]

    def snapshot(self) -> Snapshot:
        """Return which feature has which column."""
        counts = {"cap": self.cap, "width": self._width, "first": self._first, "shared": self.shared}
        return Snapshot("SparseEncoder", {**counts, "names": list(self._names)})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal encoder from a snapshot."""
        encoder = cls(snapshot.of("SparseEncoder").whole("cap"))
        encoder._names = {name: column for column, name in enumerate(snapshot.texts("names") or ())}
        encoder._width, encoder._first = snapshot.whole("width"), snapshot.whole("first")
        encoder.shared = snapshot.whole("shared")
        encoder._name_columns()
        return encoder
