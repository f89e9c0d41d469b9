"""Views of a row: their definition, and what they do not depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from support import KINDS, make_rows

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.column_statistics import LIMIT
from aioli.states.mixture.layouts import BENT, entries_of
from aioli.states.mixture.ramps import GOLDEN, RAMPS, SAMPLE, SHAPES
from aioli.states.mixture.view_forms import SQUARE_COLUMNS, SQUARE_LIMIT, UNEVEN, WAVES
from aioli.states.mixture.view_rows import RAMP, SQUARE, fill_views, remember_filled
from aioli.states.mixture.views import VIEWS, Views

streams = st.tuples(st.sampled_from(KINDS), st.integers(1, 60), st.integers(1, 8), st.integers(0, 10**6))


def believed(X: Matrix) -> tuple[Matrix, Vector, list[list[float]]]:
    """Return the rows so far as they are believed, relative to their origin, the peaks and the values: cell by cell."""
    origin, U, tops = X[0].copy(), np.zeros_like(X), np.zeros(X.shape[1])
    rooms, moves = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    values: list[list[float]] = [[] for _ in range(X.shape[1])]  # beside the origin
    for t, j in np.ndindex(X.shape):
        if t == 2 and 1000.0 * abs(X[2, j] - X[1, j]) < min(abs(X[1, j] - X[0, j]), abs(X[2, j] - X[0, j])):
            origin[j], U[:2, j], values[j] = X[1, j], X[:2, j] - X[1, j], [X[0, j] - X[1, j]]
        u = X[t, j] - origin[j]
        moves[j] += u != 0.0
        if moves[j] == 2 and u != 0.0 and 1000.0 * abs(u) < tops[j]:
            U[:t, j] *= abs(u) / tops[j]
            tops[j], values[j] = abs(u), [u]
        earlier, room = U[:t, j], rooms[j]
        mean, deviation = (earlier.mean(), earlier.std()) if t else (0.0, 0.0)
        bound = (1.0 + room) * LIMIT * (1.0 + 8.0 / max(t, 1)) * deviation
        if t > 0 and np.ptp(earlier) > 0.0 and abs(u) > tops[j] and abs(u - mean) > bound:
            U[t, j] = mean + (np.sign(u - mean) * bound if abs(u - mean) <= 100.0 * bound else 0.0)
            rooms[j] = 4.0 * (1.0 + room) - 1.0
            tops[j] = max(tops[j], abs(U[t, j]) if room > 3.0 else 0.0)
            continue
        rooms[j], U[t, j], tops[j] = 0.9 * room, u, max(tops[j], abs(u))
        values[j] += [u] if u not in (0.0, *values[j]) else []
    return U, tops, values


def ramps_of(shapes: Matrix, u: Vector) -> Matrix:
    """The ramps of every column, minus their means."""
    knots, means = shapes[:, : RAMPS + 1], shapes[:, RAMPS + 1 :]
    width = np.diff(knots)
    passed = np.clip((u[:, None] - knots[:, :-1]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    ramps: Matrix = np.where(width > 0, passed, 0.0) - means
    return ramps


def knots_of(sample: Matrix) -> tuple[Matrix, float]:
    """The knots and means of every column, and one over the root of the ramps' summed variances."""
    shapes = np.zeros((sample.shape[1], SHAPES))
    for j, cells in enumerate(sample.T):
        values, counts = np.unique(cells, return_counts=True)
        spaced = np.repeat(values, np.minimum(counts, max(len(cells) // (RAMPS + 1), 1)))
        places = (np.arange(RAMPS + 1) * (len(spaced) - 1) + RAMPS // 2) // RAMPS
        shapes[j, : RAMPS + 1] = spaced[places] if len(values) > 2 else 0.0
    passed = np.array([ramps_of(shapes, u) for u in sample])
    shapes[:, RAMPS + 1 :] = passed.mean(axis=0)
    variance = passed.var(axis=0).sum()
    return shapes, 1.0 / np.sqrt(variance) if variance > 0 else 0.0


def under_each_other(rows: list[Vector]) -> Matrix:
    """The rows of a view: a feature is 0 before it comes."""
    return np.array([np.pad(row, (0, rows[-1].size - row.size)) for row in rows])


def by_definition(X: Matrix) -> list[Matrix]:
    """All views, each from the rows up to its own, without a recursion."""
    d = X.shape[1]
    views = Views(d)
    out: list[list[Matrix]] = [[] for _ in VIEWS]
    shapes, scale, sample = np.zeros((0, SHAPES)), 0.0, np.zeros((SAMPLE, d))
    norms = np.zeros(2)
    square, ramp = list(range(d)), list(range(d))
    for t in range(1, len(X) + 1):
        U, top, values = believed(X[:t])
        spread = U.std(axis=0)
        # a column that has not moved has no spread, not even the rounding of a mean
        moving = np.ptp(U, axis=0) > 0
        s = np.where(moving, (U[-1] - U.mean(axis=0)) / np.where(spread > 0, spread, 1.0), 0.0)
        s = np.clip(s, -0.4 * LIMIT, 0.4 * LIMIT)
        r = np.clip(np.where(top > 0, U[-1] / np.where(top > 0, top, 1.0), 0.0), -1.0, 1.0)
        norms += [s @ s, r @ r]
        by = np.sqrt(np.divide(t, norms, out=np.zeros(2), where=norms > 0))
        squares = np.where(moving, (np.minimum(np.abs(s), SQUARE_LIMIT) ** 2 - 1.0) / 2.0, 0.0)
        two = np.array([len(shown) == 1 for shown in values]) & moving
        other = np.array([shown[0] if shown else 0.0 for shown in values])
        c = np.where(two, (other - 2.0 * U.mean(axis=0)) / np.where(moving, spread, 1.0), 0.0)
        held = s * np.sqrt(1.0 + np.minimum(c**2, UNEVEN**2) / 4.0)
        climbed = scale * ramps_of(shapes, U[-1][[-1 - e for e in ramp if e < 0]])
        place = {e: i for i, e in enumerate(e for e in ramp if e < 0)}
        out[4].append(np.r_[1.0, *(climbed[place[e]] if e < 0 else 0.3 * by[0] * s[e] for e in ramp)])
        out[2].append(
            np.r_[1.0, by[0] * np.sqrt(0.5) * np.array([squares[-1 - e] if e < 0 else held[e] for e in square])]
        )
        if t > 3:
            slot = t - 4 if t - 3 <= SAMPLE else int((t - 3) * GOLDEN % 1.0 * (t - 3))
            sample[slot if slot < SAMPLE else SAMPLE :][:1] = U[-1]
        if t in (3, 7, 19, 35, 67, 131, 259):
            square += [-1 - j for j, shown in enumerate(values) if len(shown) > 1 and -1 - j not in square]
        if t - 3 in (16, 32, 64, 128, 256):
            kept = sample[: t - 3]
            ramp += [-1 - j for j in range(d) if len(np.unique(kept[:, j])) > 2 and -1 - j not in ramp]
            shapes, scale = knots_of(kept[:, [-1 - e for e in ramp if e < 0]])
        out[0].append(np.r_[1.0, by[0] * s])
        out[1].append(np.r_[1.0, by[1] * r])
        for kind, waves in ((3, views.waves), (5, views.ripples)):
            phase = 2.0 * ((waves[0] + (by[0] * s) @ waves[1:] / (2.0 * np.pi)) % 1.0) - 1.0
            out[kind].append(np.r_[1.0, 4.0 * np.sqrt(2.0 / waves.shape[1]) * phase * (1.0 - np.abs(phase))])
    return [under_each_other(view) for view in out]


def in_order_of_columns(views: Views, made: list[Matrix]) -> list[Matrix]:
    """The views with the features of the layouts in the order of the columns, whenever they came."""
    ordered = list(made)
    for kind, layout, features in ((SQUARE, views.square_layout, 1), (RAMP, views.ramp_layout, RAMPS)):
        parts = [[0.0]] + [[e] if e >= 0 else [e] * features for e in entries_of(layout).tolist()]
        entries = np.array([float(each) for part in parts for each in part])
        entries[0] = np.inf
        ordered[kind] = made[kind][:, np.argsort(entries, kind="stable")]
    return ordered


@given(streams, st.lists(st.tuples(st.integers(0, 59), st.integers(0, 7), st.sampled_from([30.0, -1e6])), max_size=6))
def test_views_are_their_definition(drawn: tuple[str, int, int, int], glitches: list[tuple[int, int, float]]) -> None:
    X = make_rows(*drawn)
    for t, j, size in glitches:
        X[t % len(X), j % X.shape[1]] = size
    for ours, expected in zip(Views(X.shape[1]).of_rows(X), by_definition(X), strict=True):
        assert_allclose(ours, expected, atol=1e-9)  # a spread by Welford against one by definition


@pytest.mark.parametrize("d", [3, 12, 60])
def test_a_row_by_itself_is_viewed_as_among_others_to_the_last_bit(d: int) -> None:
    X = make_rows("random", 80, d, 5)
    together, alone = Views(d), Views(d)
    expected, kinds = together.of_rows(X), np.arange(len(VIEWS))
    for t, x in enumerate(X):
        fill_views(alone.statistics, alone.basis, x, kinds, alone.row)
        for kind, (view, width) in enumerate(zip(expected, alone.widths, strict=True)):
            assert_array_equal(alone.row[kind, :width], view[t, :width])
            assert not view[t, width:].any()  # features that come later
        remember_filled(alone.statistics, alone.basis, kinds)
    assert_array_equal(alone.statistics, together.statistics)
    assert_array_equal(alone.basis, together.basis)


def test_a_wave_is_nearly_a_sine() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    views = Views(3)
    standard, _, _, wave, *_ = views.of_rows(X)
    phases, directions = 2.0 * np.pi * views.waves[0], views.waves[1:]
    sine = np.sqrt(2.0 / WAVES) * np.sin(phases + standard[:, 1:] @ directions - np.pi)
    assert_allclose(wave[:, 1:], sine, atol=0.06 * np.sqrt(2.0 / WAVES))  # the parabola's error is 0.056


@given(streams, st.integers(0, 10**6))
def test_unit_and_origin_of_a_column_do_not_matter(drawn: tuple[str, int, int, int], seed: int) -> None:
    X = make_rows("random", *drawn[1:])
    rng = np.random.default_rng(seed)
    units, origins = 10.0 ** rng.uniform(-6, 6, X.shape[1]), rng.uniform(-10, 10, X.shape[1])
    plain = Views(X.shape[1]).of_rows(X)
    for ours, expected in zip(Views(X.shape[1]).of_rows((X + origins) * units), plain, strict=True):
        assert_allclose(ours, expected, atol=1e-9)  # ten standard deviations away cost a digit


@pytest.mark.parametrize("read", [(), (0,), (1,), (0, 2), (1, 3), (4,), (2, 5)])
def test_what_is_not_read_is_not_made_and_changes_nothing_else(read: tuple[int, ...]) -> None:
    X = np.random.default_rng(0).normal(size=(60, 6))
    whole, some = Views(6), Views(6)
    for part in (X[:20], X[20:]):
        for kind, (ours, expected) in enumerate(zip(some.of_rows(part, read), whole.of_rows(part), strict=True)):
            if kind in read or kind == 0:
                assert np.array_equal(ours, expected)
            else:
                assert ours.shape == (len(part), 0)


@pytest.mark.parametrize("width", [2, BENT - 1, BENT + 5, SQUARE_COLUMNS - 1])
def test_growing_is_having_had_zeros_before(width: int) -> None:
    X = np.random.default_rng(0).normal(size=(40, width + 3))
    X[:25, width:] = 0.0
    wide, narrow = Views(width + 3), Views(width)
    narrow.of_rows(np.ascontiguousarray(X[:25, :width]))
    wide.of_rows(X[:25])
    grown = narrow.grown(3)
    ours = in_order_of_columns(grown, grown.of_rows(X[25:]))
    for own, expected in zip(ours, in_order_of_columns(wide, wide.of_rows(X[25:])), strict=True):
        assert_allclose(own, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("at", [0, 1, 2, 5, 100])
def test_a_row_out_of_this_world_leaves_the_views_of_the_others_as_they_were(at: int) -> None:
    X = np.random.default_rng(0).normal(size=(400, 4))
    X[:, 2:] = np.random.default_rng(1).random((400, 2)) < [0.5, 0.05]
    glitched = X.copy()
    glitched[at] = [1e6, -1e6, 1e6, 1e6]
    plain, views = Views(4).of_rows(X), Views(4).of_rows(glitched)
    for ours, expected in zip(views[:3], plain[:3], strict=True):
        for j in range(1, expected.shape[1]):
            slope, _ = np.polyfit(expected[300:, j], ours[300:, j], 1)
            assert 0.5 < abs(slope) < 2.0  # another first row is another origin and another peak
            assert np.corrcoef(expected[300:, j], ours[300:, j])[0, 1] > 0.999


def test_a_column_that_has_moved_for_good_is_followed_within_ten_rows() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 1))
    X[1000:] += 1e7
    views = Views(1)
    views.of_rows(X[:1010])
    _, deviation = views.moments()
    assert deviation > 1e5
    standard = views.of_rows(X[1010:])[0]
    assert np.abs(standard[:, 1]).max() <= 0.4 * LIMIT / 0.5


def test_views_of_an_earlier_file_go_on_to_believe_every_cell() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[50] = 1e6
    views = Views(3, limit=np.inf, bending=False)
    views.of_rows(X[:40])
    now = views.snapshot()
    earlier = {"columns": now.array("columns")[:4], "totals": now.array("totals")[:3]}
    arrays = {name: array for name, array in now.arrays.items() if name != "square_layout"}
    restored = Views.restore(Snapshot("Views", arrays={**arrays, **earlier}))
    made = restored.of_rows(X[40:]), views.of_rows(X[40:])
    for kind in (0, 1, 3):
        assert np.array_equal(made[0][kind], made[1][kind])
    assert views.moments()[1].min() > 1e4


def test_ramps_follow_the_quantiles_of_a_long_stream_in_bounded_memory() -> None:
    rng = np.random.default_rng(0)
    X = np.exp(3.0 * rng.normal(size=(5000, 1)))
    views = Views(1)
    before = views.basis.size
    ramp = views.of_rows(X, (4,))[4][4200:, 2:]
    assert views.basis.size == before
    # each fifth of the rows climbs a ramp of its own: 128 rows place a knot within some percent of its rank
    climbing = (ramp > ramp.min(axis=0)) & (ramp < ramp.max(axis=0))
    assert_allclose(climbing.mean(axis=0), 0.2, atol=0.1)


def test_views_that_bend_are_as_they_were_after_a_snapshot() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    views = Views(3)
    views.of_rows(X[:100])
    again = Views.restore(views.snapshot())
    for ours, expected in zip(again.of_rows(X[100:]), views.of_rows(X[100:]), strict=True):
        assert np.array_equal(ours, expected)
    with pytest.raises(SnapshotRefused, match="'ramps' has shape"):
        Views.restore(Snapshot("Views", arrays={**views.snapshot().arrays, "ramps": np.zeros(3)}))
