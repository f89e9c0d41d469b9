"""`aioli predict`: what the loaded learner says, whatever the order of columns and rows; nothing is learned."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from command_files import HEADER, visits, write_visits
from numpy.testing import assert_array_equal

from aioli.cli import main
from aioli.store.models import load_model
from aioli.streams.file_snapshots import for_another_file
from aioli.streams.filestream import FileStream, Reading

TAUGHT, NEW = 600, 200


@pytest.fixture(params=["AIOLI", "Auto"])
def model(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """What was learned from some visits."""
    path = tmp_path / "model.aioli"
    source = write_visits(tmp_path / "taught.csv", TAUGHT)
    asked = ["--label", "bought", "--learner", request.param, "--save", str(path), "--json"]
    assert main(["run", str(source), *asked]) == 0
    capsys.readouterr()
    return path


def new_rows(columns: list[str] = HEADER, seed: int = 9) -> list[dict[str, str]]:
    rows = [dict(zip(HEADER, row, strict=True)) for row in visits(NEW, seed)]
    return [{name: row.get(name, "0") for name in columns} for row in rows]


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def predicted(path: Path, model: Path, capsys: pytest.CaptureFixture[str], *asked: str) -> list[float]:
    assert main(["predict", str(path), "--model", str(model), *asked]) == 0
    return [float(line) for line in capsys.readouterr().out.splitlines()]


def test_probabilities_are_those_of_the_loaded_learner(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rows(tmp_path / "new.csv", new_rows())
    learner, taught = load_model(model)
    assert taught is not None
    with FileStream(str(path), Reading(label="bought"), for_another_file(taught)) as stream:
        expected = np.concatenate([learner.predict_many(batch.X[:, : learner.n_features_]) for batch in stream])
    assert_array_equal(predicted(path, model, capsys), expected)


@pytest.mark.parametrize("columns", [HEADER[::-1], ["day", "unheard of", "x", "colour", "bought", "size"], HEADER[:-1]])
def test_the_order_of_columns_and_columns_that_were_never_seen_do_not_matter(
    columns: list[str], model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = predicted(write_rows(tmp_path / "new.csv", new_rows()), model, capsys)
    other = write_rows(tmp_path / "other.csv", new_rows(columns))
    assert predicted(other, model, capsys) == expected


def test_the_order_of_numbers_alone_does_not_matter(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of nothing but numbers are handed over as they are read, if and only if they are read in the same order."""
    X = rng.normal(size=(300, 3))
    rows = [{"a": str(a), "b": str(b), "c": str(c), "y": str(int(a > b))} for a, b, c in X.tolist()]
    model = tmp_path / "model.aioli"
    taught = write_rows(tmp_path / "taught.csv", rows)
    asked = ["--label", "y", "--learner", "AIOLI", "--save", str(model), "--json"]
    assert main(["run", str(taught), *asked]) == 0
    capsys.readouterr()
    turned = write_rows(tmp_path / "turned.csv", [{name: row[name] for name in "cyba"} for row in rows])
    assert predicted(turned, model, capsys) == predicted(taught, model, capsys)


def test_what_is_said_of_a_row_does_not_depend_on_the_rows_before(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missing sizes too: they are filled with what was learned, not with what comes."""
    rows = new_rows()
    assert any(row["size"] == "" for row in rows)
    forth = predicted(write_rows(tmp_path / "forth.csv", rows), model, capsys)
    back = predicted(write_rows(tmp_path / "back.csv", rows[::-1]), model, capsys)
    assert back[::-1] == forth


def test_a_category_that_was_never_seen_counts_as_none(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**row, "colour": colour} for row in new_rows()[:1] for colour in ("ultraviolet", "infrared")]
    one, other = predicted(write_rows(tmp_path / "new.csv", rows), model, capsys)
    assert one == other


def test_a_missing_column_is_refused(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_rows(tmp_path / "new.csv", new_rows(["x", "size", "day"]))
    out = tmp_path / "out.csv"
    assert main(["predict", str(path), "--model", str(model), "--out", str(out)]) == 1
    told = capsys.readouterr().err
    assert f"{path}: there is no column 'colour'" in told
    assert told.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_where_there_are_labels_the_probabilities_are_scored(
    ending: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write_rows(tmp_path / "new.csv", new_rows()), tmp_path / f"out{ending}"
    assert main(["predict", str(path), "--model", str(model), "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == NEW
    assert told["log_loss"] > 0.0
    assert told["auc"] > 0.6
    if ending == ".csv":
        with out.open(newline="") as file:
            written = list(csv.DictReader(file))
        assert [row["label"] for row in written] == [row["bought"] for row in new_rows()]
        assert [float(row["probability"]) for row in written] == predicted(path, model, capsys)
    assert main(["predict", str(path), "--model", str(model), "--json", "--skip", "bought"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": NEW, "predictions": None}


def test_labels_that_are_all_missing_are_no_labels(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rows(tmp_path / "new.csv", [{**row, "bought": ""} for row in new_rows()])
    assert main(["predict", str(path), "--model", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": NEW, "predictions": None}


def test_standard_input_is_read_from_its_first_row(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rows(tmp_path / "new.csv", new_rows())
    expected = predicted(path, model, capsys)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(path.read_bytes()))))
    assert main(["predict", "-", "--model", str(model)]) == 0
    assert [float(line) for line in capsys.readouterr().out.splitlines()] == expected


@pytest.mark.parametrize(
    ("source", "sentence"),
    [("rows.vw", "is not of columns"), ("nowhere.csv", "there is no such file"), ("empty.csv", "is empty")],
)
def test_rows_of_another_kind_are_refused(
    source: str, sentence: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.vw").write_text("1 |a x:1\n")
    (tmp_path / "empty.csv").write_text("")
    assert main(["predict", str(tmp_path / source), "--model", str(model)]) == 1
    assert sentence in capsys.readouterr().err


def test_sparse_rows_are_predicted_with_labels_and_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taught.vw").write_text("1 2.0 |a x:1 y\n-1 |a z\n1 |a x\n-1 |b q:2\n" * 20)
    (tmp_path / "labelled.vw").write_text("1 |a x:1 never_seen\n-1 |b q\n")
    (tmp_path / "plain.vw").write_text("|a x:1 never_seen\n|b q\n")
    model = tmp_path / "model.aioli"
    assert main(["run", str(tmp_path / "taught.vw"), "--learner", "AIOLI", "--save", str(model), "--json"]) == 0
    capsys.readouterr()
    labelled = predicted(tmp_path / "labelled.vw", model, capsys)
    assert labelled[0] > 0.8 > 0.2 > labelled[1]
    assert predicted(tmp_path / "plain.vw", model, capsys) == labelled
    assert main(["predict", str(write_visits(tmp_path / "v.csv", 9)), "--model", str(model)]) == 1
    assert "is not of sparse features" in capsys.readouterr().err


def test_a_learner_that_was_saved_without_columns_cannot_read_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.aioli"
    assert main(["run", "synthetic:logistic", "--rows", "50", "--save", str(model), "--json"]) == 0
    assert main(["predict", str(write_visits(tmp_path / "v.csv", 9)), "--model", str(model)]) == 1
    assert "does not say from which columns it was taught" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--key", "--weight"])
def test_a_column_that_was_learned_from_is_not_set_aside(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was: every row was then predicted without it, and nothing was said."""
    source, model = tmp_path / "rows.csv", str(tmp_path / "model")
    source.write_text("shop,y\n" + "1,yes\n2,no\n" * 20)
    assert main(["run", str(source), "--label", "y", "--learner", "AIOLI", "--save", model, "--json"]) == 0
    capsys.readouterr()
    asked = ["run", str(source), "--label", "y", "--model", model] if option == "--weight" else ["predict", str(source)]
    assert main([*asked, *(["--model", model] if option == "--key" else []), option, "shop"]) == 1
    assert "the model has learned from column 'shop'" in capsys.readouterr().err
