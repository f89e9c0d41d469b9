"""`Scores`: every score of `evaluate.scores`, from one compiled pass; it is cut and taken up anywhere."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.evaluate.score_functions import CELLS, bin_of
from aioli.evaluate.scores import AUC, Accuracy, BaseRate, Brier, Calibration, LogLoss
from aioli.evaluate.sums import Scores
from aioli.numerics.compiling import Vector

SUM = 1e-12  # relative: some thousand terms one by one, where NumPy adds in pairs
SCORES = {
    "log_loss": LogLoss,
    "base_rate": BaseRate,
    "brier": Brier,
    "accuracy": Accuracy,
    "auc": AUC,
    "ece": Calibration,
}
EDGES = [0.0, 5e-324, 1e-300, 2.0**-54, 0.25, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), 1 - 2.0**-53, 1.0]


def rows(n: int = 3000) -> tuple[Vector, Vector]:
    """Probabilities that spread, that are rare, that tie, and that are on every edge."""
    rng = np.random.default_rng(11)
    spread = np.concatenate([rng.random(n), 10.0 ** rng.uniform(-12, -1, n), rng.integers(1, 8, n) / 8.0, EDGES * 10])
    p = rng.permutation(spread)
    return p, (rng.random(p.size) < 0.8 * p + 0.1).astype(np.float64)


def scores_of(p: Vector, y: Vector) -> Scores:
    scores = Scores()
    scores.count(p, y)
    return scores


@pytest.mark.parametrize("name", SCORES)
def test_every_score_is_that_of_its_class(name: str) -> None:
    p, y = rows()
    score = SCORES[name]()
    score.update(p, y)
    assert_allclose(getattr(scores_of(p, y), name), score.value, rtol=SUM)


def test_the_error_and_the_diagram_are_theirs_too() -> None:
    p, y = rows()
    scores, area, groups = scores_of(p, y), AUC(), Calibration()
    area.update(p, y)
    groups.update(p, y)
    assert scores.auc_error == area.error
    for found, expected in zip(scores.reliability(), groups.table(), strict=True):
        assert found.rows == expected.rows
        assert_allclose([found.announced, found.observed], [expected.announced, expected.observed], rtol=SUM)


def test_rows_may_come_in_any_pieces() -> None:
    p, y = rows()
    whole, pieces = scores_of(p, y), Scores()
    for part in np.array_split(np.arange(p.size), 17):
        pieces.count(p[part], y[part])
    for name, array in whole.snapshot().arrays.items():
        assert_array_equal(pieces.snapshot().arrays[name], array)  # the same additions in the same order
    assert pieces.rows == p.size


def test_a_certainty_that_was_wrong_is_not_infinite() -> None:
    scores = scores_of(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert_allclose(2.0 * scores.log_loss, 1074 * math.log(2.0) + 53 * math.log(2.0), rtol=SUM)
    assert scores.accuracy == 0.0
    assert scores.clipped == 2


def test_nothing_is_said_of_no_rows() -> None:
    scores = Scores()
    assert scores.rows == 0
    for name in SCORES:
        assert math.isnan(getattr(scores, name))
    assert scores.reliability() == []
    assert scores.thresholds() == []


def test_the_histogram_counts_every_row_once() -> None:
    p, y = rows()
    cells = scores_of(p, y).cells
    for side in (0, 1):
        expected, _ = np.histogram(p[y == side], bins=CELLS, range=(0.0, 1.0))
        assert cells[side].sum() == expected.sum()
        assert (
            np.abs(cells[side] - expected).max() <= 2 * len(EDGES) * 10
        )  # of what lies on an edge, either side may be


def test_thresholds_go_from_the_strictest_to_the_most_lenient_and_are_true() -> None:
    p, y = rows()
    points = np.array(scores_of(p, y).thresholds())
    threshold, found, false, precision = points.T
    assert np.all(np.diff(threshold) < 0.0)
    assert np.all(np.diff(found) >= 0.0)
    assert np.all(np.diff(false) >= 0.0)
    assert (found[-1], false[-1]) == (1.0, 1.0)
    assert_allclose(precision[-1], y.mean(), rtol=SUM)
    middle = len(points) // 2
    called = np.array([bin_of(q) >= bin_of(float(threshold[middle])) for q in p.tolist()])
    assert_allclose(found[middle], y[called].sum() / y.sum(), rtol=SUM)
    assert_allclose(precision[middle], y[called].mean(), rtol=SUM)


def test_one_class_has_no_curve() -> None:
    assert scores_of(np.array([0.2, 0.3]), np.ones(2)).thresholds() == []


def test_the_interval_of_the_auc_holds_the_true_area_about_95_times_in_100() -> None:
    held = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        y = (rng.random(400) < 0.3).astype(float)
        z = rng.normal(size=400) + y  # the true area is Φ(1/√2) = 0.7602
        scores = Scores()
        scores.update(1.0 / (1.0 + np.exp(-z)), y)
        low, high = scores.auc_interval
        held.append(low <= 0.7602499 <= high)
    assert 0.88 <= np.mean(held) <= 0.99  # 80 coins of 0.95 fall below 71 once in ten thousand


def test_tails_and_decisions_count_every_row() -> None:
    rng = np.random.default_rng(0)
    p = 1.0 / (1.0 + np.exp(-4.0 * rng.normal(size=5000)))
    y = (rng.random(5000) < p).astype(float)
    scores = Scores()
    scores.update(p, y)
    tails = scores.tails()
    assert sum(group.rows for group in tails) == 5000
    sure = [group for group in tails if group.announced > 0.98]
    assert len(sure) >= 3
    inside = (p >= 0.98) & (p < 0.99)
    assert any(abs(group.rows - inside.sum()) <= 2 for group in sure)  # a bin lies on an edge
    for threshold, alarms, right, missed in scores.decisions():
        assert abs(alarms - (p >= threshold).sum()) <= 20  # a bin is never divided
        assert right + missed == y.sum()
