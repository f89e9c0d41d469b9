"""The peers of K classes of the benchmarks: honest games, and first-order methods at their best rate."""

import numpy as np
import pytest

from benchmarks.class_peers import CLASS_PEERS, first_order_tuned


def stream() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=200)
    return rng.normal(size=(200, 2)) + np.column_stack([codes == 1, 2 * (codes == 2)]), codes


def test_first_order_methods_announce_before_they_learn_and_find_a_rate_that_works() -> None:
    X, codes = stream()
    P = first_order_tuned(X, codes, 3)
    assert P[0].tolist() == [1 / 3] * 3
    assert P.sum(axis=1) == pytest.approx(np.ones(200))
    assert -np.log(P[np.arange(200), codes]).mean() < 0.95
    changed = np.append(codes[:-1], (codes[-1] + 1) % 3)
    assert np.abs(first_order_tuned(X, changed, 3) - P).max() < 0.5  # another rate at most: no label is seen ahead


def test_the_last_label_again_is_known_from_the_second_row_on() -> None:
    X, codes = stream()
    P = CLASS_PEERS["persistence"](X, codes, 3)
    assert P[1:].argmax(axis=1).tolist() == codes[:-1].tolist()
