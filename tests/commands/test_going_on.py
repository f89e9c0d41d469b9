"""Going on from a saved model with the next file, and what a saved model makes of files that are not quite right."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.cli import main

HEADER = "size,colour,bought"


def lines(first: int, count: int) -> list[str]:
    made = []
    for t in range(first, first + count):
        rng = np.random.default_rng(t)
        size, colour = round(float(rng.normal()), 3), "rgb"[int(rng.integers(3))]
        likely = 0.9 if (size > 0) == (colour != "b") else 0.1
        made.append(f"{size},{colour},{'yes' if rng.random() < likely else 'no'}")
    return made


def write(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def probabilities(path: Path) -> list[float]:
    return [float(line.split(",")[1]) for line in path.read_text().splitlines()[1:]]


def test_a_run_goes_on_from_a_saved_model_as_if_the_files_were_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learner = "AIOLI"
    monday, tuesday = write(tmp_path / "monday.csv", lines(0, 300)), write(tmp_path / "tuesday.csv", lines(300, 200))
    both = write(tmp_path / "both.csv", lines(0, 500))
    model, out, whole = tmp_path / "monday.aioli", tmp_path / "out.csv", tmp_path / "whole.csv"
    first = told(capsys, "run", monday, "--label", "bought", "--learner", learner, "--save", model)
    assert "rows_before" not in first
    second = told(capsys, "run", tuesday, "--model", model, "--predictions", out, "--save", model)
    together = told(capsys, "run", both, "--label", "bought", "--learner", learner, "--predictions", whole)
    assert (second["rows"], second["rows_before"]) == (200, 300)
    assert_allclose(probabilities(out), probabilities(whole)[300:], atol=1e-9)  # other numbers of rows at a time
    assert second["log_loss_with_those"] == pytest.approx(together["log_loss"], rel=1e-9)
    assert told(capsys, "inspect", model)["rounds"] == 500


def test_auto_goes_on_with_what_it_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monday, tuesday = write(tmp_path / "monday.csv", lines(0, 300)), write(tmp_path / "tuesday.csv", lines(300, 200))
    model = tmp_path / "monday.aioli"
    told(capsys, "run", monday, "--label", "bought", "--save", model)
    fresh = told(capsys, "run", tuesday, "--label", "bought")
    wednesday = write(tmp_path / "wednesday.csv", [row.replace(",b,", ",new,") for row in lines(500, 20)])
    second = told(capsys, "run", tuesday, "--model", model, "--save", model)
    assert second["log_loss"] < fresh["log_loss"] - 0.05
    third = told(capsys, "run", wednesday, "--model", model)
    assert third["rows_before"] == 500
    assert third["categories"] == "colour 4"


def test_a_model_without_its_columns_cannot_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from aioli import AIOLI

    learner = AIOLI()
    learner.learn([1.0], 1)
    learner.save(tmp_path / "bare.aioli")
    path = write(tmp_path / "a.csv", lines(0, 5))
    assert main(["run", str(path), "--model", str(tmp_path / "bare.aioli")]) == 1
    assert "does not say from which columns it was taught" in capsys.readouterr().err


@pytest.fixture
def model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "model.aioli"
    told(capsys, "run", write(tmp_path / "taught.csv", lines(0, 300)), "--label", "bought", "--save", path)
    return path


def test_rows_whose_label_is_missing_are_predicted_and_the_others_scored(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = lines(300, 40)
    some = [row if t % 2 else row.rpartition(",")[0] + "," for t, row in enumerate(rows)]
    out, all_out = tmp_path / "some.csv", tmp_path / "all.csv"
    found = told(capsys, "predict", write(tmp_path / "new.csv", some), "--model", model, "--out", out)
    told(capsys, "predict", write(tmp_path / "full.csv", rows), "--model", model, "--out", all_out)
    assert found["rows"] == 40
    assert probabilities(out) == probabilities(all_out)
    p, y = probabilities(out)[1::2], [row.endswith("yes") for row in rows[1::2]]
    assert found["log_loss"] == pytest.approx(-np.log(np.where(y, p, 1.0 - np.array(p))).mean())


@pytest.mark.parametrize("name", ["new.jsonl", "new.csv"])
def test_a_file_of_other_columns_is_told(
    name: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text('{"Size": 1, "hue": "r"}\n' if name == "new.jsonl" else "Size,hue\n1,r\n")
    assert main(["predict", str(path), "--model", str(model)]) == 1
    said = capsys.readouterr().err
    assert ("has none of the columns" if name == "new.jsonl" else "there is no column 'size'") in said
