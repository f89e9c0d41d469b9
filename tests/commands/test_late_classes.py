"""aioli run with late labels of more than two classes, which are told beforehand."""

import csv
import json
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import ClassAIOLI
from aioli.cli import main
from aioli.evaluate.delay import Delay
from aioli.evaluate.delayed_classes import DelayedClassPlayer
from aioli.evaluate.progressive import progressive
from aioli.evaluate.waiting_rows import WaitingRows
from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.streams.protocol import Batch

ROWS = 150
CLASSES = ["ant", "bee", "cat"]


def rows_and_labels() -> tuple[Matrix, list[str]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2)).round(3)
    codes = np.argmax(2.0 * X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(ROWS, 3)), axis=1)
    return X, [CLASSES[k] for k in codes]


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    X, labels = rows_and_labels()
    path = tmp_path / "animals.csv"
    lines = [f"{t},{x:.3f},{y:.3f},{label}" for t, ((x, y), label) in enumerate(zip(X.tolist(), labels, strict=True))]
    path.write_text("\n".join(["id,x,y,animal", *lines]) + "\n")
    return path


def played(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    asked = ["run", *map(str, arguments), "--label", "animal", "--learner", "AIOLI(radius=2)", "--json"]
    assert main([*asked, "--classes", "ant,bee,cat"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def expected(delay: int) -> tuple[float, float]:
    """Return the mean loss of the game played by hand, and that of the shares of the labels known then."""
    X, labels = rows_and_labels()
    learner = ClassAIOLI(radius=2, classes=CLASSES)
    waiting: deque[tuple[int, Any, float]] = deque()
    losses, base, came = [], [], dict.fromkeys(CLASSES, 0)
    for t in range(ROWS + delay + 1):
        while waiting and (len(waiting) > delay or t >= ROWS):
            s, announced, share = waiting.popleft()
            p = learner.learn(X[s], labels[s], announced=announced)
            losses.append(-np.log(p[CLASSES.index(labels[s])]))
            base.append(-np.log(share))
            came[labels[s]] += 1
        if t < ROWS:
            heard = sum(came.values())
            waiting.append((t, learner.announce(X[t]), (came[labels[t]] + 0.5) / (heard + 1.5)))
    return float(np.mean(losses)), float(np.mean(base))


def test_the_command_plays_the_late_game(animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "p.csv"
    found = played(capsys, animals, "--delay", 20, "--skip", "id", "--predictions", out)
    loss, base = expected(20)
    assert found["game"] == "labels 20 rows late"
    assert (found["rows"], found["classes"]) == (ROWS, 3)
    assert_allclose(found["log_loss"], loss, rtol=1e-9)
    assert_allclose(found["base_rate"], base, rtol=1e-9)
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == rows_and_labels()[1]
    assert_allclose(np.mean([-np.log(float(row[f"p_{row['label']}"])) for row in rows]), loss, rtol=1e-9)


def test_labels_of_a_second_file_may_be_of_many_classes(
    animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, labels = rows_and_labels()
    rows, told = tmp_path / "rows.csv", tmp_path / "labels.csv"
    rows.write_text("\n".join(["id,x,y", *(f"{t},{x:.3f},{y:.3f}" for t, (x, y) in enumerate(X.tolist()))]) + "\n")
    told.write_text("\n".join(["id,animal", *(f"{t},{label}" for t, label in enumerate(labels))]) + "\n")
    together = played(capsys, animals, "--delay", 20, "--skip", "id")
    apart = played(capsys, rows, "--labels", told, "--key", "id", "--delay", 20)
    assert_allclose(apart["log_loss"], together["log_loss"], rtol=1e-12)
    assert apart["by_class"] == together["by_class"]


def test_late_labels_need_classes_that_are_told(animals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", str(animals), "--label", "animal", "--skip", "id", "--delay", "20"]
    assert main([*asked, "--classes", "any"]) != 0
    assert "told beforehand; name them" in capsys.readouterr().err
    assert main([*asked, "--classes", "ant,bee"]) != 0
    assert "the label is 'cat', none of the classes" in capsys.readouterr().err


def test_the_library_plays_the_same_game() -> None:
    X, labels = rows_and_labels()
    learner = ClassAIOLI(radius=2, classes=CLASSES)
    last = deque(progressive(learner, [(X, labels)], delay=Delay(rows=20)), maxlen=1).pop()
    assert_allclose(last.log_loss, expected(20)[0], rtol=1e-9)


def test_rows_that_wait_go_through_a_file_and_go_on_the_same() -> None:
    X, labels = rows_and_labels()
    y = np.array([float(CLASSES.index(label)) for label in labels])
    whole, stopped = (DelayedClassPlayer(ClassAIOLI(radius=2, classes=CLASSES), Delay(rows=20)) for _ in range(2))
    halves = [Batch(X[part], y[part], None, _Where(), classes=CLASSES) for part in (slice(75), slice(75, None))]
    for player in (whole, stopped):
        player.play(halves[0], ROWS)
    learner = type(stopped.learner).restore(stopped.learner.snapshot())  # type: ignore[attr-defined]  # every learner of this test has it
    resumed = DelayedClassPlayer(ClassAIOLI(radius=2, classes=CLASSES), Delay(rows=20))
    resumed.learner = learner
    resumed.waiting = WaitingRows.restore(from_bytes(to_bytes(stopped.waiting.snapshot())))
    left, right = (player.play(halves[1], ROWS)[1] for player in (whole, resumed))
    assert_allclose(left.p, right.p, rtol=0.0, atol=0.0)
    assert left.base is not None
    assert right.base is not None
    assert_allclose(left.base, right.base, rtol=1e-12)


class _Where:
    path = ""

    def __call__(self, row: int) -> str:
        return f"row {row}"
