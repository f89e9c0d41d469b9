"""Each display draws what was recorded, on axes that are given or on its own."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from aioli import AIOLI, OGD, Auto
from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.numerics.compiling import Matrix, Vector

pyplot = pytest.importorskip("matplotlib.pyplot")

from aioli.plot import (  # noqa: E402  (after the skip)
    CalibrationDisplay,
    DriftDisplay,
    EffectDisplay,
    LossDisplay,
    RecordedRun,
    RegretDisplay,
    SharesDisplay,
    record_run,
)


@pytest.fixture(autouse=True)
def _figures_closed() -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def stream(rows: int = 600) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X, (X @ [2.0, -1.0, 0.0] + rng.logistic(size=rows) > 0).astype(np.float64)


@pytest.fixture(scope="module")
def run_of_auto() -> RecordedRun:
    return record_run(Auto(budget="fast"), *stream())


@pytest.fixture(scope="module")
def run_of_aioli() -> RecordedRun:
    return record_run(AIOLI(), *stream())


def test_a_recorded_run_is_the_game_of_learn_many(run_of_aioli: RecordedRun) -> None:
    X, y = stream()
    alone = AIOLI()
    assert np.array_equal(run_of_aioli.p, alone.learn_many(X, y))
    last = run_of_aioli.points[-1]
    assert last.rows == 600
    assert last.log_loss == pytest.approx(alone.loss / 600, rel=1e-12)
    assert last.certificate == float(alone.certificate())
    assert [point.rows for point in run_of_aioli.points][:5] == [1, 2, 4, 8, 9]


def test_names_of_a_frame_reach_the_effects() -> None:
    frames = pytest.importorskip("pandas")
    X, y = stream()
    frame = frames.DataFrame(X, columns=["age", "price", "noise"])
    display = EffectDisplay.from_run(record_run(AIOLI(), frame, y), "price")
    assert display.effect.direction == "falls"
    assert display.ax_.get_xlabel() == "price"


@pytest.mark.parametrize(
    "draw",
    [
        LossDisplay.from_run,
        SharesDisplay.from_run,
        CalibrationDisplay.from_run,
        DriftDisplay.from_run,
        EffectDisplay.from_run,
        RegretDisplay.from_run,
    ],
)
def test_a_display_draws_on_the_axes_that_are_given(run_of_auto: RecordedRun, draw: Callable[..., Any]) -> None:
    _, ax = pyplot.subplots()
    display = draw(run_of_auto, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    display.plot().figure_.canvas.draw()
    assert display.ax_ is not ax


def test_the_regret_drawn_stays_below_the_certificate(run_of_aioli: RecordedRun) -> None:
    display = RegretDisplay.from_run(run_of_aioli)
    at = dict(zip(display.rows, display.certificate, strict=True))
    assert len(display.regret_rows) >= 10
    assert all(regret <= at[n] for n, regret in zip(display.regret_rows, display.regret, strict=True))
    assert display.regret_rows[-1] == 600


def test_shares_add_up_to_one_at_every_point(run_of_auto: RecordedRun) -> None:
    display = SharesDisplay.from_run(run_of_auto)
    assert np.allclose(sum(display.shares.values()), 1.0)


@pytest.mark.parametrize("tails", [True, False])
def test_groups_of_the_calibration_count_every_row_once(tails: bool) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(size=4000)
    display = CalibrationDisplay.from_predictions(rng.uniform(size=4000) < p, p, tails=tails)
    assert sum(group.rows for group in display.groups) == 4000
    assert all(abs(group.announced - group.observed) < 0.12 for group in display.groups if group.rows > 50)


def test_a_change_of_the_world_is_marked() -> None:
    X, y = stream(4000)
    y[2000:] = np.random.default_rng(1).integers(0, 2, 2000)  # from here on the columns say nothing
    change, *_ = DriftDisplay.from_run(record_run(AIOLI(), X, y)).changes
    assert abs(change.row - 2000) <= 64
    assert change.after > 1.3 * change.before


def test_what_cannot_be_drawn_is_refused_in_one_sentence() -> None:
    X, y = stream(50)
    run = record_run(OGD(), X, y)
    with pytest.raises(CapabilityMissing, match="OGD is no mixture and has no shares"):
        SharesDisplay.from_run(run)
    with pytest.raises(CapabilityMissing, match="OGD has no certificate to draw"):
        RegretDisplay.from_run(run)
    with pytest.raises(ParameterRefused, match="column is 'age'; it must be one of column 1, column 2, column 3"):
        EffectDisplay.from_run(run, "age")
    with pytest.raises(ParameterRefused, match=r"p is .*one probability a row"):
        CalibrationDisplay.from_predictions([0, 1], [0.5, 1.5])
    with pytest.raises(ParameterRefused, match="points is 0"):
        record_run(OGD(), X, y, points=0)
