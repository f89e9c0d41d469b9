"""Rows that name only what is not 0, as CSR: every name or number its column, in the order in which they first come."""

import zlib
from typing import Any, Self

import numpy as np
from scipy import sparse

from aioli.streams.encoding import BUCKETS
from aioli.streams.files.table import SparseTable

__all__ = ["SparseEncoder"]


class SparseEncoder:
    """Remembers how many columns there are; those beyond a cap share buckets by their hash.

    Parameters
    ----------
    cap
        How many features may have a column of their own; None for as many as come.
    """

    def __init__(self, cap: int | None = None) -> None:
        self.cap = cap
        self.features: list[str] = []
        self.shared = 0
        self._width = 0

    def encode(self, table: SparseTable) -> Any:
        """The rows as a CSR array."""
        columns = table.features.astype(np.int64)
        top = int(columns.max(initial=-1)) + 1
        names = table.names or [str(k) for k in range(top)]
        self._width = max(self._width, top)
        owned = self._width if self.cap is None else min(self._width, self.cap)
        if self.cap is not None and self._width > self.cap:
            beyond = columns >= self.cap
            self.shared += int(beyond.sum())
            hashes = {
                int(c): self.cap + zlib.crc32(names[int(c)].encode()) % BUCKETS for c in np.unique(columns[beyond])
            }
            columns[beyond] = [hashes[int(c)] for c in columns[beyond]]
            owned = self.cap + BUCKETS
        for k in range(len(self.features), owned):
            own = self.cap is None or k < self.cap
            self.features.append(names[k] if own else f"rare features, bucket {k - int(self.cap or 0)}")
        X = sparse.csr_array((table.values, columns, table.starts), shape=(len(table), len(self.features)))
        X.sum_duplicates()
        return X

    def state(self) -> dict[str, Any]:
        """All that it remembers, as plain values."""
        return {"cap": self.cap, "features": self.features, "shared": self.shared, "width": self._width}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Go on from a state."""
        encoder = cls(state["cap"])
        encoder.features, encoder.shared = list(state["features"]), state["shared"]
        encoder._width = state["width"]
        return encoder
