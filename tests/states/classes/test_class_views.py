"""The views of experts of many classes: ranks, waves and products, blind to units, and growing with the columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.states.classes.base_views import BaseViews
from aioli.states.classes.ranks import Ranks, rank_row, sample_row
from aioli.states.classes.views import PRODUCTS, SeenView, ViewSpec

SPECS = [
    ViewSpec("standard"),
    ViewSpec("standard", waves=16),
    ViewSpec("rank", waves=8, seed=2),
    ViewSpec("peak", products=True),
    ViewSpec("rank", products=True),
]


def rows(n: int = 400, d: int = 6, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).normal(size=(n, d))


def test_a_rank_is_the_share_of_a_sample_below_and_no_cell_is_far_out() -> None:
    X = rows()
    X[0] = 1e100
    bases = BaseViews(6)
    bases.of_rows(X)
    ranks, size = bases.ranks, int(bases.ranks.counts[1])
    out = np.empty(6)
    rank_row(ranks.ordered, ranks.counts, X[7], out)
    below = (ranks.ordered[:, :size] < X[7][:, None]).sum(axis=1)
    equal = (ranks.ordered[:, :size] == X[7][:, None]).sum(axis=1)
    assert_allclose(out, (below + 0.5 * equal + 0.5) / (size + 1.0) - 0.5)
    assert np.isin(ranks.ordered[0, :size], X[:, 0]).all()


def test_the_sample_is_drawn_from_all_rows_alike() -> None:
    ranks = Ranks(1)
    for t in range(5000):
        sample_row(ranks.rows, ranks.ordered, ranks.counts, np.array([float(t)]))
    assert len(np.unique(ranks.rows)) == 256
    # 256 draws from 0..4999 have a mean of 2500 within 5000/sqrt(12·256) = 90, here taken four times
    assert abs(ranks.rows.mean() - 2500.0) < 360.0


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_units_and_origins_do_not_matter(spec: ViewSpec) -> None:
    X = rows()
    seen = []
    for moved in (X, X * 2.0**20 - 2.0**10):
        bases, view = BaseViews(6), SeenView(spec, 6)
        seen.append(view.of_rows(bases.of_rows(moved)[view.base]))
    assert_allclose(seen[0], seen[1], atol=1e-6)


def test_ranks_do_not_see_an_increasing_transform() -> None:
    X = rows()
    assert_array_equal(BaseViews(6).of_rows(X)[2], BaseViews(6).of_rows(np.exp(X))[2])


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_row_seen_beforehand_is_the_row_that_comes_and_leaves_no_trace(spec: ViewSpec) -> None:
    X = rows()
    bases, view = BaseViews(6), SeenView(spec, 6)
    view.of_rows(bases.of_rows(X[:300])[view.base])
    before = bases.snapshot(), view.snapshot()
    peeked = view.of_rows(bases.peek(X[300:310])[view.base], peek=True)
    assert repr(before) == repr((bases.snapshot(), view.snapshot()))
    assert_array_equal(view.of_rows(bases.of_rows(X[300:301])[view.base])[0], peeked[0])


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_new_columns_are_as_if_they_had_been_there_and_0(spec: ViewSpec) -> None:
    X = rows()
    old, whole = (BaseViews(6), SeenView(spec, 6)), (BaseViews(8), SeenView(spec, 8))
    old[1].of_rows(old[0].of_rows(X)[old[1].base])
    whole[1].of_rows(whole[0].of_rows(np.column_stack([X, np.zeros((400, 2))]))[whole[1].base])
    grown, places = old[1].grown(2)
    new = rows(20, 8, seed=1)
    assert grown.width == whole[1].width
    assert len(set(places.tolist())) == old[1].width
    assert_allclose(
        grown.of_rows(old[0].grown(2).of_rows(new)[grown.base]),
        whole[1].of_rows(whole[0].of_rows(new)[grown.base]),
        atol=1e-12,
    )


def test_of_many_columns_so_many_products_are_drawn() -> None:
    view = SeenView(ViewSpec("peak", products=True), 40)
    assert view.width == 41 + PRODUCTS
    assert len(np.unique(view.pairs, axis=0)) == PRODUCTS
    assert (view.pairs[:, 0] <= view.pairs[:, 1]).all()
    assert view.pairs.max() < 40
    assert view.grown(3)[0].width == 44 + PRODUCTS


def test_views_are_restored_with_their_waves() -> None:
    for spec in SPECS:
        bases, view = BaseViews(6), SeenView(spec, 6)
        view.of_rows(bases.of_rows(rows())[view.base])
        again = BaseViews.restore(bases.snapshot()), SeenView.restore(view.snapshot(), spec)
        new = rows(50, seed=2)
        assert_array_equal(
            again[1].of_rows(again[0].of_rows(new)[view.base]), view.of_rows(bases.of_rows(new)[view.base])
        )
