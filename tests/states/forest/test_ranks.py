"""Ranks: monotone, indifferent to units, and carried over when they are made anew."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from aioli.states.forest.ranks import Ranks, mutual_information

RNG = np.random.default_rng(0)
SAMPLE = np.column_stack([RNG.normal(size=500), RNG.integers(0, 3, 500), np.exp(3.0 * RNG.normal(size=500))])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=30))
@example([-4.182618155455733e16, -7.198708240923547e16])  # once a larger value with a smaller rank
def test_a_larger_value_has_no_smaller_rank(values: list[float]) -> None:
    ranks = Ranks(SAMPLE)
    x = np.sort(np.array(values))
    for j in range(3):
        u = ranks.column(j, x)
        assert (np.diff(u) >= 0.0).all()
        assert u.min() >= -0.1
        assert u.max() <= 1.1 + 1e-6


def test_units_and_origins_do_not_matter() -> None:
    rows = RNG.normal(size=(50, 3))
    moved = Ranks(SAMPLE * 1e-7 - 3.0).of(rows * 1e-7 - 3.0)
    assert_allclose(moved, Ranks(SAMPLE).of(rows), atol=1e-6)


def test_values_come_back_from_their_ranks() -> None:
    ranks = Ranks(SAMPLE)
    for j in range(3):
        x = np.linspace(SAMPLE[:, j].min() - 2.0, SAMPLE[:, j].max() + 2.0, 100)
        assert_allclose(ranks.column(j, ranks.back(j, ranks.column(j, x))), ranks.column(j, x), atol=1e-9)


def test_making_ranks_leaves_the_sample_as_it_was() -> None:
    sample = RNG.normal(size=(50, 1))  # one column: its transpose is contiguous too
    before = sample.copy()
    Ranks(sample)
    assert_array_equal(sample, before)


def test_what_a_column_says_of_the_label() -> None:
    u = RNG.random(4000)
    telling = mutual_information(u[:, None], (u > 0.5).astype(np.int64), 2)
    assert_allclose(telling, np.log(2.0), rtol=0.01)
    assert mutual_information(u[:, None], RNG.integers(0, 2, 4000), 2) < 0.002
