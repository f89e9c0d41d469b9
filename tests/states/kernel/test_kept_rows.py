"""Rows that are kept: dense, sparse, growing, shared with drafts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from support import make_rows

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import to_bytes
from aioli.states.kernel.kept_rows import KeptRows, KernelRows, block_of

KINDS: list[Callable[[Matrix], Any]] = [np.asarray, sparse.csr_array]


def is_sparse(rows: KernelRows) -> bool:
    return not isinstance(rows, np.ndarray)


def dense(kept: KeptRows) -> Matrix:
    rows, squares = kept.block()
    table: Matrix = rows if isinstance(rows, np.ndarray) else rows.toarray()
    assert_allclose(squares, np.sum(table * table, axis=1), rtol=1e-12)
    return table


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from(KINDS)), min_size=1, max_size=12), st.integers(0, 10**6))
def test_rows_of_both_kinds_are_kept_in_order(pieces: list[tuple[int, Callable[[Matrix], Any]]], seed: int) -> None:
    X = make_rows("sparse", sum(count for count, _ in pieces), 4, seed)
    kept, start, any_sparse = KeptRows(4), 0, False
    for count, kind in pieces:
        kept.append(block_of(kind(X[start : start + count])))
        start += count
        any_sparse = any_sparse or kind is sparse.csr_array
        assert is_sparse(kept.block().rows) == any_sparse  # sparse for good from the first sparse row on
        assert_array_equal(dense(kept), X[:start])
        for other in KINDS:
            assert is_sparse(kept.in_kind(block_of(other(X[:2]))).rows) == any_sparse
    restored = KeptRows.restore(kept.snapshot())
    assert_array_equal(dense(restored), X)
    assert to_bytes(restored.snapshot()) == to_bytes(kept.snapshot())
    wider = kept.widened(2)
    assert_array_equal(dense(wider), np.pad(X, ((0, 0), (0, 2))))
    assert_array_equal(dense(kept), X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drafted", KINDS)
def test_a_draft_that_is_dropped_was_never_there(
    kind: Callable[[Matrix], Any], drafted: Callable[[Matrix], Any]
) -> None:
    X = make_rows("sparse", 40, 4, 0)
    kept = KeptRows(4)
    kept.append(block_of(kind(X[:5])))
    for count in (1, 3, 30):
        kept.draft().append(block_of(drafted(-X[:count])))
        assert_array_equal(dense(kept), X[:5])
    kept.append(block_of(kind(X[5:])))
    assert_array_equal(dense(kept), X)
    assert is_sparse(kept.block().rows) == (kind is sparse.csr_array)


def test_appending_copies_each_row_a_few_times_at_most() -> None:
    kept, arrays = KeptRows(3), set()
    for t in range(1000):
        kept.append(block_of(np.full((1, 3), float(t))))
        arrays.add(id(kept.dense))
        assert kept.dense is not None
        assert len(kept.dense) <= 2 * kept.count
    assert len(arrays) <= 12  # powers of two up to 1000, give or take an address used again
    assert_array_equal(dense(kept)[:, 0], np.arange(1000.0))


def test_what_cannot_be_rows_is_refused() -> None:
    kept = KeptRows(4)
    kept.append(block_of(np.ones((2, 4))))
    snapshot = kept.snapshot()
    with pytest.raises(SnapshotRefused, match=r"the array 'rows' has shape \(2, 3\), not \(2, 4\)"):
        KeptRows.restore(replace(snapshot, arrays={**snapshot.arrays, "rows": np.ones((2, 3))}))
    kept.append(block_of(sparse.csr_array(np.eye(4))))
    snapshot = kept.snapshot()
    with pytest.raises(SnapshotRefused, match="the sparse rows contradict themselves"):
        KeptRows.restore(replace(snapshot, values={"width": 3, "sparse": True}))
    for name in snapshot.arrays:
        lacking = {other: array for other, array in snapshot.arrays.items() if other != name}
        with pytest.raises(SnapshotRefused, match=f"the array '{name}' is missing"):
            KeptRows.restore(replace(snapshot, arrays=lacking))
