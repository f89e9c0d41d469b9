"""aioli run with labels in a second file: joined by a key, at the times that it tells, whatever does not meet told."""

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import AIOLI
from aioli.cli import main
from aioli.learners.announcements import Announcement
from aioli.numerics.compiling import Matrix, Vector

ROWS = 200
SAME = 1e-7  # rows in groups of other sizes: matrix products or loops, over a column of up to 2,000


@dataclass(frozen=True)
class Clicks:
    """Two files, and what is in them."""

    rows: Path
    labels: Path
    X: Matrix
    y: Vector
    came: Vector  # the seconds at which the labels came


def write(path: Path, header: str, lines: Sequence[str]) -> Path:
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


@pytest.fixture
def clicks(tmp_path: Path) -> Clicks:
    """A row every ten seconds, its label up to 500 seconds later: in another order than the rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=ROWS).round(4)
    y = (x + rng.logistic(size=ROWS) > 0).astype(np.float64)
    seconds = 10.0 * np.arange(ROWS)
    came = seconds + rng.uniform(1.0, 500.0, size=ROWS).round()
    rows = write(tmp_path / "rows.csv", "visit,x,when", [f"v{t},{x[t]},{seconds[t]}" for t in range(ROWS)])
    lines = [f"{came[t]},v{t},{int(y[t])}" for t in np.argsort(came)]
    labels = write(tmp_path / "labels.csv", "when,visit,clicked", lines)
    return Clicks(rows, labels, np.column_stack([x, seconds]), y, came)


def arguments(clicks: Clicks, *further: object) -> list[str]:
    second = ["--labels", str(clicks.labels), "--key", "visit", "--label", "clicked"]
    return ["run", str(clicks.rows), *second, "--learner", "AIOLI", *map(str, further)]


def told(capsys: pytest.CaptureFixture[str], clicks: Clicks, *further: object) -> dict[str, Any]:
    assert main([*arguments(clicks, *further), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def played(clicks: Clicks, labelled: Sequence[int]) -> tuple[Vector, float]:
    """The game by its definition: what is said of each row, and the mean loss of those whose labels come."""
    learner, said = AIOLI(), np.empty(ROWS)
    waiting: list[tuple[float, int, Announcement]] = []

    def hear(until: float) -> None:
        while waiting and waiting[0][0] <= until:
            _, t, announced = heapq.heappop(waiting)
            learner.learn(clicks.X[t], clicks.y[t], announced=announced)

    for t in range(ROWS):
        hear(10.0 * t)
        announced = learner.announce(clicks.X[t])
        said[t] = announced.probability
        if t in labelled:
            heapq.heappush(waiting, (max(clicks.came.item(t), 10.0 * t), t, announced))
    hear(np.inf)
    return said, learner.loss / len(labelled)


def predictions(path: Path) -> list[tuple[float, str]]:
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    assert [int(line[0]) for line in lines] == list(range(1, ROWS + 1))
    return [(float(line[1]), line[2]) for line in lines]


def test_labels_are_learned_at_their_times_in_any_order(
    clicks: Clicks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, clicks, "--time", "when", "--predictions", tmp_path / "p.csv")
    said, loss = played(clicks, range(ROWS))
    assert found["game"] == "labels at times of their own"
    assert found["rows"] == ROWS
    assert_allclose(found["log_loss"], loss, rtol=SAME)
    kept = predictions(tmp_path / "p.csv")
    assert_allclose([p for p, _ in kept], said, rtol=SAME)
    assert [label for _, label in kept] == [str(int(label)) for label in clicks.y]
    assert found["regret"] <= found["certificate"]


def test_printed_predictions_are_in_the_order_of_the_rows(
    clicks: Clicks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, clicks, "--time", "when", "--predictions", tmp_path / "p.csv")
    assert main(arguments(clicks, "--time", "when", "--predictions", "-")) == 0
    printed = [line.split(",") for line in capsys.readouterr().out.splitlines()[1 : ROWS + 1]]
    assert [(float(p), label) for p, label, _ in printed] == predictions(tmp_path / "p.csv")
    assert [key for *_, key in printed] == [f"v{t}" for t in range(ROWS)]


def test_without_times_it_is_the_game_of_one_file(
    clicks: Clicks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{x},{when},{int(y)}" for (x, when), y in zip(clicks.X.tolist(), clicks.y, strict=True)]
    one = write(tmp_path / "one.csv", "x,when,clicked", lines)
    for asked in ([], ["--delay", "20"], ["--batch", "30"], ["--delay", "2m", "--time", "when"]):
        joined = told(capsys, clicks, *asked)
        assert main(["run", str(one), "--label", "clicked", "--learner", "AIOLI", *asked, "--json"]) == 0
        alone = json.loads(capsys.readouterr().out)
        assert joined["rows"] == alone["rows"]
        assert joined["game"] == alone.get("game", "labels in time")
        for figure in ("log_loss", "auc", "regret", "certificate"):
            assert_allclose(joined[figure], alone[figure], rtol=1e-6)


def test_what_does_not_meet_is_counted_and_told(
    clicks: Clicks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, *lines = clicks.labels.read_text().splitlines()
    lines = [line for line in lines if line.split(",")[1] not in ("v5", "v6", "v7")]
    lines = [line.replace(line.split(",")[0], "3.0", 1) if ",v90," in line else line for line in lines]
    write(clicks.labels, header, [*lines, "9999,nobody,1", "9999,v3,0", "9999,v4,0"])
    top, *rows = clicks.rows.read_text().splitlines()
    rows[11] = rows[11].replace("v11,", "v10,")  # a key twice, so that v11 has no row
    write(clicks.rows, top, rows)
    page, out = tmp_path / "page.html", tmp_path / "p.csv"
    found = told(capsys, clicks, "--time", "when", "--report", page, "--predictions", out)
    counts = {name: value for name, value in found.items() if name.startswith(("rows_", "labels_"))}
    assert {name: counts[name] for name in counts if name != "rows_per_second"} == {
        "rows_without_label": 3,
        "rows_repeated": 1,
        "labels_without_row": 2,
        "labels_repeated": 2,
        "labels_before_row": 1,
    }
    assert found["rows"] == ROWS - 4
    clicks.came[90] = 3.0
    said, loss = played(clicks, [t for t in range(ROWS) if t not in (5, 6, 7, 11)])
    assert_allclose(found["log_loss"], loss, rtol=SAME)
    kept = predictions(out)
    assert_allclose([p for p, _ in kept], said, rtol=SAME)
    assert [t for t, (_, label) in enumerate(kept) if not label] == [5, 6, 7, 11]
    assert main(arguments(clicks, "--time", "when")) == 0
    shown = capsys.readouterr().out
    for sentence in (
        f"3 rows had no label in {clicks.labels}: predicted, and nothing was learned from them.",
        "1 row had the 'visit' of an earlier row, which took the label: predicted only.",
        f"2 labels of {clicks.labels} had a value of 'visit' that no row has: left out.",
        f"2 labels of {clicks.labels} had the 'visit' of an earlier label, which stands: left out.",
        f"1 label of {clicks.labels} came before the row: learned as soon as that was announced.",
    ):
        assert sentence in shown
        assert sentence.replace("'", "&#x27;") in page.read_text() or sentence in page.read_text()


def test_late_rows_without_a_label_hold_up_nobody(clicks: Clicks, capsys: pytest.CaptureFixture[str]) -> None:
    header, *lines = clicks.labels.read_text().splitlines()
    few = [line for line in lines if int(line.split(",")[1][1:]) < 20]
    write(clicks.labels, header, few)
    for asked in ([], ["--delay", "7"], ["--batch", "30"], ["--time", "when"]):
        found = told(capsys, clicks, *asked)
        assert (found["rows"], found["rows_without_label"]) == (20, ROWS - 20)


@pytest.mark.parametrize("asked", [["--time", "when"], ["--delay", "15"]])
def test_a_run_goes_on_in_the_middle_bit_for_bit(
    clicks: Clicks,
    tmp_path: Path,
    asked: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("aioli.streams.files.byte_window.BLOCK", 1 << 11)
    header, *lines = clicks.labels.read_text().splitlines()
    write(clicks.labels, header, [line for line in lines if ",v77," not in line])
    out = tmp_path / "p.csv"
    whole = told(capsys, clicks, *asked, "--predictions", out)
    expected = out.read_bytes()
    rows = clicks.rows.read_text()
    clicks.rows.write_text(rows.replace("v150,", "v150,oops,1,"))
    kept = ["--predictions", out, "--checkpoint", tmp_path / "kept", "--every", "0", "--resume"]
    assert main(arguments(clicks, *asked, *kept)) == 1
    assert "go on from them" in capsys.readouterr().err
    clicks.rows.write_text(rows)
    monkeypatch.setattr("aioli.store.checkpoints.check_unchanged", lambda *_: None)  # the row was mended
    again = told(capsys, clicks, *asked, *kept)
    different = {name for name in whole if whole[name] != again[name]}
    assert different <= {"seconds", "regret_seconds", "rows_per_second", "peak_memory_mib"}
    assert out.read_bytes() == expected


def test_labels_that_have_changed_since_are_refused(
    clicks: Clicks, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioli.streams.files.byte_window.BLOCK", 1 << 11)
    broken = clicks.rows.read_text().replace("v190,", "v190,oops,1,")
    clicks.rows.write_text(broken)
    kept = ["--checkpoint", tmp_path / "kept", "--every", "0", "--resume"]
    assert main(arguments(clicks, *kept)) == 1
    clicks.labels.write_text(clicks.labels.read_text() + "9999,v3,1\n")
    capsys.readouterr()
    assert main(arguments(clicks, *kept)) == 1
    assert "'labels.csv' had" in capsys.readouterr().err


def test_a_model_knows_the_label_and_not_the_key(
    clicks: Clicks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.aioli"
    told(capsys, clicks, "--time", "when", "--save", model)
    new = write(tmp_path / "new.csv", "x,when,clicked", ["1.5,2000,1", "-1.5,2000,0"])
    assert main(["predict", str(new), "--model", str(model), "--label", "clicked", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rows"] == 2
    assert main(["predict", str(clicks.rows), "--model", str(model)]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= ROWS


@pytest.mark.parametrize(
    ("change", "further", "sentence"),
    [
        (("labels", "visit", "guest"), [], "there is no column 'visit'"),
        (("rows", "visit", "guest"), [], "there is no column 'visit'"),
        (("labels", ".0,v", ".0,w"), [], "no row has a label, since none of the 200 keys"),
        (("rows", "x,", "clicked,"), [], "has the column 'clicked' too, which would tell the label before it comes"),
        (("labels", "when", "hour"), ["--time", "when"], "there is no column 'when'"),
        (("labels", ",v7,", ",,"), [], "the key is missing; fill it in, or drop the label"),
        (None, ["--time", "x"], "there is no column 'x'"),
        (None, ["--time", "visit"], "column 'visit' tells no times"),
        (None, ["--classes", "a,b,c"], "none of the classes; declare it too"),
        (None, ["--classes", "any"], "labels that come late are for classes that are told beforehand"),
        (None, ["--predictions", "LABELS"], "labels.csv"),
    ],
)
def test_what_cannot_be_joined_is_refused_in_one_sentence(
    clicks: Clicks,
    change: tuple[str, str, str] | None,
    further: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if change is not None:
        path = clicks.labels if change[0] == "labels" else clicks.rows
        path.write_text(path.read_text().replace(change[1], change[2]))
    further = [str(clicks.labels) if part == "LABELS" else part for part in further]
    assert main(arguments(clicks, *further)) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_half_a_question_is_refused(clicks: Clicks, capsys: pytest.CaptureFixture[str]) -> None:
    for half in (["--labels", str(clicks.labels)], ["--key", "visit"]):
        assert main(["run", str(clicks.rows), "--label", "x", *half]) == 1
        assert "--labels FILE and --key COLUMN go together" in capsys.readouterr().err
    assert main(["run", "synthetic:logistic", "--labels", str(clicks.labels), "--key", "visit"]) == 1
    assert "has labels of its own" in capsys.readouterr().err
    assert main(["run", str(clicks.rows), "--labels", str(clicks.labels), "--key", "visit"]) == 1
    assert "say which column is the label (--label NAME); its other columns are 'when', 'clicked'" in (
        capsys.readouterr().err
    )
    assert main(["run", str(clicks.rows), "--labels", str(clicks.labels), "--key", "visit", "--time", "when"]) == 0


def test_a_saved_model_goes_on_with_labels_of_a_second_file(
    clicks: Clicks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (clicks.rows, clicks.labels):
        path.write_text(path.read_text().replace("v", "").replace("isit", "visit"))  # keys that look like numbers
    model = tmp_path / "model.aioli"
    told(capsys, clicks, "--time", "when", "--save", model)
    again = ["run", str(clicks.rows), "--labels", str(clicks.labels), "--key", "visit", "--model", str(model), "--json"]
    assert main([*again, "--label", "clicked", "--time", "when"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == ROWS


def test_compare_lets_peers_wait_for_the_labels_of_a_second_file_too(
    clicks: Clicks, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(clicks.rows), "--labels", str(clicks.labels), "--key", "visit", "--label", "clicked", "--time", "when"]
    asked = [*files, "--learner", "AIOLI(radius=1)", "--json"]
    main(["run", *asked, "--no-regret"])
    alone = json.loads(capsys.readouterr().out)
    assert main(["compare", *asked, "--peers", "sklearn"]) == 0
    together = json.loads(capsys.readouterr().out)
    losses = {name: scores["log_loss"] for name, scores in together["learners"].items()}
    assert any(abs(loss - alone["log_loss"]) < 1e-9 for loss in losses.values()), losses
    assert len(losses) > 1
    assert main(["compare", str(clicks.rows), "--key", "visit", "--label", "clicked"]) == 1
    assert "--labels FILE and --key COLUMN go together" in capsys.readouterr().err
