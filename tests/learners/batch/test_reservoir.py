"""The reservoir: every round is kept equally often, and few ever enter."""

import json
import math

import numpy as np
import pytest
from scipy.stats import chi2

from aioli.learners.batch.reservoir import Reservoir


def played(reservoir: Reservoir, n: int) -> int:
    """Rounds that entered."""
    entered = 0
    while reservoir.next <= n:
        reservoir.admit()
        entered += 1
    return entered


@pytest.mark.parametrize(("size", "n"), [(1, 12), (3, 12), (3, 40), (11, 12)])
def test_every_round_is_kept_equally_often(size: int, n: int) -> None:
    draws = 20_000
    counts, together = np.zeros(n), 0
    for seed in range(draws):
        reservoir = Reservoir(size, seed)
        played(reservoir, n)
        assert len(set(reservoir.rounds)) == size
        counts[np.array(reservoir.rounds) - 1] += 1
        together += {1, n} <= set(reservoir.rounds)
    share = size / n
    statistic = np.sum((counts - draws * share) ** 2) / (draws * share * (1 - share)) * (n - 1) / n
    assert statistic < chi2.ppf(1 - 1e-4, n - 1)  # fails for one set of seeds in ten thousand
    pairs = draws * share * (size - 1) / (n - 1)  # a sample without replacement, not rounds independent of each other
    assert abs(together - pairs) < 4 * math.sqrt(pairs + 1)


def test_few_rounds_enter() -> None:
    m, n = 10, 100_000
    expected = m + sum(m / t for t in range(m + 1, n + 1))
    entered = [played(Reservoir(m, seed), n) for seed in range(50)]
    assert abs(np.mean(entered) - expected) < 4 * math.sqrt(expected / 50)  # a sum of independent rare events


def test_a_restored_reservoir_goes_on_with_the_same_rounds() -> None:
    reservoir, restored = Reservoir(3, seed=1), Reservoir(3, seed=2)
    played(reservoir, 50)
    restored.restore(json.loads(json.dumps(reservoir.to_header())))
    for each in (reservoir, restored):
        played(each, 10_000)
    assert (restored.rounds, restored.next) == (reservoir.rounds, reservoir.next)


def test_a_header_that_is_no_sample_is_refused() -> None:
    header = Reservoir(3, seed=1).to_header()
    wrong = ({"rounds": [1, 2, 3, 4], "next": 9}, {"rounds": [7], "next": 7}, {"rounds": [0]}, {"W": 0.0})
    for change in wrong:
        with pytest.raises(ValueError, match="are no sample of 3"):
            Reservoir(3, seed=1).restore(header | change)
