"""Cuts the tables of any reader into blocks of equal rows, so that the same rows are the same blocks in every format.

What a learner announces depends, in its last digits, on how many rows it is given at a time, and a learner grows
block by block. With blocks that depend on the rows alone, a CSV file and its Parquet twin are one stream, bit for bit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.table import Position, Skipped, SparseTable, Table, Tables, Texts
from aioli.streams.files.where import Numbered, Where

__all__ = ["block_rows", "in_blocks", "row_slice", "split_position"]

ROWS = 8192  # of a block, at most
LEAST_ROWS = 64
CELLS = 1 << 20  # of a block, about
AnyTable = TypeVar("AnyTable", Table, SparseTable)
NO_ROWS = Table([], np.empty((0, 0)), {}, None, Numbered("", "row", []), {})


def block_rows(columns: int) -> int:
    """Return how many rows a block has, in a file of so many columns; 0 where that is not known."""
    return min(ROWS, max(LEAST_ROWS, CELLS // max(1, columns)))


def split_position(position: Position | None) -> tuple[Position | None, int]:
    """Return the position of a reader, and how many rows behind it are to be passed over."""
    if position is None or "passed" not in position:  # the reader's own, as before there were blocks
        return position, 0
    place = Snapshot("Position", position)
    return None if position.get("reader") is None else place.mapping("reader"), place.whole("passed")


def in_blocks(tables: Iterable[Table | SparseTable], rows: int, position: Position | None) -> Tables:
    """Yield the rows of the tables in blocks of `rows`, the last one shorter, from the position on.

    Where reading fails, the rows before come first. Rows that were left out at the end come in a table without rows.
    """
    before, passed = split_position(position)
    waiting: list[Table | SparseTable] = []
    count, begin, first = (
        0,
        before,
        passed,
    )  # rows that wait; where the table of the last of them begins, and they in it
    reading, failure, pending = iter(tables), None, list[str]()
    while failure is None:
        try:
            whole = next(reading, None)
        except (ValueError, OSError) as error:
            whole, failure = None, error
        if whole is None:
            break
        if not len(whole):  # nothing but rows that were left out: they stand before the next row
            pending += [message for _, message in whole.skipped]
            continue
        if pending:
            whole, pending = replace(whole, skipped=[*((0, message) for message in pending), *whole.skipped]), []
        begin, before, first, passed = before, whole.after, passed, 0
        waiting.append(row_slice(whole, first, len(whole)))
        count += len(waiting[-1])
        while count >= rows:
            count -= rows
            last = waiting.pop()
            taken = len(last) - count
            first += taken
            after: Position = {"reader": begin, "passed": first} if count else {"reader": before, "passed": 0}
            yield replace(_joined([*waiting, row_slice(last, 0, taken)]), after=after)
            waiting = [row_slice(last, taken, len(last))] if count else []
    if count:
        yield replace(_joined(waiting), after={"reader": before, "passed": 0})
    if pending:
        yield replace(NO_ROWS, skipped=[(0, message) for message in pending])
    if failure is not None:
        raise failure


def row_slice(table: Table | SparseTable, first: int, stop: int) -> Table | SparseTable:
    """Return some consecutive rows of a table. Columns that are new come with its first row."""
    if first == 0 and stop == len(table):
        return table
    part = slice(first, stop)
    labels = None if table.labels is None else table.labels[part]
    weights = None if table.weights is None else table.weights[part]
    where = _Places([table.where], [first], [0])
    last = len(table) + 1 if stop == len(table) else stop
    skipped = [(row - first, message) for row, message in table.skipped if first <= row < last]
    if isinstance(table, SparseTable):
        entries = slice(int(table.starts[first]), int(table.starts[stop]))
        starts = table.starts[first : stop + 1] - table.starts[first]
        features, values = table.features[entries], table.values[entries]
        cut = replace(table, starts=starts, features=features, values=values)
        return replace(cut, labels=labels, weights=weights, where=where, skipped=skipped)
    return replace(
        table,
        numbers=table.numbers[part],
        texts={name: texts[part] for name, texts in table.texts.items()},
        days={name: days[part] for name, days in table.days.items()},
        unreadable={
            name: {t - first: text for t, text in cells.items() if first <= t < stop}
            for name, cells in table.unreadable.items()
        },
        new={} if first else table.new,
        notations={} if first else table.notations,
        labels=labels,
        weights=weights,
        where=where,
        skipped=skipped,
    )


def _joined(tables: Sequence[Table | SparseTable]) -> Table | SparseTable:
    if len(tables) == 1:
        return tables[0]
    dense = [table for table in tables if isinstance(table, Table)]
    sparse = [table for table in tables if isinstance(table, SparseTable)]
    return _joined_dense(dense) if dense else _joined_sparse(sparse)


def _joined_dense(tables: Sequence[Table]) -> Table:
    """Return the rows of all; a column that one does not have is missing in its rows."""
    names = list(dict.fromkeys(name for table in tables for name in table.names))
    parts = []
    for table in tables:
        part = table.numbers
        if table.names != names:
            part = np.full((len(table), len(names)), np.nan)
            part[:, [names.index(name) for name in table.names]] = table.numbers
        parts.append(part)
    starts = list(accumulate(map(len, tables), initial=0))
    texts: dict[str, Texts] = {name: [] for table in tables for name in table.texts}
    days: dict[str, list[Vector]] = {name: [] for table in tables for name in table.days}
    unreadable: dict[str, dict[int, str]] = {}
    for table, start in zip(tables, starts, strict=False):
        for name, column in texts.items():
            column += table.texts.get(name, [None] * len(table))
        for name, pieces in days.items():
            pieces.append(table.days.get(name, np.full(len(table), np.nan)))
        for name, cells in table.unreadable.items():
            unreadable.setdefault(name, {}).update({start + t: text for t, text in cells.items()})
    return replace(
        tables[0],
        names=names,
        numbers=np.concatenate(parts),
        texts=texts,
        days={name: np.concatenate(pieces) for name, pieces in days.items()},
        unreadable=unreadable,
        complete=all(table.complete and table.names == names for table in tables),
        new={name: kind for table in tables for name, kind in table.new.items()},
        notations={name: notation for table in tables for name, notation in table.notations.items()},
        labels=_joined_labels(tables),
        weights=_joined_weights(tables),
        where=_places(tables),
        skipped=_joined_skipped(tables),
    )


def _joined_sparse(tables: Sequence[SparseTable]) -> SparseTable:
    """Return the rows of all, their named features under one list of names."""
    places: dict[str, int] = {}
    features = []
    for table in tables:
        if table.names:
            own = np.array([places.setdefault(name, len(places)) for name in table.names], dtype=np.int64)
            features.append(own[table.features])
        else:
            features.append(table.features)
    begins = accumulate((int(table.starts[-1]) for table in tables), initial=0)
    starts = [table.starts[:-1] + begin for table, begin in zip(tables, begins, strict=False)]
    entries = sum(int(table.starts[-1]) for table in tables)
    return replace(
        tables[0],
        starts=np.concatenate([*starts, [entries]]),
        features=np.concatenate(features),
        values=np.concatenate([table.values for table in tables]),
        names=list(places),
        labels=_joined_labels(tables),
        weights=_joined_weights(tables),
        where=_places(tables),
        skipped=_joined_skipped(tables),
    )


def _joined_labels(tables: Sequence[AnyTable]) -> Vector | Texts | None:
    arrays = [table.labels for table in tables if isinstance(table.labels, np.ndarray)]
    if arrays:
        return np.concatenate(arrays)
    if tables[0].labels is None:
        return None
    return [label for table in tables if isinstance(table.labels, list) for label in table.labels]


def _joined_weights(tables: Sequence[AnyTable]) -> Vector | None:
    if all(table.weights is None for table in tables):
        return None
    return np.concatenate([np.ones(len(table)) if table.weights is None else table.weights for table in tables])


def _joined_skipped(tables: Sequence[AnyTable]) -> Skipped:
    starts = accumulate(map(len, tables), initial=0)
    return [(start + row, why) for table, start in zip(tables, starts, strict=False) for row, why in table.skipped]


def _places(tables: Sequence[AnyTable]) -> "_Places":
    starts = list(accumulate(map(len, tables), initial=0))[:-1]
    return _Places([table.where for table in tables], [0] * len(tables), starts)


@dataclass(frozen=True)
class _Places:
    """Names the rows of a block by their places in the tables that it was made of."""

    wheres: Sequence[Where]
    firsts: Sequence[int]  # the row of each table with which its part begins
    starts: Sequence[int]  # the row of the block with which that part begins

    @property
    def path(self) -> str:
        return self.wheres[0].path

    def __call__(self, row: int) -> str:
        part = max(k for k, start in enumerate(self.starts) if start <= max(row, 0))
        return self.wheres[part](self.firsts[part] + row - self.starts[part])
