"""The command on files of more than two labels: run, predictions, models, checkpoints and the page."""

import csv
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aioli
from aioli import AIOLI, Auto, ClassAIOLI
from aioli.cli import main
from aioli.commands.findings import ball_of
from aioli.evaluate.class_hindsight import best_in_class_ball, classes_seen
from aioli.store.models import load_model
from aioli.streams.filestream import FileStream, Reading

ROWS = 240
LEARNER = "AIOLI(radius=2)"
SAME = ("rows", "log_loss", "base_rate", "accuracy", "top3", "macro_f1", "kappa", "auc", "ece", "class_ece", "by_class")


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    """Three columns and four labels, two of which come from the beginning and two later."""
    rng = np.random.default_rng(7)
    names = ["rose", "lily, white", "iris", "aster"]
    path = tmp_path / "flowers.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y", "colour", "flower"])
        for t in range(ROWS):
            k = int(rng.integers(2 if t < 60 else 3 if t < 120 else 4))
            x, y = rng.normal(k % 2), rng.normal(k // 2)
            colour = ["red", "white", "blue"][(k + int(rng.integers(2))) % 3]
            writer.writerow([f"{x:.3f}", f"{y:.3f}", colour, names[k]])
    return path


def played(source: Path, *more: str) -> list[str]:
    return ["run", str(source), "--label", "flower", "--learner", LEARNER, "--classes", "any", *more]


def summary(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_run_has_the_scores_of_its_own_predictions(
    flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "p.csv", tmp_path / "page.html"
    found = summary(played(flowers, "--predictions", str(out), "--report", str(page)), capsys)
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert found["rows"] == len(rows) == ROWS
    assert found["classes"] == 4
    losses = [-np.log(float(row[f"p_{row['label']}"])) for row in rows]
    assert found["log_loss"] == pytest.approx(np.mean(losses), rel=1e-9)
    assert found["accuracy"] == pytest.approx(np.mean([row["likeliest"] == row["label"] for row in rows]), abs=2 / ROWS)
    assert rows[0]["likeliest"] == ""  # no class had come
    assert float(rows[0]["p_aster"]) == 0.0
    assert sum(map(sum, found["confusion"])) == ROWS - 1
    assert sum(one["rows"] for one in found["by_class"].values()) == ROWS
    assert "Which class is taken for which" in page.read_text("utf-8")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_likeliest_few_are_those_of_the_wide_file(flowers: Path, tmp_path: Path, ending: str) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    wide, long = tmp_path / "wide.csv", tmp_path / f"long.{ending}"
    assert main(played(flowers, "--predictions", str(wide))) == 0
    assert main(played(flowers, "--predictions", str(long), "--top", "2")) == 0
    with wide.open(newline="", encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    ranked = sorted(((float(p), name[2:]) for name, p in last.items() if name.startswith("p_")), reverse=True)[:2]
    assert last_of(long) == [(str(ROWS), name, p, last["label"]) for p, name in ranked]


def last_of(path: Path) -> list[tuple[str, str, float, str]]:
    """The two likeliest classes of the last row, as each format has them."""
    if path.suffix == ".jsonl":
        row = json.loads(path.read_text("utf-8").splitlines()[-1])
        return [(str(row["row"]), name, p, row["label"]) for name, p in row["probabilities"].items()]
    if path.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(path).to_pylist()
    else:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return [(str(row["row"]), row["class"], float(row["probability"]), row["label"]) for row in rows[-2:]]


def test_a_saved_model_predicts_what_its_learner_does(
    flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "m.aioli", tmp_path / "p.jsonl"
    assert main(played(flowers, "--save", str(model))) == 0
    capsys.readouterr()
    arguments = ["predict", str(flowers), "--model", str(model)]
    assert main([*arguments, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    losses = [-np.log(row["probabilities"][row["label"]]) for row in rows]
    assert told["log_loss"] == pytest.approx(np.mean(losses), rel=1e-9)
    assert main(arguments) == 0
    printed = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [float(row["p_iris"]) for row in printed] == [row["probabilities"]["iris"] for row in rows]
    learner, _ = load_model(model)
    assert isinstance(learner, ClassAIOLI)
    assert type(learner).load(model).rounds == ROWS  # a learner's own file, too
    assert main(["inspect", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == [str(label) for label in learner.classes_]


def test_a_label_that_a_model_never_learned_is_refused_with_its_place(
    flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, new = tmp_path / "m.aioli", tmp_path / "new.csv"
    assert main(played(flowers, "--save", str(model))) == 0
    new.write_text("x,y,colour,flower\n1,2,red,rose\n1,2,red,tulip\n", "utf-8")
    capsys.readouterr()
    assert main(["predict", str(new), "--model", str(model)]) == 1
    assert "line 3: the label is 'tulip', which the model has never learned; drop the row" in capsys.readouterr().err


def interrupted_at(call: int, learn: Callable[..., Any]) -> Callable[..., Any]:
    """A method that learns, and is interrupted in one of its calls."""
    calls = [0]

    def learn_until_interrupted(self: Any, *given: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            signal.raise_signal(signal.SIGINT)
        return learn(self, *given)

    return learn_until_interrupted


def test_an_interrupted_run_goes_on_bit_for_bit(
    flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, again = tmp_path / "first.csv", tmp_path / "again.csv"
    whole = summary(played(flowers, "--predictions", str(first)), capsys)
    kept = played(flowers, "--predictions", str(again), "--checkpoint", str(tmp_path / "kept"))
    kind = type(aioli.AIOLI(classes="any"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "learn_many", interrupted_at(24, kind.learn_many))  # where all classes have come
        assert main([*kept, "--json"]) == 130
    capsys.readouterr()
    resumed = summary([*kept, "--resume"], capsys)
    assert {name: resumed[name] for name in SAME} == {name: whole[name] for name in SAME}
    assert first.read_bytes() == again.read_bytes()


def test_declared_classes_have_their_columns_from_the_first_row(flowers: Path, tmp_path: Path) -> None:
    out, names = tmp_path / "p.csv", "rose,iris,aster,lily"
    text = flowers.read_text("utf-8").replace("lily, white", "lily").replace('"', "")
    flowers.write_text(text, "utf-8")
    arguments = ["run", str(flowers), "--label", "flower", "--learner", LEARNER, "--classes", names]
    assert main([*arguments, "--predictions", str(out)]) == 0
    with out.open(newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert [float(row[f"p_{name}"]) for name in names.split(",")] == pytest.approx([0.25] * 4)


def test_a_learner_of_two_classes_refuses_the_third_with_its_place_and_an_alternative(
    flowers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(flowers), "--label", "flower", "--learner", "OGD"]) == 1
    told = capsys.readouterr().err
    assert "the label is 'iris', besides 'lily, white' and 'rose'; OGD is for two classes; use Auto or AIOLI" in told
    assert main(["run", str(flowers), "--label", "flower", "--learner", "OGD", "--classes", "any"]) == 1
    assert "OGD is for two classes; use Auto or AIOLI" in capsys.readouterr().err


def test_a_checkpoint_is_gone_when_the_run_is_over(flowers: Path, tmp_path: Path) -> None:
    kept, out = tmp_path / "kept", tmp_path / "p.csv"
    assert main(played(flowers, "--checkpoint", str(kept), "--predictions", str(out))) == 0
    assert not list(kept.iterdir())


def test_the_third_label_turns_a_game_of_two_into_one_of_more_and_keeps_its_scores(
    flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", str(flowers), "--label", "flower", "--learner", LEARNER]
    out, model, kept = tmp_path / "p.csv", tmp_path / "m.aioli", tmp_path / "kept"
    found = summary([*arguments, "--predictions", str(out), "--save", str(model)], capsys)
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    losses = [-np.log(float(row[f"p_{row['label']}"])) for row in rows]
    assert found["log_loss"] == pytest.approx(np.mean(losses), rel=1e-9)
    learner, _ = load_model(model)
    assert learner.loss == pytest.approx(sum(losses), rel=1e-9)
    assert learner.rounds == found["rows"] == ROWS

    third = next(t for t, row in enumerate(rows) if row["label"] not in ("rose", "lily, white"))
    two = tmp_path / "two.csv"
    two.write_text("".join(flowers.read_text("utf-8").splitlines(keepends=True)[: third + 1]), "utf-8")
    binary = tmp_path / "binary.csv"
    summary(["run", str(two), "--label", "flower", "--learner", LEARNER, "--predictions", str(binary)], capsys)
    with binary.open(newline="", encoding="utf-8") as file:
        before = [float(row["probability"]) for row in csv.DictReader(file)]
    assert [float(row["p_rose"]) for row in rows[:third]] == before  # until then it was the game of two
    assert all(float(row["p_iris"]) == 0.0 for row in rows[:third])
    assert float(rows[third]["p_rose"]) > 0.0

    again = tmp_path / "again.csv"
    stopping = [*arguments, "--predictions", str(again), "--checkpoint", str(kept)]
    for kind, call in ((aioli.AIOLI, 8), (type(learner), 5)):  # interrupted before and after the turn
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kind, "learn_many", interrupted_at(call, kind.learn_many))
            assert main([*stopping, "--json", "--resume"]) == 130
        capsys.readouterr()
    resumed = summary([*stopping, "--resume"], capsys)
    assert {name: resumed[name] for name in SAME} == {name: found[name] for name in SAME}
    assert again.read_bytes() == out.read_bytes()


def test_the_learner_that_is_taken_by_default_goes_on_when_the_third_label_comes(
    flowers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = summary(["run", str(flowers), "--label", "flower"], capsys)
    assert found["rows"] == ROWS
    assert found["classes"] == 4
    assert found["log_loss"] < found["base_rate"]


def rows_of(source: Path) -> tuple[Any, list[str]]:
    with FileStream(str(source), Reading(label="flower", classes="any")) as stream:
        (batch,) = list(stream)
    assert batch.y is not None
    assert batch.classes is not None
    return np.asarray(batch.X), [str(batch.classes[int(code)]) for code in batch.y]


@pytest.mark.parametrize("classes", ["any", "rose,aster,iris"])
def test_the_regret_is_against_the_best_softmax_in_hindsight(
    flowers: Path, tmp_path: Path, classes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tame = tmp_path / "tame.csv"
    tame.write_text(flowers.read_text(encoding="utf-8").replace('"lily, white"', "rose"), encoding="utf-8")
    found = summary(["run", str(tame), "--label", "flower", "--learner", LEARNER, "--classes", classes], capsys)
    X, labels = rows_of(tame)
    learner = ClassAIOLI(radius=2, classes="any" if classes == "any" else classes.split(","))
    learner.learn_many(X, labels)
    codes = np.array([learner.classes_.index(label) for label in labels])
    seen = classes_seen(codes) if classes == "any" else None
    best = best_in_class_ball(X, codes, 3, 2.0, seen=seen).loss
    assert found["regret"] == pytest.approx(learner.loss - best, rel=1e-6)
    assert found["regret"] <= found["certificate"]


def test_the_regret_of_auto_is_against_one_model_a_class(flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", str(flowers), "--label", "flower", "--learner", "Auto(experts=2)", "--classes", "any"]
    found = summary(asked, capsys)
    assert found["regret"] <= found["certificate"]
    again = summary([*asked, "--no-regret"], capsys)
    assert again["regret"] is None


def test_the_models_that_a_certificate_is_against_are_named_in_words() -> None:
    X, y = np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0]
    full, constant = AIOLI(classes=range(3), radius=2), Auto(classes=range(3), experts=1)
    for learner in (full, constant):
        learner.learn_many(X, y)
    assert ball_of(full, full.certificate()) == "every softmax model with ‖W‖ ≤ 2"
    assert ball_of(constant, constant.certificate()) == "constant probabilities"
    rest = AIOLI(classes=range(3), radius=2, structure="one_vs_rest")
    assert ball_of(rest, rest.certificate()).endswith("games of two classes, with ‖W‖ ≤ 2")
