"""Every running score can be cut, merged, saved and resumed, and counts nothing of what it refuses."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.errors import SnapshotRefused
from aioli.evaluate.scores import AUC, Accuracy, BaseRate, Brier, Calibration, LogLoss
from aioli.evaluate.sums import Scores
from aioli.numerics.compiling import Vector
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.snapshots.tree import Snapshot

SCORES: list[Any] = [LogLoss, BaseRate, Brier, Accuracy, AUC, Calibration, Scores]
EVERY = pytest.mark.parametrize("kind", SCORES)
SUM = 1e-13  # relative: 3,000 terms in another order, an ulp each at the very most


def rows(n: int) -> tuple[Vector, Vector]:
    """Probabilities that spread, that are rare and that tie, and labels of both kinds."""
    rng = np.random.default_rng(7)
    p = rng.permutation(
        np.concatenate([rng.random(n), 10.0 ** rng.uniform(-9.0, -1.0, n), rng.integers(1, 8, n) / 8.0])
    )
    return p[:n], (rng.random(n) < 0.3 * p[:n] + 0.2).astype(np.float64)


def fed(score: Any, p: object, y: object) -> Any:
    score.update(p, y)
    return score


# ---- refusals


@EVERY
@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([0.1, 1.5], [0, 1], "row 1: the probability is 1.5"),
        ([math.nan], [0], "row 0: the probability is nan"),
        ([0.1, 0.2], [0], "2 rows came with labels of shape"),
        ([0.1], [2], "row 0: the label is"),
        ([[0.1]], [1], "probabilities of shape"),
    ],
)
def test_a_refused_update_counts_nothing(kind: Any, p: object, y: object, message: str) -> None:
    score = fed(kind(), [0.2, 0.9], [0, 1])
    before = score.snapshot().arrays
    with pytest.raises(ValueError, match=message):
        score.update(p, y)
    for name, total in score.snapshot().arrays.items():
        assert_array_equal(total, before[name])


# ---- cut, merge, resume


@EVERY
def test_blocks_merges_and_resuming_change_nothing(kind: Any) -> None:
    p, y = rows(3000)
    whole = fed(kind(), p, y)
    one_by_one, first, second = kind(), kind(), kind()
    for t in range(300):
        one_by_one.update(p[t], y[t])
    one_by_one.update(p[300:], y[300:])
    first.update(p[:1000], y[:1000])
    second.update(p[1000:], y[1000:])
    resumed = kind.restore(fed(kind(), p[:1000], y[:1000]).snapshot())
    resumed.update(p[1000:], y[1000:])
    for score in (one_by_one, first.merge(second), resumed):
        for name, total in score.snapshot().arrays.items():
            assert_allclose(total, whole.snapshot().arrays[name], rtol=SUM)
        if kind is not Scores:
            assert_allclose(score.value, whole.value, rtol=SUM)


@EVERY
def test_a_snapshot_is_a_copy_that_a_file_can_hold(kind: Any) -> None:
    score = fed(kind(), [0.2, 0.7], [0, 1])
    kept = from_bytes(to_bytes(score.snapshot()))
    resumed = kind.restore(kept)
    resumed.update([0.1], [1])
    score.update([0.1], [1])
    assert to_bytes(score.snapshot()) == to_bytes(resumed.snapshot())
    assert to_bytes(kind.restore(kept).snapshot()) == to_bytes(fed(kind(), [0.2, 0.7], [0, 1]).snapshot())


@pytest.mark.parametrize("score", [BaseRate(smoothing=1.0), Calibration(groups=3)])
def test_a_snapshot_has_the_parameters(score: Any) -> None:
    p, y = rows(300)
    assert type(score).restore(fed(score, p, y).snapshot()).value == score.value


def test_what_does_not_fit_is_not_merged_or_restored() -> None:
    score: Any = Brier()
    with pytest.raises(ValueError, match="a LogLoss cannot merge into a Brier"):
        score.merge(LogLoss())
    with pytest.raises(SnapshotRefused, match="of a LogLoss, not of a Brier"):
        Brier.restore(LogLoss().snapshot())
    with pytest.raises(SnapshotRefused, match=r"shape \(3,\), not \(6,\)"):
        Brier.restore(Snapshot("Brier", {}, {"totals": np.zeros(3)}))
    with pytest.raises(ValueError, match="cannot merge"):
        BaseRate(0.5).merge(BaseRate(1.0))


@EVERY
def test_memory_does_not_grow_with_rows(kind: Any) -> None:
    score = kind()
    before = len(to_bytes(score.snapshot()))
    for _ in range(50):
        score.update(*rows(1000))
    assert len(to_bytes(score.snapshot())) == before < 700_000
