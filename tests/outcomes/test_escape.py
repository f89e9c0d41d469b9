"""The escape to classes that nobody has seen: what it costs, however classes come."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from aioli.errors import SnapshotRefused
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.escape import Escape


def in_order(labels: Codes) -> Codes:
    """Number classes as they first come."""
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(int(label), len(numbers)) for label in labels], np.int64)


def cost(escape: Escape, codes: Codes) -> float:
    announced = escape.play(codes)
    new = np.append(True, codes[1:] > np.maximum.accumulate(codes)[:-1]) if len(codes) else np.zeros(0, bool)
    return float(-np.log(np.where(new, announced, 1.0 - announced))[1:].sum())


def cost_by_hand(codes: Codes) -> list[float]:
    """What each of the three guesses alone costs."""
    costs, seen = [0.0, 0.0, 0.0], dict[int, int]()
    for t, k in enumerate(codes.tolist()):
        once = sum(count == 1 for count in seen.values())
        if t:
            late = (once + 0.5 / math.sqrt(t)) / (t + 1.0)
            guesses = (len(seen) + 0.5) / (t + 1.0), late, (len(seen) + 0.5) / (t + 1.0) ** 1.5
            for i, p in enumerate(guesses):
                costs[i] -= math.log(1.0 - p if k in seen else p)
        seen[k] = seen.get(k, 0) + 1
    return costs


STREAMS = [
    np.zeros(300),
    np.arange(300),
    np.arange(300) // 20,
    np.random.default_rng(0).integers(0, 7, 300),
    np.minimum(np.random.default_rng(1).zipf(1.5, 300), 1000),
]


@pytest.mark.parametrize("labels", STREAMS, ids=["one class", "always new", "in blocks", "balanced", "long tail"])
def test_it_costs_little_more_than_the_best_guess_and_no_more_than_its_bound(labels: Codes) -> None:
    codes = in_order(labels)
    escape = Escape()
    spent = cost(escape, codes)
    assert spent <= min(cost_by_hand(codes)) + math.log(3.0) + 1e-9
    assert spent <= escape.code_length() + 1e-9


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(0, 40))
def test_wherever_rows_are_cut_it_is_the_same_game_and_a_restored_escape_goes_on(labels: list[int], cut: int) -> None:
    codes = in_order(np.array(labels, np.int64))
    whole, pieces = Escape(), Escape()
    announced = whole.play(codes)
    first = pieces.play(codes[:cut])
    again = Escape.restore(pieces.snapshot())
    assert_array_equal(np.concatenate([first, again.play(codes[cut:])]), announced)
    assert again.probability == whole.probability
    assert 0.0 < whole.probability <= 1.0


def test_merging_adds_what_was_counted() -> None:
    left, right = Escape(), Escape()
    left.play(np.array([0, 1, 1]))
    right.play(np.array([0, 1, 2, 2]))
    left.merge(right, np.array([1, 0, 2]))
    assert left.counts.tolist() == [7, 5, 0]
    assert left.seen.tolist() == [2, 2, 2]


def test_a_broken_snapshot_is_refused() -> None:
    snapshot = Escape().snapshot()
    snapshot.arrays["shares"][0] = -1.0
    with pytest.raises(SnapshotRefused, match="share"):
        Escape.restore(snapshot)
