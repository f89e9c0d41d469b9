"""Equal windows of a run, where its loss changed, and columns that should be looked at."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.cli import main
from aioli.evaluate.background import RowSample
from aioli.evaluate.doubts import doubts
from aioli.evaluate.original_columns import columns_of_features
from aioli.evaluate.sums import Scores
from aioli.evaluate.windows import Windows, change_points
from aioli.numerics.compiling import Vector
from aioli.streams.files.where import Numbered
from aioli.streams.protocol import Batch


def announced(rows: int, sharp: Vector, seed: int = 0) -> tuple[Vector, Vector]:
    """Honest probabilities, the further from ½ the larger `sharp`."""
    rng = np.random.default_rng(seed)
    p = 1.0 / (1.0 + np.exp(-sharp * rng.normal(size=rows)))
    return p, (rng.random(rows) < p).astype(float)


@pytest.mark.parametrize("rows", [1, 127, 128, 129, 12_345])
def test_windows_are_equal_and_sum_up_to_the_scores(rows: int) -> None:
    p, y = announced(rows, np.full(rows, 2.0))
    whole, pieces, scores = Windows(), Windows(), Scores()
    whole.count(p, y)
    for start in range(0, rows, 77):
        pieces.count(p[start : start + 77], y[start : start + 77])
        pieces = Windows.restore(pieces.snapshot())
    scores.update(p, y)
    windows = pieces.list()
    assert [(w.first, w.last, w.positive, w.auc) for w in windows] == [
        (w.first, w.last, w.positive, w.auc) for w in whole.list()
    ]
    assert len(windows) == rows if rows <= 128 else 64 <= len(windows) <= 128
    assert len({window.rows for window in windows[:-1]}) <= 1
    assert windows[-1].last == rows
    assert_allclose(sum(window.log_loss * window.rows for window in windows), scores.nats, rtol=1e-12)
    assert sum(window.positive * window.rows for window in windows) == pytest.approx(y.sum())


def test_the_auc_of_a_window_is_near_that_of_its_rows() -> None:
    p, y = announced(40_000, np.full(40_000, 2.0))
    windows, scores = Windows(), Scores()
    windows.count(p, y)
    first = windows.list()[0]
    scores.update(p[: first.rows], y[: first.rows])
    assert first.auc == pytest.approx(scores.auc, abs=0.01)  # four cells an octave


def test_a_step_of_the_loss_is_found_near_its_row_and_a_calm_run_has_none() -> None:
    rows = 40_000
    for change in (7_000, 25_000, 39_000):
        sharp = np.where(np.arange(rows) < change, 6.0, 1.5)
        windows = Windows()
        windows.count(*announced(rows, sharp))
        (found,) = change_points(windows.list())
        assert abs(found.row - change) <= 2 * windows.size
        assert found.before < 0.35 < found.after
        assert str(found).startswith(f"changed near row {found.row:,}: loss 0.")
    for seed in range(10):
        windows = Windows()
        windows.count(*announced(rows, np.full(rows, 2.0), seed))
        assert change_points(windows.list()) == []


def test_what_a_learner_gains_is_no_change() -> None:
    rows = 30_000
    learning = 2.5 * np.sqrt(np.arange(rows) / rows)  # slowly
    windows = Windows()
    windows.count(*announced(rows, learning))
    assert change_points(windows.list()) == []
    windows = Windows()
    windows.count(*announced(rows, np.where(np.arange(rows) < 1000, 0.1, 3.0)))  # at once, at the beginning
    assert change_points(windows.list()) == []


def test_columns_to_look_at_are_named_and_usual_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.3).astype(float)
    X = np.column_stack([np.arange(3000) + 7.0, np.full(3000, 4.0), 1.0 - y, y * 2.0 + 1.0, rng.normal(size=3000), y])
    X[::2, 5] = 0.0
    sample = RowSample()
    sample.batch_ended(Batch(X, y, None, Numbered("", "row", [])))
    names = ["id", "const", "twin", "double", "usual", "near"]
    assert doubts(sample, columns_of_features(names, {})) == [
        "id looks like an identifier: it only grows",
        "const is constant",
        "twin looks like a copy of the label",
        "double looks like a copy of the label",
    ]


def test_the_command_tells_changes_and_warnings_and_what_is_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=6000)
    z = np.where(np.arange(6000) < 4000, 6.0 * x, 0.0)
    y = rng.random(6000) < 1.0 / (1.0 + np.exp(-z))
    data, page = tmp_path / "drift.csv", tmp_path / "page.html"
    data.write_text(
        "\n".join(["id,x,y", *(f"{i},{a:.3f},{int(b)}" for i, (a, b) in enumerate(zip(x, y, strict=True)))])
    )
    asked = ["run", str(data), "--label", "y", "--report", str(page)]
    assert main([*asked, "--json", "--no-regret"]) == 0
    found = json.loads(capsys.readouterr().out)
    change = found["changes"][0]
    assert abs(change["row"] - 4000) <= 100
    assert change["before"] < 0.3 < change["after"]
    assert found["warnings"] == ["id looks like an identifier: it only grows"]
    assert found["regret"] is None
    assert found["auc_low"] < found["auc"] < found["auc_high"]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "changed near row" in said
    assert "id looks like an identifier" in said
    assert "Proven: a fixed formula" in said
    html = page.read_text()
    for part in (
        "The loss changed near row",
        "looks like an identifier",
        "aioli run",
        "Positive class",
        "Where to draw",
    ):
        assert part in html
    assert main(["run", str(data), "--label", "y", "--report", str(tmp_path / "page.pdf")]) == 1
    assert "ends in .html" in capsys.readouterr().err
    assert not (tmp_path / "page.pdf").exists()
