"""Tables without some of their rows: those that cannot be read or used, each with the message that refuses it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import overload

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.files.table import SparseTable, Table, Texts
from aioli.streams.files.where import SomeRows

__all__ = ["without_rows"]


@overload
def without_rows(table: Table, bad: Mapping[int, str]) -> Table: ...


@overload
def without_rows(table: SparseTable, bad: Mapping[int, str]) -> SparseTable: ...


def without_rows(table: Table | SparseTable, bad: Mapping[int, str]) -> Table | SparseTable:
    """Return the table without the rows named in `bad`, whose messages are added to those of rows skipped before."""
    if not bad:
        return table
    kept = [t for t in range(len(table)) if t not in bad]
    found = sorted([*table.skipped, *bad.items()], key=lambda skip: skip[0])
    skipped = [(int(np.searchsorted(kept, row)), message) for row, message in found]
    labels = _some(table.labels, kept)
    weights = None if table.weights is None else table.weights[kept]
    where = SomeRows(table.where, kept)
    rest = replace(table, labels=labels, weights=weights, where=where, skipped=skipped)
    return _sparse_rows(rest, kept) if isinstance(rest, SparseTable) else _dense_rows(rest, kept)


def _sparse_rows(rest: SparseTable, kept: list[int]) -> SparseTable:
    parts = [np.arange(rest.starts[t], rest.starts[t + 1]) for t in kept]
    entries = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    starts = np.concatenate([[0], np.cumsum(np.diff(rest.starts)[kept])]).astype(np.int64)
    return replace(rest, starts=starts, features=rest.features[entries], values=rest.values[entries])


def _dense_rows(rest: Table, kept: list[int]) -> Table:
    places = {t: k for k, t in enumerate(kept)}
    return replace(
        rest,
        numbers=rest.numbers[kept],
        texts={name: [texts[t] for t in kept] for name, texts in rest.texts.items()},
        days={name: days[kept] for name, days in rest.days.items()},
        unreadable={
            name: {places[t]: text for t, text in cells.items() if t in places}
            for name, cells in rest.unreadable.items()
        },
    )


def _some(labels: Vector | Texts | None, kept: list[int]) -> Vector | Texts | None:
    if labels is None or isinstance(labels, np.ndarray):
        return None if labels is None else labels[kept]
    return [labels[t] for t in kept]
