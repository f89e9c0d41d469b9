r"""Encodes named columns as rows of features: one-hot categories that grow, dates, missing values; blind to the label.

A feature gets a place when it first comes, behind all that came before, so that a learner may grow exactly. Columns of
numbers come first. A missing value is marked by a feature of its own, an unreadable one by another, and filled with the
mean of the column's values so far, so that the number itself says nothing.

Where there are categories, columns are taken by their names, so that it does not matter in which order they come. New
categories get places as their rows come, whether a table brings one row or thousands; marks of missing values that are
new in a table come before them. Where features become more than `READ_BY_ALL`, those that come most often in a table
get the first places of it, since some learners read only the first; where places are few, every column of categories
has a right to some (`streams.fair_shares`).

Free text becomes the set of its words, each a feature. Rows with free text, or of very many features, are sparse.

A column that comes late, as a key of JSON lines may, was 0 in all rows before, for growth to be exact: so it stays 0
where it is missing, and a feature of its own marks where it is present.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.fair_shares import admitted
from aioli.streams.feature_rows import Ones, add_rows, as_matrix_of, as_sparse
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT, Features, Table, Texts

__all__ = ["Encoder", "Mark", "column_kinds"]

CAP = 256  # features that categories may have of their own, for learners of d² numbers
WIDE_CAP = 1 << 18  # likewise, for learners that take sparse rows
READ_BY_ALL = 128  # features that every learner reads; of more, some read only the first
NARROW = 256  # features of a dense row; rows of more are sparse, for learners that take such
BUCKETS = 32  # features that all later categories share
BUCKET = "rare categories, bucket"
WORD_CAP = 1 << 18  # features that words may have of their own
WORD_BUCKETS = 1 << 12
WORD_BUCKET = "rare words, bucket"
MOST_ROWS = 2.0**53  # that float64 counts one by one
WORD = re.compile(r"\w+")
WEEK = 7.0
THURSDAY = 3.0  # the first of January 1970, Monday being 0


class Mark(NamedTuple):
    """What an encoder remembered at a moment."""

    features: int
    rows: int
    shared: int
    missing: dict[str, int]
    categories: dict[str, int]
    words: dict[str, int]
    kinds: dict[str, str]
    late: list[str]
    sums: dict[str, list[float]]


class Encoder:
    """Encodes tables as rows of features, and remembers the index of each feature and the mean of each column.

    Parameters
    ----------
    kinds
        What each column is: number, category, date, text or skipped.
    cap
        How many features the categories of all columns may have of their own; the rest share `BUCKETS` more by their
        hash. None for `CAP`, or for `WIDE_CAP` where the learner takes sparse rows.
    wide
        Whether rows of more than `NARROW` features may be sparse.
    """

    def __init__(self, kinds: Mapping[str, str], cap: int | None = None, wide: bool = False) -> None:
        if cap is not None and cap < 0:
            raise ParameterRefused(f"the cap on columns is {cap}; it must be at least 0", parameter="cap", value=cap)
        self.wide = wide
        self._cap = cap
        self.kinds = dict(kinds)
        self.moving = True  # False: rows to come do not move the means, and depend on no row before
        self.features: list[str] = []
        self.shared = 0  # values of rows that had to share a bucket
        self.missing: dict[str, int] = {}
        self.categories = {name: 0 for name, kind in kinds.items() if kind == CATEGORY}  # with a feature of their own
        self.words = {name: 0 for name, kind in kinds.items() if kind == TEXT}  # likewise
        self._rows = 0
        self._late: list[str] = []
        self._places: dict[str, int] = {}
        self._sums: dict[str, list[float]] = {}  # of each column of numbers: sum and count of the values present
        for name in self._in_order(name for name, kind in self.kinds.items() if kind == NUMBER):
            self._place(name)
        for name in self._in_order(name for name, kind in self.kinds.items() if kind == DATE):
            for feature in self.date_features(name):
                self._place(feature)

    @property
    def given_cap(self) -> int | None:
        """The cap as it was given."""
        return self._cap

    @property
    def cap(self) -> int:
        """How many features the categories of all columns may have of their own."""
        return self._cap if self._cap is not None else WIDE_CAP if self.wide else CAP

    @property
    def sparse(self) -> bool:
        """Whether rows are encoded as CSR: where a column is free text, or features are more than `NARROW`."""
        return TEXT in self.kinds.values() or (self.wide and len(self.features) > NARROW)

    def _in_order(self, names: Iterable[str]) -> list[str]:
        """Return the columns as they came where all are numbers or dates, and else by name, whatever their order."""
        kinds = self.kinds.values()
        return sorted(names) if CATEGORY in kinds or TEXT in kinds else list(names)

    def encode(self, table: Table) -> Features:
        """Return the rows as features; the table's own matrix where only numbers, none missing, have ever come."""
        self.add_columns(table.new)
        if table.complete and table.names == self.features and not table.texts and not table.days:
            if self.moving:
                self._add_sums(table)
            self._rows += len(table)
            return table.numbers
        dense: list[tuple[int, Vector]] = []
        ones: list[Ones] = []
        for name in self._in_order(table.names):
            values, unreadable = table.numbers[:, table.names.index(name)], table.unreadable.get(name, {})
            dense.append((self._place(name), self._fill_missing(name, values, unreadable, ones)))
        for name in self._in_order(table.days):
            dense += self._date(name, table.days[name], table.unreadable.get(name, {}), ones)
        texts = self._in_order(name for name in table.texts if self.kinds[name] == TEXT)
        ones += [self._bag_of_words(name, table.texts[name]) for name in texts]
        self._rows += len(table)
        names = self._in_order(name for name in table.texts if self.kinds[name] != TEXT)
        ones += self._one_hot({name: table.texts[name] for name in names})
        shape = len(table), len(self.features)
        return as_sparse(shape, dense, ones) if self.sparse else as_matrix_of(shape, dense, ones)

    def _add_sums(self, table: Table) -> None:
        """Add the values to the sums behind the means, one after the other, so that no cut of the rows moves a bit."""
        sums = np.array([self._sums.get(name, (0.0, 0))[0] for name in table.names])
        add_rows(np.ascontiguousarray(table.numbers), sums)
        for name, total in zip(table.names, sums.tolist(), strict=True):
            self._sums[name] = [total, self._sums.get(name, (0.0, 0))[1] + len(table)]

    def add_columns(self, new: dict[str, str]) -> None:
        """Add columns that no earlier row had. A category gets no feature until its first value comes."""
        for name, kind in new.items():
            self.kinds[name] = kind
            self._late.append(name)
            if kind == CATEGORY:
                self.categories[name] = 0

    def _place(self, feature: str) -> int:
        if feature not in self._places:
            self._places[feature] = len(self.features)
            self.features.append(feature)
        return self._places[feature]

    def _derived_name(self, feature: str) -> str:
        """Return the name for a derived feature, with " (made)" added where a column has that name."""
        while feature in self.kinds and feature not in self._late:
            feature += " (made)"
        return feature

    def _fill_missing(self, name: str, values: Vector, unreadable: Mapping[int, str], ones: list[Ones]) -> Vector:
        """Return the values, missing ones filled with the mean of those before, or with 0 in a late column."""
        gone = np.isnan(values)
        wrong = np.array(sorted(unreadable), dtype=np.int64)
        if wrong.size:
            ones.append((wrong, np.full(len(wrong), self._place(self._derived_name(f"{name} is unreadable")))))
        silent = gone.copy()
        silent[wrong] = False
        self.missing[name] = self.missing.get(name, 0) + int(silent.sum())
        if name in self._late:
            rows = np.flatnonzero(~gone)
            ones.append((rows, np.full(len(rows), self._place(self._derived_name(f"{name} is there")))))
            return np.where(gone, 0.0, values)
        total, count = self._sums.setdefault(name, [0.0, 0])
        moved = values if self.moving else np.full(len(values), np.nan)
        sums = np.cumsum(np.concatenate([[total], np.where(np.isnan(moved), 0.0, moved)]))[1:]
        counts = count + np.cumsum(~np.isnan(moved))
        self._sums[name] = [float(sums[-1]), int(counts[-1])]
        if not gone.any():
            return values
        rows = np.flatnonzero(silent)
        if rows.size:
            ones.append((rows, np.full(len(rows), self._place(self._derived_name(f"{name} is missing")))))
        means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        return np.where(gone, means, values)

    def _date(
        self, name: str, days: Vector, unreadable: Mapping[int, str], ones: list[Ones]
    ) -> list[tuple[int, Vector]]:
        """Return the features of a date. Missing days are filled; the day of the week and the hour follow from them."""
        places = [self._place(feature) for feature in self.date_features(name)]
        filled = self._fill_missing(name, days, unreadable, ones)
        parts = (filled, np.floor(filled + THURSDAY) % WEEK, (filled % 1.0) * 24.0)
        present = ~np.isnan(days) if name in self._late else np.full(len(days), True)
        return [(place, np.where(present, part, 0.0)) for place, part in zip(places, parts, strict=True)]

    def date_features(self, name: str) -> tuple[str, str, str]:
        """Return the names of a date's features: its day since 1970, the day of its week from Monday, its hour."""
        return name, self._derived_name(f"{name}, weekday"), self._derived_name(f"{name}, hour")

    def _one_hot(self, columns: Mapping[str, Texts]) -> list[Ones]:
        """Return which rows have which feature of the columns of categories."""
        counted = {name: Counter(texts) for name, texts in columns.items()}
        self._admit(columns, counted)
        ones: list[Ones] = []
        for name, texts in columns.items():
            places: dict[str | None, int] = {}
            for text, count in counted[name].items():
                if text is not None:
                    feature = self._derived_name(f"{name}={text}")
                    own = self._places.get(feature)
                    self.shared += count if own is None else 0
                    places[text] = self._place(f"{BUCKET} {_hash(feature) % BUCKETS}") if own is None else own
                elif name not in self._late:
                    places[None] = self._place(self._derived_name(f"{name} is missing"))
            self.missing[name] = self.missing.get(name, 0) + counted[name][None]
            rows = np.array([t for t, text in enumerate(texts) if text in places], dtype=np.int64)
            ones.append((rows, np.array([places[text] for text in texts if text in places], dtype=np.int64)))
        return ones

    def _admit(self, columns: Mapping[str, Texts], counted: Mapping[str, Counter[str | None]]) -> None:
        """Give places to categories that have none, as long as there is room, and to marks of missing ones.

        Those that come most often have the first right to a place.
        """
        new: list[tuple[int, int, str, str]] = []
        for name, texts in columns.items():
            unknown = {
                text for text in counted[name] if text and self._derived_name(f"{name}={text}") not in self._places
            }
            first: dict[str, int] = {}
            for t, text in enumerate(texts) if unknown else ():
                if text in unknown:
                    first.setdefault(text, t)
            new += [(-counted[name][text], t, name, text) for text, t in first.items()]
        chosen = admitted([(name, text) for _, _, name, text in sorted(new)], self.categories, self.cap, self._rows)
        for name, _ in chosen:
            self.categories[name] += 1
        places = [self._derived_name(f"{name}={text}") for name, text in chosen]
        if len(chosen) == len(new) and len(self.features) + len(new) <= READ_BY_ALL:
            order = [(t, False, name, text) for _, t, name, text in new]
            gone = [name for name in columns if counted[name][None] and name not in self._late]
            order += [(columns[name].index(None), True, name, "") for name in gone]
            places = [
                self._derived_name(f"{name} is missing" if missing else f"{name}={text}")
                for _, missing, name, text in sorted(order)
            ]
        for place in places:
            self._place(place)

    def _bag_of_words(self, name: str, texts: Texts) -> Ones:
        """Return which rows have which words. A text that is missing has none."""
        rows: list[int] = []
        places: list[int] = []
        for t, text in enumerate(texts):
            words = dict.fromkeys(WORD.findall(text.lower())) if text else {}
            found = dict.fromkeys(self._word(name, word) for word in words)
            rows += [t] * len(found)
            places += found
        self.missing[name] = self.missing.get(name, 0) + texts.count(None)
        return np.array(rows, dtype=np.int64), np.array(places, dtype=np.int64)

    def _word(self, name: str, word: str) -> int:
        feature = self._derived_name(f"{name}: {word}")
        if feature in self._places:
            return self._places[feature]
        if sum(self.words.values()) < WORD_CAP:
            self.words[name] += 1
            return self._place(feature)
        self.shared += 1
        return self._place(f"{WORD_BUCKET} {_hash(feature) % WORD_BUCKETS}")

    def mark(self) -> "Mark":
        """Return what `undo` needs to forget all that is encoded from now on. O(columns)."""
        counts = (dict(self.missing), dict(self.categories), dict(self.words))
        sums = {name: list(pair) for name, pair in self._sums.items()}
        return Mark(len(self.features), self._rows, self.shared, *counts, dict(self.kinds), list(self._late), sums)

    def undo(self, mark: "Mark") -> None:
        """Forget what was encoded since the mark. O(columns and new features)."""
        for feature in self.features[mark.features :]:
            del self._places[feature]
        del self.features[mark.features :]
        self._rows, self.shared = mark.rows, mark.shared
        self.missing, self.categories, self.words = mark.missing, mark.categories, mark.words
        self.kinds, self._late, self._sums = mark.kinds, mark.late, mark.sums

    def snapshot(self) -> Snapshot:
        """Return the columns, the features in their order, the counts, and the sums behind the columns' means."""
        values: dict[str, Plain] = {
            "columns": list(self.kinds),  # two lists: the order of columns is the order of features to come
            "kinds": list(self.kinds.values()),
            "cap": self._cap,
            "wide": self.wide,
            "rows": self._rows,
            "features": list(self.features),
            "late": list(self._late),
            "shared": self.shared,
            "categories": dict(self.categories),
            "words": dict(self.words),
            "missing": dict(self.missing),
            "averaged": list(self._sums),
        }
        # A sum may have overflowed in a table that the learner is about to refuse.
        sums = np.nan_to_num(np.array(list(self._sums.values()), dtype=np.float64).reshape(-1, 2))
        return Snapshot("Encoder", values, {"sums": sums})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal encoder from a snapshot."""
        wide = "wide" in snapshot.of("Encoder").values and snapshot.flag("wide")
        encoder = cls(column_kinds(snapshot), snapshot.optional_whole("cap"), wide)
        encoder._rows = snapshot.whole("rows") if "rows" in snapshot.values else 0
        encoder.features = snapshot.texts("features") or []
        encoder._places = {feature: place for place, feature in enumerate(encoder.features)}
        encoder._late = snapshot.texts("late") or []
        encoder.shared = snapshot.whole("shared")
        encoder.categories = snapshot.counts("categories")
        encoder.words = snapshot.counts("words")
        encoder.missing = snapshot.counts("missing")
        averaged = snapshot.texts("averaged") or []
        sums = snapshot.array("sums", (len(averaged), 2))
        counts = sums[:, 1]
        if not ((counts >= 0.0) & (counts <= MOST_ROWS) & (counts == np.floor(counts))).all():
            raise SnapshotRefused("in an Encoder, 'sums' has counts of rows that are none")
        encoder._sums = {
            name: [total, int(count)] for name, (total, count) in zip(averaged, sums.tolist(), strict=True)
        }
        return encoder


def column_kinds(snapshot: Snapshot) -> dict[str, str]:
    """Return the kind of each column by name, from the snapshot of an encoder or of a file stream."""
    names, kinds = snapshot.texts("columns") or [], snapshot.texts("kinds") or []
    if len(names) != len(kinds):
        raise SnapshotRefused(f"in a {snapshot.kind}, {len(names)} columns have {len(kinds)} kinds")
    return dict(zip(names, kinds, strict=True))


def _hash(feature: str) -> int:
    return zlib.crc32(feature.encode("utf-8", "surrogatepass"))
