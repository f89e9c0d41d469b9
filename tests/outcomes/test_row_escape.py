"""The escape that rows tell: what it costs beyond the learner's own word, and beyond the counts."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Vector
from aioli.outcomes.row_escape import RowEscape

Flags = NDArray[np.bool_]


def arrivals(n: int, first: list[int]) -> Flags:
    is_new = np.zeros(n, bool)
    is_new[first] = True
    return is_new


def cost(announced: Vector, is_new: Flags) -> float:
    return float(-np.log(np.where(is_new, announced, 1.0 - announced))[1:].sum())


@pytest.mark.parametrize("first", [[0, 1], [0, 3, 9], [0, 1, 2, 3, 50], list(range(0, 400, 20)), list(range(300))])
def test_it_costs_no_more_than_which_class_of_those_declared_comes(first: list[int]) -> None:
    """ln K(K-1) + ln(10/9) beyond the learner's word up to the last class: at most ln K! + ln(10/9)."""
    rng = np.random.default_rng(0)
    is_new, K = arrivals(500, first), len(first)
    unseen = rng.uniform(0.001, 0.6, 500)
    counted = rng.uniform(0.001, 0.1, 500)
    last = first[-1] + 1
    spent = cost(RowEscape().play(counted, unseen, is_new), is_new)
    word = cost(unseen[:last], is_new[:last])
    assert spent <= word + math.log(K * (K - 1.0)) + math.log(10.0 / 9.0) + 1e-9
    assert spent <= cost(counted, is_new) + math.log(10.0) + 1e-9


def test_by_hand_it_is_the_mixture_over_the_number_of_classes() -> None:
    rng = np.random.default_rng(1)
    is_new = arrivals(40, [0, 2, 5, 11])
    unseen = rng.uniform(0.05, 0.5, 40)
    escape = RowEscape()
    escape.numbers[0] = 1.0  # the rows alone
    announced = escape.play(np.full(40, 0.5), unseen, is_new)
    classes = np.arange(2.0, 100_000.0)
    likely, met = 1.0 / (classes * (classes - 1.0)), 1
    for t in range(1, 40):
        said = np.where(classes > met, unseen[t], 0.0)
        assert_allclose(announced[t], likely @ said / likely.sum(), rtol=1e-3)  # K is cut off at 100,000
        likely *= said if is_new[t] else 1.0 - said
        met += int(is_new[t])


def test_cut_anywhere_it_is_the_same_game_and_what_is_announced_is_what_is_played() -> None:
    rng = np.random.default_rng(2)
    is_new = arrivals(30, [0, 4, 9])
    counted, unseen = rng.uniform(0.01, 0.2, 30), rng.uniform(0.0, 1.0, 30)
    whole = RowEscape().play(counted, unseen, is_new)
    pieces = RowEscape()
    for t in range(30):
        pieces = RowEscape.restore(pieces.snapshot())
        assert pieces.announce(float(counted[t]), unseen[t : t + 1])[0] == whole[t]
        assert_array_equal(pieces.play(counted[t : t + 1], unseen[t : t + 1], is_new[t : t + 1]), whole[t])


def test_a_broken_snapshot_is_refused() -> None:
    snapshot = RowEscape().snapshot()
    snapshot.arrays["numbers"][1] = 1.5
    with pytest.raises(SnapshotRefused, match="RowEscape"):
        RowEscape.restore(snapshot)
