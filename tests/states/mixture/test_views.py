"""Views of a row: their definition, and what they do not depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import KINDS, make_rows

from aioli.numerics.compiling import Matrix
from aioli.states.mixture.views import SQUARE_LIMIT, SQUARE_WIDTH, WAVES, Views

streams = st.tuples(st.sampled_from(KINDS), st.integers(1, 60), st.integers(1, 8), st.integers(0, 10**6))


def by_definition(X: Matrix) -> list[Matrix]:
    """All views, each from the rows up to its own, without a recursion."""
    views = Views(X.shape[1])
    out: list[list[Matrix]] = [[], [], [], []]
    norms = np.zeros(2)
    for t in range(1, len(X) + 1):
        U = X[:t] - X[0]
        spread = U.std(axis=0)
        # a column that has not moved has no spread, not even the rounding of a mean
        moving = np.ptp(U, axis=0) > 0
        s = np.where(moving, (U[-1] - U.mean(axis=0)) / np.where(spread > 0, spread, 1.0), 0.0)
        top = np.abs(U).max(axis=0)
        r = np.where(top > 0, U[-1] / np.where(top > 0, top, 1.0), 0.0)
        norms += [s @ s, r @ r]
        by = np.sqrt(np.divide(t, norms, out=np.zeros(2), where=norms > 0))
        squares = np.where(moving, (np.minimum(np.abs(s), SQUARE_LIMIT) ** 2 - 1.0) / 2.0, 0.0)
        turns = views.phases + (by[0] * s) @ views.directions / (2.0 * np.pi)
        phase = 2.0 * (turns % 1.0) - 1.0
        out[0].append(np.r_[1.0, by[0] * s])
        out[1].append(np.r_[1.0, by[1] * r])
        out[2].append(np.r_[1.0, by[0] * np.sqrt(0.5) * np.c_[s, squares][:SQUARE_WIDTH].ravel()])
        out[3].append(np.r_[1.0, 4.0 * np.sqrt(2.0 / WAVES) * phase * (1.0 - np.abs(phase))])
    return [np.array(view) for view in out]


@given(streams)
def test_views_are_their_definition(drawn: tuple[str, int, int, int]) -> None:
    X = make_rows(*drawn)
    for ours, expected in zip(Views(X.shape[1]).of_rows(X), by_definition(X), strict=True):
        assert_allclose(ours, expected, atol=1e-9)  # a spread by Welford against one by definition


def test_a_wave_is_nearly_a_sine() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    views = Views(3)
    standard, _, _, wave = views.of_rows(X)
    sine = np.sqrt(2.0 / WAVES) * np.sin(2.0 * np.pi * views.phases + standard[:, 1:] @ views.directions - np.pi)
    assert_allclose(wave[:, 1:], sine, atol=0.06 * np.sqrt(2.0 / WAVES))  # the parabola's error is 0.056


@given(streams, st.integers(0, 10**6))
def test_unit_and_origin_of_a_column_do_not_matter(drawn: tuple[str, int, int, int], seed: int) -> None:
    X = make_rows("random", *drawn[1:])
    rng = np.random.default_rng(seed)
    units, origins = 10.0 ** rng.uniform(-6, 6, X.shape[1]), rng.uniform(-10, 10, X.shape[1])
    plain = Views(X.shape[1]).of_rows(X)
    for ours, expected in zip(Views(X.shape[1]).of_rows((X + origins) * units), plain, strict=True):
        assert_allclose(ours, expected, atol=1e-9)  # ten standard deviations away cost a digit


@pytest.mark.parametrize("read", [(), (0,), (1,), (0, 2), (1, 3)])
def test_what_is_not_read_is_not_made_and_changes_nothing_else(read: tuple[int, ...]) -> None:
    X = np.random.default_rng(0).normal(size=(60, 6))
    whole, some = Views(6), Views(6)
    for part in (X[:20], X[20:]):
        for kind, (ours, expected) in enumerate(zip(some.of_rows(part, read), whole.of_rows(part), strict=True)):
            if kind in read or kind == 0:
                assert np.array_equal(ours, expected)
            else:
                assert ours.shape == (len(part), 0)


@pytest.mark.parametrize("width", [2, SQUARE_WIDTH - 1, SQUARE_WIDTH + 5])
def test_growing_is_having_had_zeros_before(width: int) -> None:
    X = np.random.default_rng(0).normal(size=(40, width + 3))
    X[:25, width:] = 0.0
    wide, narrow = Views(width + 3), Views(width)
    narrow.of_rows(np.ascontiguousarray(X[:25, :width]))
    wide.of_rows(X[:25])
    for ours, expected in zip(narrow.grown(3).of_rows(X[25:]), wide.of_rows(X[25:]), strict=True):
        assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)
