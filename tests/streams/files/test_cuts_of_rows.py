"""Rows are the same features however they are cut into tables: row by row, in windows, or all at once."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from file_reading import dense, padded
from hypothesis import given
from hypothesis import strategies as st
from thoroughness import examples

from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import to_bytes
from aioli.streams import encoding
from aioli.streams.blocks import row_slice
from aioli.streams.encoding import Encoder
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT, SparseTable, Table, Texts
from aioli.streams.files.where import Numbered
from aioli.streams.sparse_encoding import SparseEncoder

ROWS = 60
KINDS = {"b": NUMBER, "a": NUMBER, "whole": NUMBER, "when": DATE, "town": CATEGORY, "id": CATEGORY, "shape": CATEGORY}
WORDY = KINDS | {"note": TEXT, "title": TEXT}
LATE = {"late": NUMBER, "late day": DATE, "late word": CATEGORY, "late note": TEXT}


def gone(rng: np.random.Generator, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values of which some are missing, from a row on that is late or early."""
    first = int(rng.integers(len(values)))
    return np.where((np.arange(len(values)) >= first) & (rng.random(len(values)) < 0.3), np.nan, values)


def words(rng: np.random.Generator, most: int, share: float = 0.2) -> Texts:
    first = int(rng.integers(ROWS))
    return [
        None if t >= first and rng.random() < share else f"v{rng.integers(1 + most * (t + 1) // ROWS)}"
        for t in range(ROWS)
    ]


def rows_of_all_kinds(seed: int, kinds: dict[str, str], late: dict[str, str]) -> Table:
    """Rows in which numbers, dates, words and categories begin late to be missing, unreadable, new or there."""
    rng = np.random.default_rng(seed)
    all_kinds = kinds | late
    numbers = {name: gone(rng, rng.normal(size=ROWS)) for name, kind in all_kinds.items() if kind == NUMBER}
    numbers["whole"] = rng.normal(size=ROWS)
    days = {name: gone(rng, 19000.0 + rng.integers(400, size=ROWS)) for name, kind in all_kinds.items() if kind == DATE}
    texts = {name: words(rng, 40 if name == "id" else 5) for name, kind in all_kinds.items() if kind == CATEGORY}
    for name in [name for name, kind in all_kinds.items() if kind == TEXT]:
        said = [words(rng, 30, 0.0) for _ in range(3)]
        texts[name] = [None if rng.random() < 0.1 else " ".join(map(str, each)) for each in zip(*said, strict=True)]
    for name in late:  # its key comes with some row, and not in every one behind
        first = int(rng.integers(ROWS))
        if name in texts:
            texts[name] = [None if t < first else text for t, text in enumerate(texts[name])]
        else:
            (numbers if name in numbers else days)[name][:first] = np.nan
    unreadable = {
        name: {int(t): "?!" for t in np.flatnonzero(np.isnan(values)) if rng.random() < 0.3}
        for name, values in (numbers | days).items()
        if name not in late
    }
    where = Numbered("rows", "row", range(ROWS))
    matrix = np.column_stack(list(numbers.values()))
    return Table(list(numbers), matrix, texts, None, where, {}, False, days, dict(late), unreadable=unreadable)


def as_it_comes(part: Table, late: dict[str, str], came: set[str]) -> Table:
    """A table of a reader: a late column is in it from its first value on, and new in the table that brings it."""
    there = {name for name in late if name in part.texts and any(part.texts[name])}
    there |= {name for name in late if name in part.days and not np.isnan(part.days[name]).all()}
    there |= {
        name for name in late if name in part.names and not np.isnan(part.numbers[:, part.names.index(name)]).all()
    }
    new = {name: kind for name, kind in late.items() if name in there - came}
    came |= there
    names = [name for name in part.names if name in came or name not in late]
    return replace(
        part,
        names=names,
        numbers=part.numbers[:, [part.names.index(name) for name in names]],
        texts={name: texts for name, texts in part.texts.items() if name in came or name not in late},
        days={name: days for name, days in part.days.items() if name in came or name not in late},
        new=new,
    )


def encoded(table: Table, ends: list[int], encoder: Encoder) -> tuple[list[str], Matrix, bytes]:
    """The features, the rows and what is remembered, after the rows have come in tables with these ends."""
    pieces, came = [], set[str]()
    for begin, end in pairwise(ends):
        part = row_slice(table, begin, end)
        assert isinstance(part, Table)
        pieces.append(dense(encoder.encode(as_it_comes(part, table.new, came))))
    memory = encoder.snapshot()
    if table.new:  # columns that come late are remembered in the order in which they came
        memory = replace(memory, values={**memory.values, "columns": [], "kinds": [], "late": []})
    return encoder.features, padded(pieces, len(encoder.features)), to_bytes(memory)


@pytest.mark.parametrize("late", [{}, LATE], ids=["", "late"])
@pytest.mark.parametrize("kinds", [KINDS, WORDY], ids=["", "wordy"])
@pytest.mark.parametrize(("cap", "wide"), [(None, False), (0, False), (6, False), (20, False), (None, True)])
@examples(25)
@given(seed=st.integers(0, 1 << 30), cuts=st.sets(st.integers(1, ROWS - 1)))
def test_rows_are_the_same_features_however_they_are_cut(
    seed: int, cuts: set[int], cap: int | None, wide: bool, kinds: dict[str, str], late: dict[str, str]
) -> None:
    table = rows_of_all_kinds(seed, kinds, late)
    features, X, memory = encoded(table, [0, ROWS], Encoder(kinds, cap, wide))
    for ends in ([0, *sorted(cuts), ROWS], list(range(ROWS + 1))):
        again, Z, state = encoded(table, ends, Encoder(kinds, cap, wide))
        assert again == features
        np.testing.assert_array_equal(Z, X)  # bit for bit
        assert state == memory


def test_room_that_is_kept_for_some_rows_is_given_at_a_row_and_not_with_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A category that had to share gets a feature of its own in the midst of a table, once room is no longer kept."""
    monkeypatch.setattr("aioli.streams.fair_shares.SETTLED", 40)
    table = rows_of_all_kinds(1, KINDS, {})
    features, X, memory = encoded(table, [0, ROWS], Encoder(KINDS, 20))
    assert any(name.startswith(encoding.BUCKET) for name in features)
    assert sum(name.startswith("id=") for name in features) > 10
    again, Z, state = encoded(table, list(range(ROWS + 1)), Encoder(KINDS, 20))
    assert again == features
    np.testing.assert_array_equal(Z, X)
    assert state == memory


@pytest.mark.parametrize("cap", [None, 5])
def test_sparse_rows_are_the_same_features_however_they_are_cut(cap: int | None) -> None:
    rng = np.random.default_rng(0)
    names = [f"f{k}" for k in range(30)]
    features = np.minimum(rng.integers(30, size=(ROWS, 3)), np.arange(ROWS)[:, None] // 2 + 2).ravel()
    order = list(dict.fromkeys(features.tolist()))
    features = np.array([order.index(k) for k in features.tolist()])
    values = rng.normal(size=3 * ROWS)
    starts = np.arange(0, 3 * ROWS + 1, 3)
    where = Numbered("rows", "row", range(ROWS))
    table = SparseTable(starts, features, values, None, where, {}, names=[names[k] for k in order])
    found = []
    for size in (1, 7, ROWS):
        encoder, pieces = SparseEncoder(cap), []
        for begin in range(0, ROWS, size):
            part = row_slice(table, begin, min(ROWS, begin + size))
            assert isinstance(part, SparseTable)
            pieces.append(dense(encoder.encode(part)))
        found.append((encoder.features, padded(pieces, len(encoder.features)).tolist(), to_bytes(encoder.snapshot())))
    assert found[0] == found[1] == found[2]
