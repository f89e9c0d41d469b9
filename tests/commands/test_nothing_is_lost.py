"""A run that goes on must go on with what it had: its own files, its own predictions, the data that it had read."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from command_files import write_visits

import aioli
from aioli.cli import main

ROWS = 300


def interrupted(arguments: list[str], call: int = 20) -> None:
    """Run the command until Ctrl-C comes, in the given call of `learn_many`."""
    learn, calls = aioli.AIOLI.learn_many, [0]

    def learn_until_interrupted(self: Any, *given: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            signal.raise_signal(signal.SIGINT)
        return learn(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aioli.AIOLI, "learn_many", learn_until_interrupted)
        assert main([*arguments, "--json"]) == 130


def run_of(source: Path, kept: Path, *more: str) -> list[str]:
    return ["run", str(source), "--label", "bought", "--learner", "AIOLI", "--checkpoint", str(kept), *more]


@pytest.mark.parametrize("name", ["run.aioli", "RUN.aioli", "predictions.spool"])
@pytest.mark.parametrize("option", ["--save", "--report"])
def test_no_result_may_be_a_file_of_the_checkpoint(
    option: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, kept = write_visits(tmp_path / "visits.csv", ROWS), tmp_path / "ck"
    assert main(run_of(source, kept, option, str(kept / name))) == 1
    assert "is a file of the checkpoint itself, and would be lost with it" in capsys.readouterr().err
    kept.mkdir()
    assert main(run_of(source, kept, "--save", str(kept / "model.aioli"), "--json")) == 0  # any other name is free
    assert [path.name for path in kept.iterdir()] == ["model.aioli"]


def test_the_checkpoint_may_not_be_the_folder_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "visits"
    folder.mkdir()
    write_visits(folder / "a.csv", ROWS)
    assert main(run_of(folder, folder)) == 1
    assert "give the checkpoint a folder of its own" in capsys.readouterr().err


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(data)


def test_predictions_that_are_not_the_runs_own_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, kept = write_visits(tmp_path / "visits.csv", ROWS), tmp_path / "kept"
    arguments = run_of(source, kept, "--predictions", str(tmp_path / "p.csv"))
    interrupted(arguments)
    shutil.copytree(kept, tmp_path / "copy")
    damaged(kept / "predictions.spool")  # one bit
    assert main([*arguments, "--resume"]) == 1
    assert "the predictions of the checkpoint are not those of the run: another run's, or damaged" in (
        capsys.readouterr().err
    )
    other = write_visits(tmp_path / "other.csv", ROWS, seed=1)
    theirs = tmp_path / "theirs"
    interrupted(run_of(other, theirs, "--predictions", str(tmp_path / "q.csv")))
    shutil.copy(theirs / "predictions.spool", kept / "predictions.spool")
    assert main([*arguments, "--resume"]) == 1
    shutil.copy(tmp_path / "copy" / "predictions.spool", kept / "predictions.spool")
    assert main([*arguments, "--resume", "--json"]) == 0


def edited(path: Path) -> None:
    """Give the first buyer the other label, in as many bytes."""
    path.write_bytes(path.read_bytes().replace(b"yes", b"no ", 1))


CHANGES = {
    "edited": (edited, "has changed|was written again since"),
    "cut short": (lambda file: file.write_bytes(file.read_bytes()[:-100]), "bytes, and now has"),
    "touched": (lambda file: os.utime(file, ns=(1, 1)), r"was written again since; if it is the same.*touch -d @"),
    "deleted": (lambda file: file.unlink(), "is gone|there is no such file|no such file"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("folder", [False, True])
def test_a_file_that_was_read_and_has_changed_since_is_refused(
    change: str, folder: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, said = CHANGES[change]
    data = tmp_path / "visits"
    data.mkdir()
    files = [write_visits(data / f"{name}.csv", ROWS, seed) for seed, name in enumerate("abc")]
    source = data if folder else files[0]
    arguments = run_of(source, tmp_path / "kept")
    interrupted(arguments, call=24)
    before = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    hidden, when = files[0].read_bytes(), files[0].stat()
    spoil(files[0])
    assert main([*arguments, "--resume"]) == 1
    told = capsys.readouterr().err
    assert re.search(said, told), told
    assert {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == before
    files[0].write_bytes(hidden)
    os.utime(files[0], ns=(when.st_atime_ns, when.st_mtime_ns))
    assert main([*arguments, "--resume", "--json"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert main([*run_of(source, tmp_path / "again"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["log_loss"] == resumed["log_loss"]


def test_a_file_that_comes_before_those_read_is_noticed_and_one_behind_them_is_welcome(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "visits"
    data.mkdir()
    write_visits(data / "b.csv", ROWS)
    arguments = run_of(data, tmp_path / "kept")
    interrupted(arguments)
    write_visits(data / "a.csv", ROWS, seed=1)
    assert main([*arguments, "--resume"]) == 1
    assert "the file 'b.csv', which the run had read, is gone, and 'a.csv' is in its place" in capsys.readouterr().err
    (data / "a.csv").rename(data / "c.csv")
    assert main([*arguments, "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 2 * ROWS
