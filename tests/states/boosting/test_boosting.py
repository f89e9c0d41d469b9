"""Boosted trees as they are fitted: bins, the best split, and what leaves are worth."""

import math

import numpy as np
import pytest
from boosting_streams import crossed, leaf_of, scores
from numpy.testing import assert_allclose, assert_array_equal

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.states.boosting import cells
from aioli.states.boosting.bins import BINS, Bins, bin_rows, cuts_of
from aioli.states.boosting.cells import BinnedRows
from aioli.states.boosting.fitting import CERTAIN, SWIFT, THOROUGH, Boosting, fit, place_bins, write_probabilities
from aioli.states.boosting.growing import (
    BEGIN,
    CHANCE,
    CURVATURE,
    CUT,
    FEATURE,
    GROWN,
    LEAF,
    LEAST,
    RIDGE,
    SCANNED,
    THRESHOLD,
    find_split,
)

STUMPS = Boosting((1,), 1.0, 0.5)  # one tree a score


def binned(X: Matrix, cuts: Matrix) -> Bins:
    bins: Bins = np.empty(X.shape, np.uint8)
    bin_rows(X, cuts, bins)
    return bins


# ---- bins


def test_a_bin_is_how_many_cuts_lie_below_the_cell() -> None:
    X = np.random.default_rng(0).normal(size=(500, 3))
    X[:, 1] = np.round(X[:, 1])
    cuts = cuts_of(X)
    expected = [[np.count_nonzero(cuts[j] < cell) for j, cell in enumerate(row)] for row in X]
    assert_array_equal(binned(X, cuts), expected)


def test_few_values_have_a_bin_each_and_cuts_half_way_between_them() -> None:
    X = np.array([[0.0], [1.0], [0.0], [5.0]])
    cuts = cuts_of(X)
    assert cuts[0, :2].tolist() == [0.5, 3.0]
    assert np.isinf(cuts[0, 2:]).all()


def test_a_value_that_most_rows_share_leaves_bins_to_the_others() -> None:
    x = np.concatenate([np.zeros(900), np.linspace(1.0, 2.0, 100)])
    bins = binned(x[:, None], cuts_of(x[:, None]))
    assert len(np.unique(bins[900:])) > 50
    assert bins[:900].max() < bins[900:].min()


def test_bins_are_blind_to_units_and_hold_about_equal_numbers_of_rows() -> None:
    x = np.random.default_rng(1).lognormal(sigma=3.0, size=(2000, 1))
    bins, larger = binned(x, cuts_of(x)), binned(1e6 * x, cuts_of(1e6 * x))
    assert_array_equal(bins, larger)
    assert np.bincount(bins[:, 0], minlength=BINS).max() < 2 * 2000 / BINS


def test_neighbouring_floats_are_kept_apart() -> None:
    x = np.array([[1.0], [np.nextafter(1.0, 2.0)], [-5e-324], [0.0]])
    assert len(np.unique(binned(x, cuts_of(x)))) == 4


def test_few_rows_have_few_bins() -> None:
    x = np.arange(256.0)[:, None]
    assert np.isfinite(cuts_of(x)).sum() == 15
    assert np.isfinite(cuts_of(x[:20])).sum() == 7


def test_unusual_cells_are_listed_row_by_row_where_most_cells_share_a_bin() -> None:
    rng = np.random.default_rng(3)
    X = np.c_[
        rng.normal(size=200), rng.random(200) < 0.1, np.zeros(200), rng.random(200) < 0.9, rng.integers(0, 3, 200)
    ]
    rows = BinnedRows.of(np.ascontiguousarray(X))
    listed_columns = rows.listed.tolist()
    assert sorted(rows.dense.tolist()) == [0, 4]
    assert sorted(listed_columns) == [1, 3]
    assert dict(zip(listed_columns, rows.usual.tolist(), strict=True)) == {1: 0, 3: 1}
    for t in range(200):
        listed = rows.unusual[rows.first[t] : rows.first[t + 1]].tolist()
        assert listed == [
            BINS * i + int(rows.bins[t, j]) for i, j in enumerate(listed_columns) if rows.bins[t, j] != rows.usual[i]
        ]


# ---- trees


def best_gain(X: Matrix, g: Vector, h: Vector) -> tuple[float, int, float]:
    """Try every split of every column; return the best gain, its column, and the cut's rank among the values."""
    found = (0.0, -1, 0.0)
    G, H = g.sum(), h.sum()
    for j in range(X.shape[1]):
        for value in np.unique(X[:, j])[:-1]:
            left = X[:, j] <= value
            a, b = g[left].sum(), h[left].sum()
            if min(b, H - b) < LEAST:
                continue
            gain = a**2 / (b + RIDGE) + (G - a) ** 2 / (H - b + RIDGE) - G**2 / (H + RIDGE)
            found = max(found, (gain, j, float(value)))
    return found


def test_the_root_is_split_where_trying_every_split_gains_most() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = rng.integers(0, 8, size=(60, 1)).astype(float)
        y = rng.integers(0, 2, 60)
        X = np.repeat(x, 2, axis=1)  # half of two equal columns are drawn: the one does as well as the other
        base, trees = fit(STUMPS, X, y, np.ones(60), 1)
        p = 1.0 / (1.0 + math.exp(-base[0]))
        g, h = p - y.astype(np.float64), np.full(60, p * (1.0 - p))
        gain, column, _ = best_gain(x, g, h)
        root = trees[0, 0]
        assert (root[FEATURE] == LEAF) == (column < 0)
        if column >= 0:  # two splits may gain the same
            assert best_gain((x > root[THRESHOLD]).astype(float), g, h)[0] == pytest.approx(gain, rel=1e-9)


def test_between_columns_the_best_of_many_cuts_must_gain_more_than_an_only_one() -> None:
    columns = np.array([[0, 1, 0], [0, 2, 2 + BINS], [0, 0, 0]])  # two values, and 63 cuts
    counted, count = np.empty(2 + BINS), 2
    place_bins(columns, count, np.array([2, BINS]), counted)
    assert columns[BEGIN].tolist() == [0, 2, 2 + BINS]
    believed = 1.0 + CHANCE * math.log(BINS - 1.0)
    for ratio, split in [(0.9 * believed, 0), (1.1 * believed, 1)]:
        sums = np.zeros((2 + BINS, 2))
        for column, gradient in enumerate((3.0, 3.0 * math.sqrt(ratio))):
            sums[columns[BEGIN, column]] = -gradient, 50.0
            sums[columns[BEGIN, column + 1] - 1] = gradient, 50.0
        leaf = np.zeros(GROWN)
        leaf[CURVATURE] = 100.0
        find_split(columns, count, counted, sums, leaf, np.empty((SCANNED, 2 + BINS)))
        assert leaf[CUT] == columns[BEGIN, split]


def test_a_leaf_says_what_lowers_the_loss_of_its_rows_most() -> None:
    X, y = crossed(400)
    base, trees = fit(STUMPS, X, y, np.ones(400), 1)
    p = 1.0 / (1.0 + math.exp(-base[0]))
    leaves = np.array([leaf_of(trees[0], x) for x in X])
    said = scores(base, trees, X, STUMPS)[:, 0, 0] - base[0]
    for leaf in np.unique(leaves):
        here = leaves == leaf
        wanted = -(p - y[here]).sum() / (here.sum() * p * (1.0 - p) + RIDGE)
        assert_allclose(said[here], np.clip(wanted, -1.0, 1.0), rtol=1e-9)  # no tree moves a score by more than 1


@pytest.mark.parametrize("how", [THOROUGH, SWIFT])
def test_each_stage_lowers_the_loss_of_the_rows_fitted_to_and_of_others(how: Boosting) -> None:
    (X, y), (X_new, y_new) = crossed(2000), crossed(1000, seed=1)
    base, trees = fit(how, X, y, np.ones(2000), 1)
    for rows, labels in ((X, y), (X_new, y_new)):
        z = scores(base, trees, rows, how)[:, :, 0]
        losses = np.logaddexp(0.0, np.where(labels[:, None] == 1, -z, z)).mean(axis=0)
        assert losses[1] < 0.8 * losses[0] < 0.8 * math.log(2.0)


def test_a_weight_of_two_is_the_row_twice() -> None:
    X, y = crossed(300)
    X = np.round(X[:, :1])  # one dense column: those drawn depend on the number of rows
    weights = np.where(np.arange(300) < 100, 2.0, 1.0)
    twice = np.r_[np.arange(100), np.arange(300)]
    once = scores(*fit(THOROUGH, X, y, weights, 1), X)
    assert_allclose(once, scores(*fit(THOROUGH, X[twice], y[twice], np.ones(400), 1), X), atol=1e-10)
    assert np.ptp(once) > 0.1


def test_the_scores_of_three_classes_find_all_three() -> None:
    X, _ = crossed(1500)
    y = (X[:, 0] > 0.0).astype(np.int64) + (X[:, 1] > 0.5)
    base, trees = fit(SWIFT, X, y, np.ones(1500), 3)
    z = scores(base, trees, X, SWIFT)[:, -1]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert -np.log(p[np.arange(1500), y]).mean() < 0.1


def test_listing_unusual_cells_changes_no_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    X = (rng.random((400, 3)) < [[0.3, 0.2, 0.1]]).astype(float)
    y = (rng.random(400) < 0.2 + 0.5 * X[:, 0] + 0.2 * X[:, 1]).astype(np.int64)
    always = Boosting((300,), 0.1, 0.5)  # so many rounds that it does not matter which trees left a column out
    listed = scores(*fit(always, X, y, np.ones(400), 1), X, always)
    monkeypatch.setattr(cells, "MOST_USUAL", 2.0)
    dense = scores(*fit(always, X, y, np.ones(400), 1), X, always)
    assert np.ptp(dense) > 2.0
    assert_allclose(listed, dense, atol=0.15)  # the rarest pair of values is still on its way


def test_columns_that_never_vary_change_nothing() -> None:
    X, y = crossed(200)
    base, trees = fit(THOROUGH, X, y, np.ones(200), 1)
    wider = np.c_[X, np.zeros((200, 3))]
    assert_array_equal(scores(*fit(THOROUGH, wider, y, np.ones(200), 1), wider), scores(base, trees, X))


def test_nothing_to_split_is_the_share_of_the_classes() -> None:
    X, y = np.zeros((50, 2)), np.arange(50) % 5 // 4
    said = scores(*fit(THOROUGH, X, y, np.ones(50), 1), X)
    assert ((said >= math.log(10.0 / 40.0)) & (said <= math.log(10.5 / 40.5))).all()


def test_gradients_have_probabilities_of_ten_digits() -> None:
    z = np.linspace(-50.0, 50.0, 20_001)
    p = np.empty_like(z)
    write_probabilities(z, p)
    assert_allclose(p, sigmoid_many(z), rtol=0.0, atol=1e-10)
    certain = np.abs(z) > CERTAIN  # beyond it p stays what it is there, 1e-14 off 0 or 1
    assert_allclose(p[~certain], sigmoid_many(z[~certain]), rtol=1e-10)
    assert_array_equal(p[certain], np.where(z[certain] < 0.0, p[~certain][0], p[~certain][-1]))
