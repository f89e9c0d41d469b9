"""The mixture of many classes whose labels come late: its bound in any order of labels, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.late import AWAKE, COUNTED, EXPERTS, GIVEN, LONGEST, RATE, WHOLE, LateClassMixture

NAMES = ["first", "second", "third", "away"]
PLAYING = NAMES[:3]


def game(n: int, K: int, rng: np.random.Generator) -> tuple[Matrix, Cube, Codes]:
    """Return logarithms of a whole and of three experts, one of them better in the second half, and labels."""
    codes = rng.integers(0, K, n)
    skill = rng.uniform(0.0, 4.0, (4, 1))
    Z = rng.normal(size=(4, n, K)) * rng.uniform(0.5, 3.0)
    Z[:, np.arange(n), codes] += np.where(np.arange(n) < n // 2, skill, skill[::-1])
    Z -= np.log(np.exp(Z).sum(axis=2, keepdims=True))
    return Z[0], Z[1:], codes


def members(mixture: LateClassMixture, whole: Matrix, Z: Cube, counts: Vector, codes: Codes) -> Matrix:
    """Return the logarithms that each member announces of the labels of rows."""
    rows = np.arange(len(codes))
    said = np.tile(whole[rows, codes][:, None], (1, mixture.shares.size))
    said[:, COUNTED] = np.log((counts[codes] + 0.5) / (counts.sum() + 0.5 * counts.size))
    said[:, mixture.places(PLAYING)] = Z[:, rows, codes].T
    return said


@pytest.mark.parametrize("seed", range(30))
def test_in_any_order_of_labels_nobody_is_better_by_more_than_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, K = 400, int(rng.integers(3, 8))
    whole, Z, codes = game(n, K, rng)
    weights = rng.uniform(0.2, 1.0, n) if seed % 2 else np.ones(n)
    mixture, counts = LateClassMixture(NAMES), np.zeros(K)
    places = mixture.places(PLAYING)
    said, told = np.zeros(n), np.zeros((n, mixture.shares.size))
    comes = np.arange(n) + rng.integers(0, int(rng.integers(2, 90)), n)
    comes[0] += 1  # the first label is late: from then on all labels are weighed
    for t in range(n + 90):
        if t < n:
            announced = mixture.announce(whole[t : t + 1], counts, places, Z[:, t : t + 1])
            assert_allclose(np.exp(announced).sum(), 1.0)
            said[t] = announced[0, codes[t]]
            told[t] = members(mixture, whole[t : t + 1], Z[:, t : t + 1], counts, codes[t : t + 1])
        due = rng.permutation(np.flatnonzero(comes == t))
        known = mixture.awake
        late = (t - due).astype(float)
        mixture.answer(said[due], told[due], weights[due], late)
        counts += np.bincount(codes[due], weights[due], K)
        assert mixture.awake == (known or bool(late.any()))
    unweighed = np.flatnonzero(comes == 0)
    assert not unweighed.size
    lost = weights @ -said
    for member in range(EXPERTS + 3):
        assert lost - weights @ -told[:, member] <= mixture.cost(member) + 1e-9


def test_rows_in_time_are_announced_and_learned_one_after_another(rng: np.random.Generator) -> None:
    whole, Z, codes = game(120, 4, rng)
    at_once, single = LateClassMixture(NAMES), LateClassMixture(NAMES)
    places, ones = at_once.places(PLAYING), np.ones(120)
    counts = np.zeros(4)
    for each in (at_once, single):
        each.answer(np.array([-1.0]), np.full((1, each.shares.size), -1.0), np.ones(1), np.array([9.0]))
    said = at_once.play(whole, counts, places, Z, codes, ones)
    assert not counts.any()
    for t in range(120):
        row = slice(t, t + 1)
        assert_array_equal(single.announce(whole[row], counts, places, Z[:, row]), said[row])
        assert_array_equal(single.play(whole[row], counts, places, Z[:, row], codes[row], ones[row]), said[row])
        counts[codes[t]] += 1.0
    assert_array_equal(single.shares, at_once.shares)
    assert_array_equal(single.numbers, at_once.numbers)


def test_whoever_was_right_is_heard() -> None:
    mixture = LateClassMixture(NAMES)
    said = np.full((50, mixture.shares.size), np.log(0.3))
    said[:, EXPERTS] = np.log(0.9)
    for _ in range(20):
        mixture.answer(np.full(50, np.log(0.4)), said, np.ones(50), np.full(50, 49.0))
    assert mixture.shares.argmax() == EXPERTS
    assert mixture.shares[EXPERTS] > 0.8
    assert 1.0 / 50.0 <= mixture.numbers[RATE] <= 4.0 / 50.0


def test_labels_in_time_teach_nothing_before_the_first_late_one() -> None:
    mixture = LateClassMixture(NAMES)
    mixture.answer(np.zeros(5), np.zeros((5, mixture.shares.size)), np.ones(5), np.zeros(5))
    assert not mixture.awake
    assert_array_equal(mixture.shares, mixture.prior)


def test_a_snapshot_goes_on_and_a_damaged_one_is_refused() -> None:
    mixture = LateClassMixture(NAMES)
    mixture.answer(np.array([-0.5]), np.arange(-6.0, 0.0)[None], np.ones(1), np.array([3.0]))
    file = mixture.snapshot()
    again = LateClassMixture.restore(file, NAMES)
    assert_array_equal(again.shares, mixture.shares)
    assert_array_equal(again.numbers, mixture.numbers)
    fewer = LateClassMixture.restore(file, [*NAMES, "new"])  # of a version that knows one expert more
    assert_allclose(fewer.shares[:-1] / fewer.shares[WHOLE], mixture.shares / mixture.shares[WHOLE])
    with pytest.raises(SnapshotRefused, match="not those of this version"):
        LateClassMixture.restore(file, NAMES[:2])
    for name, place, value in [
        ("numbers", RATE, 0.0),
        ("numbers", RATE, 1.5),
        ("numbers", AWAKE, -3.0),
        ("numbers", LONGEST, -1.0),
        ("numbers", GIVEN, -0.1),
        ("shares", WHOLE, 5.0),
        ("shares", WHOLE, -1.0),
    ]:
        damaged: Vector = np.array(file.arrays[name], dtype=np.float64)
        damaged[place] = value
        with pytest.raises(SnapshotRefused):
            LateClassMixture.restore(replace(file, arrays={**file.arrays, name: damaged}), NAMES)
