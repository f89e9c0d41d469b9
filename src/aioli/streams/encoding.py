r"""Named columns to rows of numbers: one-hot categories that grow, dates, missing values; blind to the label.

A feature's place is settled when it first comes, behind all others, so that a learner may grow exactly. Columns of
numbers come first, in their order. What is missing is told by a feature of its own, and filled with the mean of the
column's values so far, which says nothing.
"""

import zlib
from typing import Any, Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.files.recognise import days_since_1970
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, Table, Texts

__all__ = ["Encoder"]

CAP = 256  # features that categories may have of their own
BUCKETS = 32  # features that all later categories share
BUCKET = "rare categories, bucket"
WEEK = 7.0
THURSDAY = 3.0  # the first of January 1970, Monday being 0


class Encoder:
    """Remembers which feature belongs to what, and the columns' means.

    Parameters
    ----------
    kinds
        What each column is: number, category, date or skipped.
    cap
        How many features the categories of all columns may have of their own; those that come later, being rare, share
        `BUCKETS` more by their hash.
    """

    def __init__(self, kinds: dict[str, str], cap: int = CAP) -> None:
        if cap < 0:
            raise ValueError(f"the cap on columns is {cap}; it must be at least 0")
        self.kinds = dict(kinds)
        self.cap = cap
        self.features: list[str] = []
        self.shared = 0  # values of rows that had to share a bucket
        self.missing: dict[str, int] = {}
        self.categories = {name: 0 for name, kind in kinds.items() if kind == CATEGORY}  # with a feature of their own
        self._places: dict[str, int] = {}
        self._sums: dict[str, list[float]] = {}  # of each column of numbers: sum and count of the values present
        for name, kind in self.kinds.items():
            if kind == NUMBER:
                self._place(name)
        for name, kind in self.kinds.items():
            if kind == DATE:
                for feature in _of_date(name):
                    self._place(feature)
        self._plain = all(kind in (NUMBER, "skipped") for kind in self.kinds.values())

    def encode(self, table: Table) -> Matrix:
        """The rows as numbers. The very matrix that was read, where nothing but numbers has ever come."""
        if self._plain and table.complete and len(self.features) == table.numbers.shape[1]:
            for name, total in zip(table.names, table.numbers.sum(axis=0).tolist(), strict=True):
                before, count = self._sums.get(name, (0.0, 0))
                self._sums[name] = [before + total, count + len(table)]
            return table.numbers
        dense: list[tuple[int, Vector]] = []
        ones: list[tuple[Any, Any]] = []  # rows and features that are 1
        for j, name in enumerate(table.names):
            dense.append((self._place(name), self._filled(name, table.numbers[:, j], ones)))
        for name, texts in table.texts.items():
            if self.kinds[name] == DATE:
                days, wrong = days_since_1970(texts)
                if wrong is not None:
                    raise ValueError(
                        f"{table.where(wrong)}, column {name!r}: {texts[wrong]!r} is no date, and this was a column of "
                        f"dates so far; mend it, or read the column as categories (--category {name!r})"
                    )
                filled = self._filled(name, days, ones)
                weekday, hour = np.floor(filled + THURSDAY) % WEEK, (filled % 1.0) * 24.0
                dense += list(zip(map(self._place, _of_date(name)), (filled, weekday, hour), strict=True))
            else:
                ones.append((np.arange(len(texts)), self._one_hot(name, texts)))
        X = np.zeros((len(table), len(self.features)))
        for place, values in dense:
            X[:, place] = values
        for rows, places in ones:
            X[rows, places] = 1.0
        return X

    def _place(self, feature: str) -> int:
        if feature not in self._places:
            self._places[feature] = len(self.features)
            self.features.append(feature)
        return self._places[feature]

    def _filled(self, name: str, values: Vector, ones: list[tuple[Any, Any]]) -> Vector:
        """The values, the missing ones among them filled with the mean of those before."""
        gone = np.isnan(values)
        total, count = self._sums.setdefault(name, [0.0, 0])
        present = np.where(gone, 0.0, values)
        sums, counts = total + np.cumsum(present), count + np.cumsum(~gone)
        self._sums[name] = [float(sums[-1]), int(counts[-1])]
        if not gone.any():
            return values
        rows = np.flatnonzero(gone)
        ones.append((rows, np.full(len(rows), self._place(f"{name} is missing"))))
        self.missing[name] = self.missing.get(name, 0) + len(rows)
        means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        return np.where(gone, means, values)

    def _one_hot(self, name: str, texts: Texts) -> Any:
        places: dict[str | None, int] = {}
        for text in dict.fromkeys(texts):
            places[text] = self._place(f"{name} is missing") if text is None else self._category(name, text)
        if None in places:
            self.missing[name] = self.missing.get(name, 0) + texts.count(None)
        where = np.array([places[text] for text in texts])
        buckets = [place for place in places.values() if self.features[place].startswith(BUCKET)]
        self.shared += int(np.isin(where, buckets).sum()) if buckets else 0
        return where

    def _category(self, name: str, value: str) -> int:
        feature = f"{name}={value}"
        if feature in self._places:
            return self._places[feature]
        if sum(self.categories.values()) < self.cap:
            self.categories[name] += 1
            return self._place(feature)
        return self._place(f"{BUCKET} {zlib.crc32(feature.encode()) % BUCKETS}")

    def state(self) -> dict[str, Any]:
        """All that it remembers, as plain values."""
        return {
            "kinds": self.kinds,
            "cap": self.cap,
            "features": self.features,
            "shared": self.shared,
            "categories": self.categories,
            "missing": self.missing,
            "sums": self._sums,
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Go on from a state."""
        encoder = cls(state["kinds"], state["cap"])
        encoder.features = list(state["features"])
        encoder._places = {feature: place for place, feature in enumerate(encoder.features)}
        encoder.shared, encoder.categories = state["shared"], dict(state["categories"])
        encoder.missing = dict(state["missing"])
        encoder._sums = {name: list(sums) for name, sums in state["sums"].items()}
        return encoder


def _of_date(name: str) -> tuple[str, str, str]:
    """A date is its day counted from 1970, the day of its week from Monday, and the hour of its day."""
    return name, f"{name}, weekday", f"{name}, hour"
