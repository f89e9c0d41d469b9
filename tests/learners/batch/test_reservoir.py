"""The reservoir: every round is kept equally often, and few ever enter."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from thoroughness import in_full_or_quickly

from aioli.errors import SnapshotRefused
from aioli.learners.batch.reservoir import Reservoir
from aioli.snapshots.codec import from_bytes, to_bytes


def played(reservoir: Reservoir, n: int) -> int:
    """Rounds that entered."""
    entered = 0
    while reservoir.next <= n:
        reservoir.admit()
        entered += 1
    return entered


@pytest.mark.parametrize(("size", "n"), [(1, 12), (3, 12), (3, 40), (11, 12)])
def test_every_round_is_kept_equally_often(size: int, n: int) -> None:
    draws = in_full_or_quickly(20_000, 4_000)
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
    reservoir = Reservoir(3, seed=1)
    played(reservoir, 50)
    restored = Reservoir.restore(from_bytes(to_bytes(reservoir.snapshot())))
    for each in (reservoir, restored):
        played(each, 10_000)
    assert (restored.rounds, restored.next) == (reservoir.rounds, reservoir.next)


@pytest.mark.parametrize(
    ("rounds", "following", "W"), [([1, 2, 3, 4], 9, 1.0), ([7], 7, 1.0), ([0], 1, 1.0), ([], 1, 0.0)]
)
def test_a_snapshot_that_is_no_sample_is_refused(rounds: list[int], following: int, W: float) -> None:
    snapshot = Reservoir(3, seed=1).snapshot()
    wrong = replace(
        snapshot,
        values={**snapshot.values, "next": following, "W": W},
        arrays={"rounds": np.array(rounds, dtype=np.int64)},
    )
    with pytest.raises(SnapshotRefused, match="are no sample of 3"):
        Reservoir.restore(wrong)
