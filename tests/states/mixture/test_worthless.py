"""Which experts would hardly be missed."""

import numpy as np

from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.mixture_loops import combine_rows


def test_an_expert_that_repeats_another_is_worthless_and_one_that_knows_more_is_not(rng: np.random.Generator) -> None:
    n = 4000
    a, b = rng.normal(size=(2, n)) * 1.5
    y = (a + b + rng.logistic(size=n) > 0.0).astype(np.float64)
    echo = a + 0.02 * rng.normal(size=n)
    mixture = Mixture(np.array([0.9, 0.05, 0.05]))
    out = np.empty(n)
    combine_rows(mixture.buffer, np.ascontiguousarray(np.column_stack([a, echo, b])), y, np.ones(n), out)
    mixture.shares[:] = [0.98, 0.01, 0.01]
    loss = np.logaddexp(0.0, np.where(y == 1.0, -out, out)).sum()
    assert mixture.worthless(0.002 * loss).tolist() == [False, True, False]
