"""Bends are given to columns that have shown three values: to which, when, and what a file says of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.layouts import BENT, entries_of, gives_bends, rows_to_bends
from aioli.states.mixture.ramps import RAMPS, SAMPLE, SHAPES
from aioli.states.mixture.view_rows import RAMP, SQUARE
from aioli.states.mixture.views import Views


def mixed_rows(rows: int, numbers: int, switches: int) -> Matrix:
    """Return rows of columns of 0 and 1, and behind them columns of any number."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.random((rows, switches)) < 0.3, rng.normal(size=(rows, numbers))])


def bent(layout: Vector) -> list[int]:
    """Return the columns that have been given bends, in the order in which they were."""
    return [-1 - entry for entry in entries_of(layout).tolist() if entry < 0]


@pytest.mark.parametrize("switches", [3, 100])
def test_bends_go_to_columns_of_three_values_wherever_they_stand(switches: int) -> None:
    X = mixed_rows(60, 5, switches)
    order = np.random.default_rng(1).permutation(X.shape[1])
    for given in (X, np.ascontiguousarray(X[:, order])):
        views = Views(X.shape[1])
        views.of_rows(given)
        expected = [j for j, column in enumerate(given.T) if len(np.unique(column)) > 2]
        assert len(expected) == 5
        assert bent(views.square_layout) == bent(views.ramp_layout) == expected
        assert views.widths[RAMP] == 1 + X.shape[1] + 5 * RAMPS
        assert views.widths[SQUARE] == 1 + X.shape[1] + 5


def test_no_more_columns_are_bent_than_may_be() -> None:
    X = np.random.default_rng(0).normal(size=(40, BENT + 9))
    views = Views(BENT + 9)
    views.of_rows(X)
    assert bent(views.square_layout) == bent(views.ramp_layout) == list(range(BENT))
    assert views.rows_to_bends > 10**9


def test_bends_come_when_rows_have_doubled_and_for_ever() -> None:
    due = [n for n in range(5000) if gives_bends(n)]
    assert due == [3, 7, 19, 35, 67, 131, 259, 515, 1027, 2051, 4099]
    assert [n + rows_to_bends(n) for n in range(4099)] == [min(m for m in due if m > n) for n in range(4099)]
    X = mixed_rows(300, 2, 2)
    X[:100, 3] = 0.0  # and any number from then on
    views, seen = Views(4), []
    for x in X:
        views.of_rows(x[None])
        seen.append(bent(views.square_layout))
    assert [seen[n - 1] for n in (2, 3, 130, 131, 300)] == [[], [2], [2], [2, 3], [2, 3]]


@pytest.mark.parametrize("rows", [1, 4, 17, 64, 299])
def test_how_rows_are_cut_decides_nothing(rows: int) -> None:
    X = mixed_rows(300, 3, 4)
    X[:150, 5] = 0.0
    whole, parts = Views(7), Views(7)
    together = whole.of_rows(X)
    apart = [parts.of_rows(X[first : first + rows]) for first in range(0, 300, rows)]
    assert_array_equal(parts.basis, whole.basis)
    assert_array_equal(parts.statistics, whole.statistics)
    for kind, expected in enumerate(together):
        for first, made in zip(range(0, 300, rows), apart, strict=True):
            width = made[kind].shape[1]
            assert_array_equal(made[kind], expected[first : first + rows, :width])
            assert not expected[first : first + rows, width:].any()


def test_a_cell_that_nobody_believes_is_no_third_value() -> None:
    X = (np.random.default_rng(0).random((200, 2)) < 0.3).astype(np.float64)
    X[150, 0] = 1e6
    views = Views(2)
    views.of_rows(X)
    assert bent(views.square_layout) == []
    X[160:170, 0] = 1e6  # it stays there: the column has moved
    views = Views(2)
    views.of_rows(np.concatenate([X, X]))
    assert bent(views.square_layout) == [0]


def test_a_column_of_two_values_is_as_long_as_itself_and_its_square() -> None:
    X = (np.random.default_rng(0).random((400, 1)) < 0.2).astype(np.float64)
    standard, _, square, *_ = Views(1).of_rows(X)
    s = standard[-50:, 1]
    both = np.column_stack([s, 0.5 * (s**2 - 1.0)])
    products = 2.0 * np.outer(square[-50:, 1], square[-50:, 1])
    assert_allclose(products, both @ both.T, rtol=0.05)  # the scale of 400 rows is 1 to some percent


def test_in_a_file_without_layouts_the_first_columns_have_their_bends_beside_them() -> None:
    X = mixed_rows(100, 5, BENT)
    views = Views(BENT + 5)
    views.of_rows(X)
    now = views.snapshot()
    arrays = {name: array for name, array in now.arrays.items() if not name.endswith("layout")}
    arrays["columns"] = now.array("columns")[:7]
    arrays["ramps"] = np.zeros(1 + (SHAPES + SAMPLE) * BENT)
    earlier = Views.restore(Snapshot("Views", arrays=arrays))
    beside = [each for j in range(BENT) for each in (j, -1 - j)]
    assert entries_of(earlier.square_layout).tolist() == beside
    assert entries_of(earlier.ramp_layout).tolist() == [*beside, *range(BENT, BENT + 5)]
    standard, _, square, _, ramp, _ = earlier.of_rows(X)
    assert_allclose(square[:, 1::2], np.sqrt(0.5) * standard[:, 1 : 1 + BENT], rtol=1e-12)
    assert square.shape[1] == 1 + 2 * BENT
    assert ramp.shape[1] == 1 + BENT + 5 + RAMPS * BENT
    again = Views.restore(earlier.snapshot())
    for ours, expected in zip(again.of_rows(X), earlier.of_rows(X), strict=True):
        assert_array_equal(ours, expected)


@pytest.mark.parametrize("entries", [[0, 1, 2], [0, 0], [0, -3], [0, -1, -1]])
@pytest.mark.parametrize("name", ["square_layout", "ramp_layout"])
def test_a_layout_of_columns_that_there_are_not_is_refused(name: str, entries: list[int]) -> None:
    arrays = {**Views(2).snapshot().arrays, name: np.array(entries)}
    with pytest.raises(SnapshotRefused, match="no layout of 2 columns"):
        Views.restore(Snapshot("Views", arrays=arrays))
