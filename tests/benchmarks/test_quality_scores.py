"""What the comparison of predictions counts: losses, calibration, kappa, wins, and what its summary says."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose

from benchmarks.online_report import online_summary, online_tables
from benchmarks.quality_report import quality_table, standings, summary
from benchmarks.results import Result, append_result, read_results
from benchmarks.scores import CLIP, accuracy, calibration_error, cohen_kappa, log_loss


def test_a_wrong_certainty_and_a_nan_cost_what_the_clipping_allows() -> None:
    y = np.array([1.0, 0.0])
    worst = -math.log(CLIP)
    assert_allclose(log_loss(np.array([0.0, 1.0]), y), worst, rtol=1e-2)  # 1 - 1e-15 is rounded to a multiple of 2⁻⁵³
    assert_allclose(log_loss(np.array([np.nan, np.nan]), y), worst, rtol=1e-2)
    assert_allclose(log_loss(np.array([0.5, 0.5]), y), math.log(2.0))


def test_calibration_error_is_the_mean_gap_of_bins_of_equal_mass() -> None:
    p = np.array([0.1, 0.9, 0.2, 0.8])
    y = np.array([0.0, 1.0, 1.0, 1.0])
    assert_allclose(calibration_error(p, y, bins=2), 0.5 * abs(0.15 - 0.5) + 0.5 * abs(0.85 - 1.0))
    assert_allclose(calibration_error(p, y, bins=15), (0.1 + 0.1 + 0.8 + 0.2) / 4)


def test_kappa_is_the_accuracy_beyond_chance() -> None:
    y = np.array([1.0, 1.0, 1.0, 0.0])
    assert accuracy(np.array([0.9, 0.8, 0.3, 0.2]), y) == 0.75
    assert_allclose(cohen_kappa(np.array([0.9, 0.8, 0.3, 0.2]), y), (0.75 - 0.5) / (1.0 - 0.5))
    assert cohen_kappa(np.full(4, 0.9), y) == 0.0
    assert cohen_kappa(np.full(3, 0.9), y[:3]) == 0.0  # chance is always right: nothing is beyond it


def scored(stream: str, rows: int, **losses: float) -> list[Result]:
    named = {name.replace("_", "-"): loss for name, loss in losses.items()}
    return [Result(stream, rows, 2, name, loss, loss / 10.0, 0.1) for name, loss in named.items()]


def test_the_summary_counts_wins_and_the_worst_excess_of_long_and_short_streams() -> None:
    results = [
        *scored("won", 5000, auto=0.30, vw=0.31, vw_coin=0.32, tuned_sgd=0.31),
        *scored("lost", 5000, auto=0.303, vw=0.30, tuned_sgd=0.29),
        *scored("short", 500, auto=0.306, vw=0.30, tuned_sgd=0.30),
        *scored("unplayed", 500, vw=0.30, tuned_sgd=0.30),
    ]
    lines = summary(results)
    assert lines[0] == "log loss: Auto below every untuned method on 1 of 3 streams: 33%; goal: 90%, missed"
    assert "rows or more: at worst +1.0% (lost); goal: at most +1.0%" in lines[1]
    assert "under 1000 rows: at worst +2.0% (short); goal: at most +3.0%, met" in lines[2]
    assert "tuned method on 1 of 3 streams" in lines[3]
    assert "at worst +4.5% (lost); goal: at most +1.5%, missed" in lines[4]
    assert lines[6] == "ECE: Auto below every untuned method on 1 of 3 streams: 33%; goal: 80%, missed"
    assert "| won | 5000 | 2 | 0.3000 | – | 0.3100 | vw | 0.968 | 0.3100 |" in quality_table(results, lines)


def test_the_online_summary_names_every_stream_on_which_a_peer_is_below() -> None:
    def rough(stream: str, **losses: float) -> list[Result]:
        return [replace(result, clipped_loss=result.log_loss) for result in scored(stream, 5000, **losses)]

    results = [
        *rough("won", auto=0.30, auto_best=0.28, vw=0.31, river_arf=0.32, boosting=0.29, lightgbm=0.35),
        *rough("lost", auto=0.303, auto_best=0.28, vw=0.30, river_arf=0.31, boosting=0.25),
        *rough("no trees", auto=0.5, vw=0.4),
    ]
    lines = online_summary(results)
    assert lines[0] == "labels in time: auto below every streaming peer on 1 of 2 streams: 50%; goal: 95%, missed"
    assert "auto over vw on lost, 5000 rows: +1.0%; goal: at most +1.0%" in lines[2]
    assert "auto-best below every refitted batch model on 1 of 2 streams" in lines[3]
    assert "auto-best over boosting on lost, 5000 rows: +12.0%; goal: at most +1.0%, missed" in lines[5]
    assert len(lines) == 6  # nobody was late
    assert "| won | 5000 | 0.3000 | 0.2800 | 0.3200 | 0.2900 | 0.3500 |" in online_tables(results)


def test_a_method_without_a_score_is_no_best_one() -> None:
    results = scored("stream", 5000, auto=0.3, vw=math.nan, vw_coin=0.4)
    best = standings(results)[0].best("untuned")
    assert best is not None
    assert best.method == "vw-coin"


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    results = [
        Result("a", 3, 2, "vw", 1.0 / 3.0, 0.1, 0.25, 'failed: "quotes", commas'),
        Result("b", 4, 1, "vw", 2e-17, 0.0, 1.5),
    ]
    for result in results:
        append_result(path, result)
    assert read_results(path) == results
