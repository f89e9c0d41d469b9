"""Every running score can be cut, merged, saved and resumed, and counts nothing of what it refuses."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.evaluate.scores import AUC, Accuracy, BaseRate, Brier, Calibration, LogLoss
from aioli.evaluate.sums import Sums
from aioli.numerics.compiling import Vector

SCORES: list[type[Sums]] = [LogLoss, BaseRate, Brier, Accuracy, AUC, Calibration]
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
def test_a_refused_update_counts_nothing(kind: type[Sums], p: object, y: object, message: str) -> None:
    score = fed(kind(), [0.2, 0.9], [0, 1])
    before = score.state()
    with pytest.raises(ValueError, match=message):
        score.update(p, y)
    for name, total in score.state().items():
        assert_array_equal(total, before[name])


# ---- cut, merge, resume


@EVERY
def test_blocks_merges_and_resuming_change_nothing(kind: type[Sums]) -> None:
    p, y = rows(3000)
    whole = fed(kind(), p, y)
    one_by_one, first, second = kind(), kind(), kind()
    for t in range(300):
        one_by_one.update(p[t], y[t])
    one_by_one.update(p[300:], y[300:])
    first.update(p[:1000], y[:1000])
    second.update(p[1000:], y[1000:])
    resumed = kind().restore(fed(kind(), p[:1000], y[:1000]).state())
    resumed.update(p[1000:], y[1000:])
    for score in (one_by_one, first.merge(second), resumed):
        assert_allclose(score.value, whole.value, rtol=SUM)
        for name, total in score.state().items():
            assert_allclose(total, whole.state()[name], rtol=SUM)


@EVERY
def test_a_state_is_a_copy_and_plain_arrays(kind: type[Sums]) -> None:
    score = fed(kind(), [0.2, 0.7], [0, 1])
    kept = score.state()
    resumed = kind().restore(kept)
    resumed.update([0.1], [1])
    score.update([0.1], [1])
    assert all(isinstance(total, np.ndarray) and total.dtype == np.float64 for total in kept.values())
    assert score.value == resumed.value
    assert kind().restore(kept).value == fed(kind(), [0.2, 0.7], [0, 1]).value


def test_what_does_not_fit_is_not_merged_or_restored() -> None:
    score: Any = Brier()
    with pytest.raises(ValueError, match="a LogLoss cannot merge into a Brier"):
        score.merge(LogLoss())
    with pytest.raises(ValueError, match="came for a Brier"):
        score.restore(LogLoss().state())
    with pytest.raises(ValueError, match="cannot merge"):
        BaseRate(0.5).merge(BaseRate(1.0))


@EVERY
def test_memory_does_not_grow_with_rows(kind: type[Sums]) -> None:
    score = kind()
    before = sum(total.nbytes for total in score.state().values())
    for _ in range(50):
        score.update(*rows(1000))
    assert sum(total.nbytes for total in score.state().values()) == before < 700_000
