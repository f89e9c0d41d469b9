"""Running scores equal scikit-learn's of all rows at once, however the rows are cut, merged, saved and resumed."""

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from thoroughness import examples

from aioli.evaluate.score_functions import BINS, bin_of
from aioli.evaluate.scores import AUC, Accuracy, BaseRate, Brier, Calibration, LogLoss, Reliability
from aioli.numerics.compiling import Vector

metrics = importlib.import_module("sklearn.metrics")
calibration = importlib.import_module("sklearn.calibration")

SCORES: list[Any] = [LogLoss, BaseRate, Brier, Accuracy, AUC, Calibration]
Draw = Callable[[np.random.Generator, int], Vector]
EVERY = pytest.mark.parametrize("kind", SCORES)
SUM = 1e-13  # relative: 20,000 terms in another order, an ulp each at the very most


def spread(rng: np.random.Generator, n: int) -> Vector:
    return rng.random(n)


def rare(rng: np.random.Generator, n: int) -> Vector:
    return 10.0 ** rng.uniform(-9.0, -1.0, n)


def sure(rng: np.random.Generator, n: int) -> Vector:
    return 1.0 - 10.0 ** rng.uniform(-12.0, 0.0, n)


def tied(rng: np.random.Generator, n: int) -> Vector:
    return rng.integers(1, 8, n) / 8.0


DATA = pytest.mark.parametrize("draw", [spread, rare, sure, tied])


def rows(draw: Draw, n: int = 20_000) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(7)
    p = draw(rng, n)
    y = (rng.random(n) < 0.3 * p + 0.2).astype(np.float64)  # both labels everywhere, and larger p is likelier 1
    return p, y


def fed(score: Any, p: object, y: object) -> Any:
    score.update(p, y)
    return score


# ---- the values


@DATA
def test_log_loss_is_scikit_learns(draw: Draw) -> None:
    p, y = rows(draw)
    score = fed(LogLoss(), p, y)
    assert_allclose(score.value, metrics.log_loss(y, p), rtol=1e-9)  # theirs takes 1 - p, and log of that, at p = 1e-9
    assert score.clipped == 0


def test_log_loss_is_exact_where_probabilities_are_extreme() -> None:
    assert fed(LogLoss(), [1e-300, 1e-20], [1, 0]).value == pytest.approx((300 * math.log(10) + 1e-20) / 2, rel=1e-15)
    assert fed(LogLoss(), [1e-20], [0]).value == pytest.approx(1e-20, rel=1e-15)


def test_log_loss_clips_only_certainty_about_the_wrong_label_and_says_so() -> None:
    right = fed(LogLoss(), [0.0, 1.0], [0, 1])
    assert (right.value, right.clipped) == (0.0, 0)
    assert fed(LogLoss(), [5e-324, 1.0 - 2.0**-53], [1, 0]).clipped == 0
    wrong = fed(LogLoss(), [0.0], [1])
    assert (wrong.value, wrong.clipped) == (pytest.approx(1074 * math.log(2), rel=1e-15), 1)
    wrong = fed(LogLoss(), [1.0], [0])
    assert (wrong.value, wrong.clipped) == (pytest.approx(53 * math.log(2), rel=1e-15), 1)


@pytest.mark.parametrize("smoothing", [0.5, 1.0])
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.5, 1.0])
def test_base_rate_is_the_loss_of_rates_announced_before_each_label(smoothing: float, rate: float) -> None:
    y = (np.random.default_rng(1).random(3000) < rate).astype(np.float64)
    announced = (np.cumsum(y) - y + smoothing) / (np.arange(y.size) + 2 * smoothing)
    score = BaseRate(smoothing)
    score.update(np.full(y.size, 0.3), y)
    said = np.where(y == 1.0, announced, 1.0 - announced)
    assert score.value == pytest.approx(-np.log(said).mean(), rel=1e-10)  # ln Γ(3000) has an ulp of 4e-12


@DATA
def test_brier_is_scikit_learns(draw: Draw) -> None:
    p, y = rows(draw)
    assert_allclose(fed(Brier(), p, y).value, metrics.brier_score_loss(y, p), rtol=SUM)


@DATA
def test_accuracy_is_midway_between_scikit_learns_two_ways_with_ties(draw: Draw) -> None:
    p, y = rows(draw)
    expected = 0.5 * (metrics.accuracy_score(y, p > 0.5) + metrics.accuracy_score(y, p >= 0.5))
    assert_allclose(fed(Accuracy(), p, y).value, expected, rtol=SUM)


def test_accuracy_tells_a_half_from_its_neighbours() -> None:
    below, above = np.nextafter(0.5, 0.0), np.nextafter(0.5, 1.0)
    assert fed(Accuracy(), [below, above], [0, 1]).value == 1.0
    assert fed(Accuracy(), [below, above], [1, 0]).value == 0.0


@DATA
def test_auc_is_scikit_learns_within_its_stated_error(draw: Draw) -> None:
    p, y = rows(draw)
    score = fed(AUC(), p, y)
    assert abs(score.value - metrics.roc_auc_score(y, p)) <= score.error + SUM
    assert score.error < (0.08 if draw is tied else 0.002)  # seven values that all tie, against a 256th of an octave


def test_auc_of_ties_is_exact_though_its_bound_cannot_know() -> None:
    p, y = rows(tied)
    assert_allclose(fed(AUC(), p, y).value, metrics.roc_auc_score(y, p), rtol=SUM)


@examples(60)
@given(
    p=st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 1.0, 0.501, 0.5011]), min_size=2, max_size=40),
    seed=st.integers(0, 99),
)
def test_auc_keeps_its_bound_on_any_probabilities(p: list[float], seed: int) -> None:
    y = np.random.default_rng(seed).permutation(np.arange(len(p)) % 2)
    score = fed(AUC(), p, y)
    assert abs(score.value - metrics.roc_auc_score(y, p)) <= score.error + 1e-14


def test_auc_reaches_its_bound_in_the_worst_case() -> None:
    score = fed(AUC(), [0.3, 0.3 + 1e-9], [0, 1])  # one bin: the truth is 1
    assert (score.value, score.error) == (0.5, 0.5)


def test_calibration_is_scikit_learns_over_equal_masses() -> None:
    p, y = rows(spread)
    observed, announced = calibration.calibration_curve(y, p, n_bins=15, strategy="quantile")
    table = Calibration.restore(fed(Calibration(), p, y).snapshot()).table()
    assert [group.rows for group in table] == pytest.approx([len(p) / 15] * 15, abs=2 * len(p) / 1024)  # two bins
    # An edge may lie a bin away from theirs: a 1/1024 of the rows, of the 1/15 in a group, at both its ends.
    assert_allclose([group.announced for group in table], announced, atol=2 * 15 / 1024 * (1 / 15))
    assert_allclose([group.observed for group in table], observed, atol=2 * 15 / 1024)


def test_calibration_groups_are_equal_where_the_bins_allow_it() -> None:
    score = fed(Calibration(), np.arange(1, 31) / 32, np.arange(30) % 2)
    assert score.table() == [Reliability(2, (4 * g + 3) / 64, 0.5) for g in range(15)]


def test_calibration_of_tied_probabilities_is_exact_by_value() -> None:
    p, y = rows(tied)
    expected = sum(abs((p - y)[p == value].sum()) for value in np.unique(p)) / p.size
    score = fed(Calibration(), p, y)
    assert_allclose(score.value, expected, rtol=SUM)
    assert_allclose([group.announced for group in score.table()], np.unique(p), rtol=SUM)
    assert_allclose([group.observed for group in score.table()], [y[p == value].mean() for value in np.unique(p)])
    assert sum(group.rows for group in score.table()) == p.size


def test_calibration_of_honest_probabilities_is_what_chance_gives() -> None:
    rng = np.random.default_rng(3)
    p = rng.uniform(0.4, 0.6, 60_000)
    honest = fed(Calibration(), p, rng.random(p.size) < p).value
    chance = math.sqrt(2 * 15 * 0.25 / (math.pi * p.size))
    assert 0.4 * chance < honest < 1.9 * chance  # 15 half-normal terms: 5 sigma is 5·0.76/√15 = 0.98 of the mean
    assert fed(Calibration(), np.minimum(p + 0.1, 1.0), rng.random(p.size) < p).value == pytest.approx(0.1, abs=0.02)


def test_calibration_in_one_group_is_the_gap_of_the_means() -> None:
    p, y = rows(rare)
    assert_allclose(fed(Calibration(groups=1), p, y).value, abs(p.mean() - y.mean()), rtol=SUM)


# ---- bins


@examples(300)
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_bins_keep_the_order_of_probabilities_and_mirror_about_a_half(p: float, q: float) -> None:
    assert 0 <= bin_of(min(p, q)) <= bin_of(max(p, q)) < BINS
    if p >= 0.5:  # 1 - p is exact
        assert bin_of(1.0 - p) == BINS - 1 - bin_of(p)


def test_bins_keep_order_between_neighbouring_floats() -> None:
    edges = np.concatenate([2.0 ** -np.arange(1.0, 56.0), 1.0 - 2.0 ** -np.arange(1.0, 54.0), [0.3, 0.7, 0.75]])
    p = np.sort(np.concatenate([np.nextafter(edges, 0.0), edges, np.nextafter(edges, 1.0), [0.0, 5e-324, 1.0]]))
    bins = [bin_of(q) for q in p.tolist()]
    assert (np.diff(bins) >= 0).all()
    assert (bins[0], bins[-1], bin_of(0.5)) == (0, BINS - 1, (BINS - 1) // 2)


# ---- one class, no rows, ways of writing


@EVERY
def test_no_rows_have_no_score(kind: Any) -> None:
    assert math.isnan(kind().value)
    assert math.isnan(fed(kind(), [], []).value)


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_every_score_but_the_area(label: int) -> None:
    p, _ = rows(spread, n=500)
    y = np.full(p.size, label)
    assert math.isnan(fed(AUC(), p, y).value)
    assert math.isnan(fed(AUC(), p, y).error)
    assert_allclose(fed(LogLoss(), p, y).value, metrics.log_loss(y, p, labels=[0, 1]), rtol=1e-12)
    assert_allclose(fed(Brier(), p, y).value, metrics.brier_score_loss(y, p, labels=[0, 1]), rtol=SUM)
    assert_allclose(fed(Accuracy(), p, y).value, metrics.accuracy_score(y, p > 0.5), rtol=SUM)
    assert_allclose(fed(Calibration(), p, y).value, abs(p - y).mean(), rtol=SUM)
    assert fed(BaseRate(), p, y).value < 0.01


def test_groups_without_rows_are_not_in_the_table() -> None:
    assert Calibration().table() == []
    assert fed(Calibration(), 0.25, 1).table() == [Reliability(1, 0.25, 1.0)]


def test_labels_may_be_written_in_every_way() -> None:
    for y in ([0, 1], [False, True], [-1, 1], np.array([0.0, 1.0])):
        assert fed(LogLoss(), [0.2, 0.7], y).value == fed(LogLoss(), [0.2, 0.7], [0, 1]).value


@pytest.mark.parametrize("make", [lambda: BaseRate(0.0), lambda: BaseRate(math.inf), lambda: Calibration(0)])
def test_a_wrong_parameter_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="it must be"):
        make()
