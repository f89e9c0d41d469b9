r"""Encodes named columns as rows of features, without the labels: numbers, one-hot categories, dates, words, marks.

A feature gets its place, the index of its column in the encoded rows, when it first comes, behind all that came before,
so that a learner may grow exactly. Columns of numbers come first. A missing value is marked by a feature of its own, an
unreadable one by another, and filled with the mean of the column's values so far, so that the number itself says
nothing.

Places follow from the rows alone: new features get them in the order of their rows, and within a row numbers and dates
with their marks come first, then words, then categories, marks of missing categories, and buckets. So it does not
matter whether a table brings one row or thousands.
Where there are categories, columns are taken by their names, so that it does not matter in which order they come. Where
places are few, every column of categories has a right to some (`streams.fair_shares`).

Free text becomes the set of its words, each a feature. Rows with free text, or of very many features, are sparse.

A column that comes late, as a key of JSON lines may, was 0 in all rows before, for growth to be exact: so it stays 0
where it is missing, and a feature of its own marks where it is present.
"""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.fair_shares import FairShares
from aioli.streams.feature_rows import Ones, add_rows, as_matrix_of, as_sparse
from aioli.streams.files.dates import parts_of_day
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT, Features, Table, Texts
from aioli.streams.found_features import (
    CATEGORIES,
    DATES,
    NO_CATEGORY,
    NUMBERS,
    RARE,
    WORDS,
    Claim,
    Column,
    Found,
    Mark,
)
from aioli.streams.gap_marks import MISSING
from aioli.streams.row_plan import EncodedRow, PlannedColumn, RowPlan

__all__ = ["Encoder", "column_kinds"]

CAP = 256  # features that categories may have of their own, for learners of d² numbers
WIDE_CAP = 1 << 18  # the same for learners that take sparse rows
NARROW = 256  # features of a dense row; rows of more are sparse, for learners that take such
BUCKETS = 32  # features that categories without one of their own share, by their hash
BUCKET = "rare categories, bucket"
WORD_CAP = 1 << 18  # features that words may have of their own
WORD_BUCKETS = 1 << 12  # features that words without one of their own share
WORD_BUCKET = "rare words, bucket"
MOST_ROWS = 2.0**53  # the largest count that float64 holds exactly, with all below it
WORD = re.compile(r"\w+")


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

    # how single rows are encoded, as long as there are no new columns and features; False where they take a table
    _plan: RowPlan | Literal[False] | None = None

    def __init__(self, kinds: Mapping[str, str], cap: int | None = None, wide: bool = False) -> None:
        if cap is not None and cap < 0:
            raise ParameterRefused(f"the cap on columns is {cap}; it must be at least 0", parameter="cap", value=cap)
        self.wide = wide
        self._cap = cap
        self.kinds = dict(kinds)
        self.moving = True  # False: means stay as they are, so that no row depends on the rows before it
        self.features: list[str] = []
        self.shared = 0  # values of rows that had to share a bucket
        self.missing: dict[str, int] = {}
        self.categories = {name: 0 for name, kind in kinds.items() if kind == CATEGORY}  # with a feature of their own
        self.words = {name: 0 for name, kind in kinds.items() if kind == TEXT}  # words with one
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
        """Return the columns as they came where all are numbers or dates, and sorted by name elsewhere."""
        kinds = {kind for name, kind in self.kinds.items() if name not in self._late}
        return sorted(names) if CATEGORY in kinds or TEXT in kinds else list(names)

    def encode(self, table: Table) -> Features:
        """Return the rows as features; these are the table's own where all features are numbers, none missing."""
        self.add_columns(table.new)
        if table.complete and table.names == self.features and not table.texts and not table.days:
            if self.moving:
                self._add_sums(table.names, table.numbers)
            self._rows += len(table)
            return table.numbers
        found = Found([], [], [])
        for rank, name in enumerate(self._in_order(table.names)):
            values, unreadable = table.numbers[:, table.names.index(name)], table.unreadable.get(name, {})
            column = Column((name,), NUMBERS, rank)
            found.dense.append((name, self._fill_missing(column, values, unreadable, found)))
        for rank, name in enumerate(self._in_order(table.days)):
            column = Column(self.date_features(name), DATES, rank)
            self._date(column, table.days[name], table.unreadable.get(name, {}), found)
        texts = self._in_order(name for name in table.texts if self.kinds[name] == TEXT)
        rows, words = self._words_of({name: table.texts[name] for name in texts}, found.claims)
        categories = self._in_order(name for name in table.texts if self.kinds[name] != TEXT)
        rare = self._admit({name: table.texts[name] for name in categories}, found.claims)
        self._rows += len(table)
        for *_, feature in sorted(found.claims):
            self._place(feature)
        dense = [(self._places[feature], values) for feature, values in found.dense if feature in self._places]
        ones = [(where, np.full(len(where), self._places[feature])) for where, feature in found.marks]
        ones.append((np.array(rows, np.int64), np.array([self._places[word] for word in words], np.int64)))
        ones += [self._one_hot(name, table.texts[name], rare[name]) for name in categories]
        shape = len(table), len(self.features)
        return as_sparse(shape, dense, ones) if self.sparse else as_matrix_of(shape, dense, ones)

    def begin_sums(self, sums: Iterable[tuple[str, float, int]]) -> None:
        """Begin with the sums and the counts of the values of columns of numbers."""
        self._sums = {name: [total, count] for name, total, count in sums}

    def _add_sums(self, names: Sequence[str], numbers: Matrix) -> None:
        """Add values to the sums behind the means, one after the other, so that no cut of the rows moves a bit."""
        sums = np.array([self._sums.get(name, (0.0, 0))[0] for name in names])
        add_rows(np.require(numbers, requirements=["C", "W"]), sums)
        for name, total in zip(names, sums.tolist(), strict=True):
            self._sums[name] = [total, int(self._sums.get(name, (0.0, 0))[1]) + len(numbers)]

    def add_columns(self, new: dict[str, str]) -> None:
        """Add columns that no earlier row had. None gets a feature until its first value comes."""
        if new:
            self.kinds.update(new)
            self._late += new
            self._plan = None

    def encode_row(self, row: Mapping[str, object]) -> Matrix | None:
        """Return one row as `encode` does a table of it, and remember as much; None where it takes a table."""
        encoded = self._by_plan(row)
        if encoded is None:
            return None
        for name, number in encoded.numbers if self.moving else ():
            total, count = self._sums.get(name, (0.0, 0))
            self._sums[name] = [total + number, int(count) + 1]
        for name in encoded.missing:
            self._count_missing(name, 1)
        self._rows += 1
        return encoded.features

    def consult_row(self, row: Mapping[str, object]) -> Matrix | None:
        """Return one row by the features known so far, and remember nothing; None where it takes a table."""
        encoded = self._by_plan(row)
        return None if encoded is None else encoded.features

    def _by_plan(self, row: Mapping[str, object]) -> EncodedRow | None:
        if self._plan is None:
            self._plan = self._planned()
        return self._plan.encode(row, self._sums) if self._plan and not self.sparse else None

    def _planned(self) -> RowPlan | Literal[False]:
        """Return how single rows are encoded; False where columns are of kinds, or have names, that take a table."""
        columns, skipped = [], []
        for name, kind in self.kinds.items():
            features = {NUMBER: (name,), DATE: self.date_features(name), CATEGORY: ()}.get(kind)
            if kind == TEXT or "=" in name or not set(features or ()) <= self._places.keys():
                return False
            if features is None:
                skipped.append(name)
                continue
            late = name in self._late
            mark = self._places.get(self._derived_name(f"{name} is {'there' if late else 'missing'}"))
            columns.append(PlannedColumn(name, tuple(self._places[feature] for feature in features), mark, late))
        places = [place for column in columns for place in (*column.places, column.mark) if place is not None]
        # a column may be called as the mark of another is
        return RowPlan(columns, skipped, self._places) if len(set(places)) == len(places) else False

    def _place(self, feature: str) -> int:
        if feature not in self._places:
            self._plan = None
            self._places[feature] = len(self.features)
            self.features.append(feature)
        return self._places[feature]

    def _derived_name(self, feature: str) -> str:
        """Return the name for a derived feature, with " (made)" added where a column has that name."""
        while feature in self.kinds and feature not in self._late:
            feature += " (made)"
        return feature

    def _count_missing(self, name: str, count: int) -> None:
        """Count missing values; those of a column that comes late are counted from its first value on."""
        self.missing[name] = self.missing.get(name, 0) + count

    def _fill_missing(self, column: Column, values: Vector, unreadable: Mapping[int, str], found: Found) -> Vector:
        """Return the values, missing ones filled with the mean of those before, or with 0 in a late column."""
        name = column.features[0]
        gone = np.isnan(values)
        if name not in self._late and not gone.any():
            self._count_missing(name, 0)
            if self.moving:
                self._add_sums([name], values[:, None])
            return values
        wrong = np.array(sorted(unreadable), dtype=np.int64)
        found.mark(column, wrong, self._derived_name(f"{name} is unreadable"))
        silent = gone.copy()
        silent[wrong] = False
        came = 0 if name not in self._late or name in self._places else _first(~gone)
        self._count_missing(name, int(silent[came:].sum()))
        if name in self._late:
            rows = np.flatnonzero(~gone)
            for t in rows[:1].tolist():
                found.claims.extend((t, column.kind, column.rank, k, part) for k, part in enumerate(column.features))
            found.mark(column, rows, self._derived_name(f"{name} is there"))
            return np.where(gone, 0.0, values)
        total, count = self._sums.setdefault(name, [0.0, 0])
        moved = values if self.moving else np.full(len(values), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):  # by cells that the learner will refuse
            sums = np.cumsum(np.concatenate([[total], np.where(np.isnan(moved), 0.0, moved)]))[1:]
        counts = count + np.cumsum(~np.isnan(moved))
        self._sums[name] = [float(sums[-1]), int(counts[-1])]
        found.mark(column, np.flatnonzero(silent), self._derived_name(f"{name}{MISSING}"))
        means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        return np.where(gone, means, values)

    def _date(self, column: Column, days: Vector, unreadable: Mapping[int, str], found: Found) -> None:
        """Add the features of a date. Missing days are filled; the day of the week and the hour follow from them."""
        filled = self._fill_missing(column, days, unreadable, found)
        parts = parts_of_day(filled)
        present = ~np.isnan(days) if column.features[0] in self._late else np.full(len(days), True)
        found.dense.extend(
            (feature, np.where(present, part, 0.0)) for feature, part in zip(column.features, parts, strict=True)
        )

    def date_features(self, name: str) -> tuple[str, str, str]:
        """Return the names of a date's features: its day since 1970, the day of its week from Monday, its hour."""
        return name, self._derived_name(f"{name}, weekday"), self._derived_name(f"{name}, hour")

    def _admit(self, columns: Mapping[str, Texts], claims: list[Claim]) -> dict[str, dict[int, str]]:
        """Claim places for categories that have none, as long as there is room, and for marks of missing ones.

        Returns the bucket that a row's category has to share, by column and row.
        """
        waiting: list[tuple[int, int, str, str]] = []
        for rank, (name, texts) in enumerate(columns.items()):
            distinct = dict.fromkeys(texts)
            came = 0 if name in self.categories else _first(np.array([text is not None for text in texts]))
            self._count_missing(name, texts[came:].count(None) if None in distinct else 0)
            if None in distinct and name not in self._late:
                claims.append((texts.index(None), NO_CATEGORY, rank, 0, self._derived_name(f"{name}{MISSING}")))
            known = self._places
            unknown = {text for text in distinct if text and self._derived_name(f"{name}={text}") not in known}
            waiting += [(t, rank, name, text) for t, text in enumerate(texts) if text in unknown] if unknown else []
        rare: dict[str, dict[int, str]] = {name: {} for name in columns}
        shares, own = FairShares(self.categories, self.cap), set[tuple[str, str]]()
        for t, cells in groupby(sorted(waiting), key=itemgetter(0)):
            new = [(rank, name, text) for _, rank, name, text in cells if (name, text) not in own]
            chosen = shares.admit([(name, text) for _, name, text in new], self._rows + t + 1)
            own.update(chosen)
            for rank, name, text in new:
                feature = self._derived_name(f"{name}={text}")
                if (name, text) in own:
                    claims.append((t, CATEGORIES, rank, 0, feature))
                else:
                    rare[name][t] = bucket = f"{BUCKET} {_hash(feature) % BUCKETS}"
                    claims += [] if bucket in self._places else [(t, RARE, rank, 0, bucket)]
        self.shared += sum(map(len, rare.values()))
        return rare

    def _one_hot(self, name: str, texts: Texts, rare: Mapping[int, str]) -> Ones:
        """Return which rows have which feature of a column of categories; `rare` has the buckets of the others."""
        known = self._places
        places = {text: known.get(self._derived_name(f"{name}={text}")) for text in dict.fromkeys(texts) if text}
        held: dict[str | None, int] = {text: place for text, place in places.items() if place is not None}
        if name not in self._late and None in texts:
            held[None] = known[self._derived_name(f"{name}{MISSING}")]
        own = [t for t, text in enumerate(texts) if text in held]
        own = [t for t in own if t not in rare] if rare else own
        rows = np.array([*own, *rare], dtype=np.int64)
        return rows, np.array([*(held[texts[t]] for t in own), *(known[bucket] for bucket in rare.values())], np.int64)

    def _words_of(self, columns: Mapping[str, Texts], claims: list[Claim]) -> tuple[list[int], list[str]]:
        """Return which rows have which words of free text, each once, and claim places for those that have none.

        A text that is missing has no words.
        """
        rows: list[int] = []
        features: list[str] = []
        room = WORD_CAP - sum(self.words.values())
        claimed = set[str]()
        for t, texts in enumerate(zip(*columns.values(), strict=True)):
            for rank, (name, text) in enumerate(zip(columns, texts, strict=True)):
                if text is None:
                    if name in self.words:
                        self._count_missing(name, 1)
                    continue
                self.words.setdefault(name, 0)
                found: dict[str, None] = {}
                for word in dict.fromkeys(WORD.findall(text.lower())):
                    feature = self._derived_name(f"{name}: {word}")
                    if feature not in self._places and feature not in claimed:
                        if len(claimed) < room:
                            claimed.add(feature)
                            self.words[name] += 1
                        else:
                            self.shared += 1
                            feature = f"{WORD_BUCKET} {_hash(feature) % WORD_BUCKETS}"
                        claims.append((t, WORDS, rank, len(found), feature))
                    found[feature] = None
                rows += [t] * len(found)
                features += found
        return rows, features

    def mark(self) -> Mark:
        """Return what `undo` needs to forget all that is encoded from now on. O(columns)."""
        counts = (dict(self.missing), dict(self.categories), dict(self.words))
        sums = {name: list(pair) for name, pair in self._sums.items()}
        return Mark(len(self.features), self._rows, self.shared, *counts, dict(self.kinds), list(self._late), sums)

    def undo(self, mark: Mark, learned: int | None = None) -> None:
        """Forget what was encoded since the mark; features that a learner has `learned` stay. O(columns)."""
        if learned is not None and learned > mark.features:  # they were 0 in all rows that it has learned from
            self._rows, self.shared, self._sums = mark.rows, mark.shared, mark.sums
            return
        if mark.features < len(self.features) or len(mark.kinds) < len(self.kinds):
            self._plan = None
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


def _first(there: NDArray[np.bool_]) -> int:
    """Return the first row where something is there, or the number of rows."""
    return int(np.argmax(there)) if there.any() else len(there)


def _hash(feature: str) -> int:
    return zlib.crc32(feature.encode("utf-8", "surrogatepass"))
