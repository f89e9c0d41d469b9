"""Whatever is wrong is told in one sentence that says where; nothing is half-written, and what was learned is kept."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_files import HEADER, visits, write_visits

import aioli
from aioli.cli import main
from aioli.commands import summary
from aioli.learners.protocol import Capability
from aioli.store.models import save_model

GOOD = 1500  # rows before the bad one: more than the thousand by which columns are told apart
BAD_LINE = f"line {GOOD + 2}"
OLD = "what was there before"


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of about two hundred rows, so that some have been learned when the bad one comes."""
    monkeypatch.setattr("aioli.streams.files.byte_window.BLOCK", 1 << 13)
    monkeypatch.setattr("aioli.streams.blocks.ROWS", 700)


def spoiled(folder: Path, bad: str) -> Path:
    """A file with one bad line after good ones, and good ones behind it."""
    lines = [",".join(row) for row in visits(GOOD + 50)]
    path = folder / "visits.csv"
    path.write_text("\n".join([",".join(HEADER), *lines[:GOOD], bad, *lines[GOOD:]]) + "\n")
    return path


def run(*arguments: object) -> int:
    return main(["run", *map(str, arguments), "--learner", "AIOLI"])


def sentence(capsys: pytest.CaptureFixture[str], *parts: str) -> str:
    """The one line on the standard error, which has these parts."""
    told = capsys.readouterr().err
    assert told.startswith("aioli: ")
    assert told.count("\n") == 1
    assert "Traceback" not in told
    for part in parts:
        assert part in told
    return told


@pytest.mark.parametrize(
    ("bad", "column", "cell"),
    [
        ("tall,2,red,2020-01-01,yes", "x", "tall"),
        ("1,2,red,17,yes", "day", "17"),
        ("inf,2,red,2020-01-01,yes", "x", "inf"),
    ],
)
def test_a_cell_that_cannot_be_read_stops_nothing_and_is_told(
    bad: str, column: str, cell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = spoiled(tmp_path, bad)
    assert run(source, "--label", "bought", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == GOOD + 51
    assert told["unreadable"] == f"{column} 1 (missing; the first: {source}, {BAD_LINE}, column {column!r}: {cell!r})"


@pytest.mark.parametrize(
    ("bad", "parts"),
    [
        ("1,2,red,2020-01-01,maybe", [BAD_LINE, "the label is 'maybe', besides", "join them"]),
        ("1,2,red", [BAD_LINE, "has 3 cells, but there are 5 columns", "mend the row"]),
    ],
)
def test_a_bad_row_is_named_and_what_came_before_is_kept_and_can_go_on(
    bad: str, parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = spoiled(tmp_path, bad)
    out, model, kept = tmp_path / "out.csv", tmp_path / "model.aioli", tmp_path / "kept"
    out.write_text(OLD)
    asked = [source, "--label", "bought", "--predictions", out, "--checkpoint", kept, "--every", 9, "--json"]
    asked += ["--classes", "two"] if "maybe" in bad else []  # else it is a third class
    assert run(*asked, "--save", model) == 1
    told = sentence(capsys, str(source), *parts, "rows were learned", "--resume", f"the model is in {model}")
    learned = int(told.partition(" rows were learned")[0].rpartition("(")[2].replace(",", ""))
    assert 0 < learned <= GOOD
    assert out.read_text() == OLD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "model.aioli", "out.csv", "visits.csv"]
    assert sorted(path.name for path in kept.iterdir()) == ["predictions.spool", "run.aioli"]
    assert main(["inspect", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == learned

    source.write_text(source.read_text().replace(bad + "\n", ""))  # mended, it goes on as if nothing had been
    assert run(*asked, "--resume") == 0
    after = json.loads(capsys.readouterr().out)
    assert list(kept.iterdir()) == []
    again = tmp_path / "again.csv"
    assert run(source, "--label", "bought", "--predictions", again, "--json") == 0
    undisturbed = json.loads(capsys.readouterr().out)
    assert again.read_text() == out.read_text()
    assert after["log_loss"] == undisturbed["log_loss"]
    assert after["regret"] == undisturbed["regret"]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ["is empty"]),
        (b"x,bought\n", ["has a header but no row"]),
        (b"x,y\n1,2\n", ["there is no column 'bought'", "'x', 'y'"]),
        (b"bought\nyes\nno\n", ["has no column but the label"]),
        (gzip.compress(b"x,bought\n" + b"1,yes\n2,no\n" * 2000, mtime=0)[:60], ["gzip", "broken or cut short"]),
        (b"\xff\xfex\x00", ["UTF-16"]),
    ],
)
def test_a_file_that_cannot_be_played_leaves_nothing(
    content: bytes, parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "visits.csv"
    source.write_bytes(content)
    wanted = ["--predictions", tmp_path / "out.csv", "--save", tmp_path / "m", "--checkpoint", tmp_path / "kept"]
    assert run(source, "--label", "bought", *wanted, "--json") == 1
    sentence(capsys, str(source), *parts)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["kept", "visits.csv"]


def test_one_class_is_told_after_all_has_been_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "visits.csv"
    source.write_text("x,bought\n" + "1,yes\n2,yes\n" * 5)
    assert run(source, "--label", "bought", "--json", "--checkpoint", tmp_path / "kept") == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rows"] == 10
    assert "every one of the 10 rows has the label 'yes'" in captured.err
    assert list((tmp_path / "kept").iterdir()) == []


def test_nan_is_a_missing_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(spoiled(tmp_path, "nan,2,red,2020-01-01,yes"), "--label", "bought", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == GOOD + 51


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--save", "nowhere/m"], ["nowhere/m", "there is no folder"]),
        (["--save", "."], [".: is a folder; give the name of a file"]),
        (["--report", "."], ["is a folder"]),
        (["--predictions", "out.txt"], ["out.txt", ".parquet, .csv, .jsonl"]),
        (["--predictions", "nowhere/out.csv"], ["nowhere/out.csv", "there is no folder"]),
        (["--checkpoint", "visits.csv"], ["visits.csv: is a file; give a folder"]),
        (["--checkpoint", "visits.csv/kept"], ["visits.csv/kept", "not a directory"]),
        (["--resume"], ["--resume needs --checkpoint DIR"]),
        (["--learner", "AIOLI(radius=-1)"], ["radius is -1"]),
        (["--learner", "AIOLI(radius=[1])"], ["radius is [1]"]),
        (["--learner", "AIOLI(breadth=1)"], ["no parameter 'breadth'", "radius"]),
        (["--learner", "AIOLI(2)"], ["is no learner"]),
        (["--learner", "__import__('os').getcwd()"], ["is no learner"]),
        (["--columns", "-1"], ["-1", "at least 0"]),
        (["--format", "xml"], ["'xml'", "csv, tsv"]),
        (["--number", "colour"], ["column 'colour'", "was asked to be of numbers"]),
        (["--label", "9"], ["there is no column '9'"]),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_row_is_read(
    arguments: list[str],
    parts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_visits(tmp_path / "visits.csv", 20)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "visits.csv", "--label", "bought", *arguments]) == 1
    sentence(capsys, *parts)
    assert {path.name for path in tmp_path.rglob("*")} <= {"visits.csv", "kept"}


@pytest.mark.parametrize("asked", ["--save", "--checkpoint"])
def test_a_learner_that_cannot_be_saved_is_refused_before_a_row_is_read(
    asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_visits(tmp_path / "visits.csv", 20)
    monkeypatch.setattr(aioli.AIOLI, "capabilities", aioli.AIOLI.capabilities - {Capability.SAVES})
    assert run(source, "--label", "bought", "--learner", "AIOLI", asked, tmp_path / "kept") == 1
    sentence(capsys, "AIOLI cannot be saved; use Auto, or leave out --save and --checkpoint")


@pytest.mark.parametrize("learner", ["AIOLI", "Auto", "OGD"])
def test_a_row_that_the_learner_refuses_is_named_by_its_line(
    learner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = spoiled(tmp_path, "1e308,2,light 0,2020-01-01,yes")
    assert main(["run", str(source), "--label", "bought", "--json", "--learner", learner, "--skip", "day,colour"]) == 1
    told = sentence(capsys, f"{source}, {BAD_LINE}: column ", "1e+308", "rows were learned")
    assert "nothing was learned" not in told


def no_space(*_: object, **__: object) -> Any:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda patch: patch.setattr(os, "fsync", no_space), "out.csv"),
        (lambda patch: patch.setattr(summary, "write_predictions", no_space), "standard output"),
        (lambda patch: patch.setattr("aioli.store.predictions._write_csv", no_space), "out.csv"),
        (lambda patch: patch.setattr("aioli.snapshots.codec.replacing", no_space), "model.aioli"),
        (lambda patch: patch.setattr("aioli.report.page.page", no_space), "page.html"),
    ],
)
def test_a_full_disk_is_told_by_the_name_of_the_file_and_old_files_stay(
    spoil: Callable[[pytest.MonkeyPatch], None], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_visits(tmp_path / "visits.csv", 60)
    targets = [tmp_path / name for name in ("out.csv", "model.aioli", "page.html")]
    for target in targets:
        target.write_text(OLD)
    out, model, page = targets
    with pytest.MonkeyPatch.context() as patch:
        spoil(patch)
        status = run(source, "--label", "bought", "--json", "--predictions", out, "--save", model, "--report", page)
    assert status == 1
    sentence(capsys, told, "no space left on device; make room", "60 rows were learned")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["visits.csv", *(target.name for target in targets)]
    )
    assert page.read_text() == OLD


def test_a_folder_that_cannot_be_written_is_refused_before_a_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_visits(tmp_path / "visits.csv", 20)
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root, everything can be written
    for asked in ("--save", "--report"):
        assert run(source, "--label", "bought", asked, tmp_path / "out") == 1
        sentence(capsys, f"{tmp_path / 'out'}: nothing can be written in the folder {tmp_path}; give another path")


def test_a_folder_that_vanishes_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, folder = write_visits(tmp_path / "visits.csv", 60), tmp_path / "soon gone"
    folder.mkdir()

    def save_too_late(*given: Any) -> None:
        folder.rmdir()
        save_model(*given)

    monkeypatch.setattr(summary, "save_model", save_too_late)
    assert run(source, "--label", "bought", "--save", folder / "model", "--checkpoint", tmp_path / "kept") == 1
    sentence(capsys, f"{folder / 'model'}: no such file", "60 rows were learned; go on from them", "could not be saved")
    folder.mkdir()
    monkeypatch.undo()
    assert (
        run(source, "--label", "bought", "--save", folder / "model", "--checkpoint", tmp_path / "kept", "--resume") == 0
    )
    assert [path.name for path in folder.iterdir()] == ["model"]


@pytest.mark.parametrize("option", ["--save", "--predictions", "--report"])
def test_nothing_is_written_over_what_is_read(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor among files that are read together, which may be read once more at the end."""
    source = write_visits(tmp_path / "visits.csv", 20)
    before, other = source.read_bytes(), tmp_path / "link.csv"
    other.hardlink_to(source)
    for target in (source, other):
        assert run(source, "--label", "bought", option, target) == 1
        assert f"{target.name}: is what is read, and would be lost; give another path" in capsys.readouterr().err
    assert run(tmp_path, "--label", "bought", option, tmp_path / "new.csv") == 1
    assert "is in the folder that is read; give a path outside of it" in capsys.readouterr().err
    assert source.read_bytes() == before
    other.unlink()
    assert run(tmp_path, "--label", "bought", "--save", tmp_path / "model.aioli") == 0  # which no folder is read for


def test_results_do_not_overwrite_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, same = write_visits(tmp_path / "visits.csv", 20), tmp_path / "result.csv"
    assert run(source, "--label", "bought", "--save", same, "--predictions", same) == 1
    assert "result.csv: is to be written twice; give each result a path of its own" in capsys.readouterr().err
    assert main(["predict", str(source), "--model", str(same), "--out", str(source)]) == 1
    assert "is what is read, and would be lost" in capsys.readouterr().err
