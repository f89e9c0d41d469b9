"""Roots found side by side are those found one by one, bit for bit."""

import numpy as np

from aioli.numerics.root import solve
from aioli.numerics.roots import WORKSPACE, solve_together


def test_roots_found_side_by_side_are_those_found_one_by_one() -> None:
    rng = np.random.default_rng(0)
    pairs = 10.0 ** rng.uniform(-12, 12, size=(1500, 2))
    pairs[:500] = rng.uniform(0, 20, size=(500, 2))
    pairs[500:700, 1] = pairs[500:700, 0] + rng.uniform(-30, 30, size=200)  # m close to a, where a start is chosen
    pairs = np.abs(rng.permutation(pairs))
    pairs[:40:4, 0], pairs[1:40:4, 1], pairs[2:40:4, 0], pairs[3:40:4] = 0.0, 0.0, 1e308, 0.0
    first = 0
    while first < len(pairs):
        m, a = np.ascontiguousarray(pairs[first : first + int(rng.integers(1, 33))].T)
        z, e, fall = found = np.empty((3, m.size))
        solve_together(m, a, z, e, fall, np.empty((WORKSPACE, 32)))
        alone = [solve(*pair) for pair in zip(m.tolist(), a.tolist(), strict=True)]
        np.testing.assert_array_equal(found.T, alone)
        first += m.size
