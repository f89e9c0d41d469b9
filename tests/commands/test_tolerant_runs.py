"""Runs that go on: rows that cannot be read, rows without labels, other encodings, weights, keys."""

import csv
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aioli import AIOLI
from aioli.cli import main
from aioli.streams.filestream import FileStream
from aioli.streams.reading import Reading

ROWS = 60


def clean() -> list[list[str]]:
    rng = np.random.default_rng(5)
    made = []
    for t in range(ROWS):
        x, colour = rng.normal(), ["röd", "blå"][int(rng.integers(2))]
        bought = x + (colour == "röd") + rng.logistic() > 0.5
        made.append([f"v{t}", f"{x:.4f}", colour, "ja" if bought else "nej"])
    return made


HEAD = ["visit", "x", "colour", "bought"]


def text(rows: list[list[str]], head: list[str] = HEAD) -> str:
    return "".join(",".join(row) + "\n" for row in [head, *rows])


def run(capsys: pytest.CaptureFixture[str], source: Path, *options: object) -> dict[str, Any]:
    asked = ["run", str(source), "--label", "bought", "--positive", "ja", "--learner", "AIOLI", "--json"]
    assert main([*asked, *map(str, options)]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def predictions(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_bad_rows_are_skipped_counted_and_the_first_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, good, bad = clean(), tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(text(rows))
    spoiled = [*rows[:10], ["v10", "1"], *rows[10:30], ["a", "b", "c", "d", "e"], *rows[30:], ['"open', "1"]]
    bad.write_text(text(spoiled) + "v9\n")
    out, other = tmp_path / "good.out.csv", tmp_path / "bad.out.csv"
    expected = run(capsys, good, "--predictions", out)
    found = run(capsys, bad, "--predictions", other, "--on-error", "skip")
    assert found["log_loss"] == expected["log_loss"]
    assert other.read_text() == out.read_text()
    assert found["skipped"].startswith(f"4 rows ({bad}, line 12: has 2 cells, but there are 4 columns; {bad}, line 33")
    assert main(["run", str(bad), "--label", "bought", "--learner", "AIOLI"]) == 1
    assert "line 12: has 2 cells" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "bad"),
    [
        ("a.jsonl", '{"x": 1, "bought": "ja"}\n{"x": \n[1]\n{"x": [2]}\n{"x": 0, "bought": "nej"}\n{\n', 4),
        ("a.svm", "1 1:2\n-1 1:x\none 1:1\n-1 1:3 2:1\n1\n1 2\n", 3),
        ("a.vw", "1 | x\n-1 | x:y\nno bar\n-1 | z:1\n1 | x:inf\n", 3),
        ("a.csv", "x,bought\n1,ja\n\xc3\xa4,nej\n\xff,nej\n2,nej\n", 1),
    ],
)
def test_every_format_skips_what_it_would_refuse(name: str, content: str, bad: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    reading = Reading(label=None if name.endswith(("svm", "vw")) else "bought", classes="more", on_error="skip")
    with FileStream(str(path), reading) as stream:
        batches = list(stream)
        assert sum(len(batch.y) for batch in batches if batch.y is not None) >= 2
        assert stream.skipped.count == bad
        assert all(name in said for said in stream.skipped.first)


def test_a_third_label_and_a_row_that_the_learner_refuses_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, good, bad = clean(), tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(text(rows))
    bad.write_text(text([*rows[:20], ["v", "1", "blå", "kanske"], ["v", "1e200", "blå", "ja"], *rows[20:]]))
    asked = ["run", "--label", "bought", "--classes", "two", "--learner", "AIOLI", "--skip", "visit", "--json"]
    assert main([*asked, str(good)]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main([*asked, str(bad), "--on-error", "skip"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["log_loss"] == pytest.approx(expected["log_loss"], rel=1e-9)  # in blocks of other rows
    assert found["skipped"].startswith(f"1 row ({bad}, line 22: the label is 'kanske'")
    assert f"{bad}, line 23" in found["refused"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_another_encoding_gives_the_same_probabilities(
    encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, coded = tmp_path / "plain.csv", tmp_path / "coded.csv"
    plain.write_text(text(clean()), "utf-8")
    coded.write_bytes(text(clean()).encode(encoding))
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    run(capsys, plain, "--predictions", one)
    run(capsys, coded, "--predictions", two, "--encoding", encoding)
    assert one.read_bytes() == two.read_bytes()
    if encoding == "latin-1":
        assert main(["run", str(coded), "--label", "bought", "--encoding", "klingon"]) == 1
        assert "there is no encoding of text called 'klingon'" in capsys.readouterr().err


def test_a_file_that_is_not_utf8_is_taken_for_windows_1252_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, coded = tmp_path / "plain.csv", tmp_path / "coded.csv"
    plain.write_text(text(clean()), "utf-8")
    coded.write_bytes(text(clean()).encode("cp1252"))
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    assert "encoding" not in run(capsys, plain, "--predictions", one)
    told = run(capsys, coded, "--predictions", two)
    assert told["encoding"] == "not UTF-8: taken for windows-1252; where it is another, give --encoding"
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("late", [[], ["--delay", "7"]])
def test_rows_without_labels_are_predicted_and_not_learned(
    late: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, source, out = clean(), tmp_path / "some.csv", tmp_path / "out.csv"
    hidden = {0, 7, 8, 30, ROWS - 1}
    some = [[*row[:3], "" if t in hidden else row[3]] for t, row in enumerate(rows)]
    source.write_text(text(some))
    told = run(capsys, source, "--number", "x", "--skip", "visit,colour", "--predictions", out, *late)
    assert (told["rows"], told["rows_without_label"]) == (ROWS - len(hidden), len(hidden))
    found = predictions(out)
    assert [row["label"] for row in found] == [row[3] for row in some]
    if not late:
        learner = AIOLI()
        for t, row in enumerate(rows):
            x, y = [float(row[1])], row[3] == "ja"
            said = learner.predict(x) if t in hidden else learner.learn(x, y)
            assert float(found[t]["probability"]) == pytest.approx(said, rel=1e-9)
        assert told["log_loss"] == pytest.approx(learner.loss / learner.rounds)


def test_rows_without_labels_among_many_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "some.csv", tmp_path / "out.csv"
    source.write_text("x,id,y\n1,1,a\n2,2,b\n3,3,\n4,4,c\n5,5,\n6,6,a\n")
    asked = ["run", str(source), "--label", "y", "--predictions", str(out), "--key", "id", "--learner", "AIOLI"]
    assert main(asked) == 0
    assert "rows without label  2" in capsys.readouterr().out
    found = predictions(out)
    assert [row["label"] for row in found] == ["a", "b", "", "c", "", "a"]
    assert [row["id"] for row in found] == ["1", "2", "3", "4", "5", "6"]
    assert all(float(found[4][f"p_{name}"]) > 0.0 for name in "abc")


def test_a_weight_is_what_a_row_counts_and_no_feature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, model = tmp_path / "weighted.csv", tmp_path / "m.aioli"
    rows = [[*row[:2], str(1 + t % 3), row[3]] for t, row in enumerate(clean())]
    source.write_text(text(rows, ["visit", "x", "w", "bought"]))
    told = run(capsys, source, "--weight", "w", "--skip", "visit", "--save", model)
    learner = AIOLI()
    for row in rows:
        learner.learn([float(row[1])], row[3] == "ja", float(row[2]))
    assert told["features"] == 1
    assert AIOLI.load(model).predict([-2.0]) == pytest.approx(learner.predict([-2.0]), rel=1e-9)
    new = tmp_path / "new.csv"
    new.write_text("x\n0.5\n")  # the weight is not needed to predict
    assert main(["predict", str(new), "--model", str(model)]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(learner.predict([0.5]))
    rows[5][2] = "-1"
    source.write_text(text(rows, ["visit", "x", "w", "bought"]))
    assert main(["run", str(source), "--label", "bought", "--weight", "w", "--learner", "AIOLI"]) == 1
    assert "line 7, column 'w': the weight is -1; give a number that is at least 0" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_keys_are_carried_into_the_predictions(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    source, out, model = tmp_path / "rows.csv", tmp_path / f"out{ending}", tmp_path / "m.aioli"
    rows = clean()
    source.write_text(text(rows))
    told = run(capsys, source, "--key", "visit,colour", "--predictions", out, "--save", model)
    assert told["features"] == 1  # keys are none
    again = tmp_path / f"again{ending}"
    assert (
        main(["predict", str(source), "--model", str(model), "--key", "visit", "--key", "colour", "--out", str(again)])
        == 0
    )
    for path in (out, again):
        found: list[dict[str, Any]]
        if ending == ".csv":
            found = list(predictions(path))
        elif ending == ".jsonl":
            found = [json.loads(line) for line in path.read_text().splitlines()]
        else:
            found = importlib.import_module("pyarrow.parquet").read_table(path).to_pylist()
        assert [(row["visit"], row["colour"], row["label"]) for row in found] == [(v, c, y) for v, _, c, y in rows]
