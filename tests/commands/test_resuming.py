"""Checkpoints: whose they are, what else may be asked of them, and how a run goes on in the middle of a table."""

import io
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from command_files import write_visits

import aioli
from aioli.cli import main
from aioli.evaluate.deferred_sigint import DeferredSigint
from aioli.snapshots.codec import to_bytes
from aioli.store.checkpoints import Checkpoints
from aioli.store.models import load_model
from aioli.streams.filestream import FileStream

ROWS = 400
SAME = ("rows", "log_loss", "brier", "auc", "ece", "certificate", "regret", "features")


def stopped(folder: Path, source: Path, *more: str) -> list[str]:
    """A run that has been interrupted while rows were learned; the arguments that it had."""
    kept = folder / "kept"
    arguments = ["run", str(source), "--label", "bought", "--learner", "AIOLI", "--checkpoint", str(kept), *more]
    learn, calls = aioli.AIOLI.learn_many, [0]

    def learn_until_interrupted(self: Any, *given: Any) -> Any:
        calls[0] += 1
        if calls[0] == 20:
            signal.raise_signal(signal.SIGINT)
        return learn(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aioli.AIOLI, "learn_many", learn_until_interrupted)
        assert main([*arguments, "--json"]) == 130
    return arguments


@pytest.mark.parametrize("scaled", [[], ["--scale"]])
def test_an_interrupted_run_goes_on_in_the_middle_of_a_table(
    scaled: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows in hand are learned first, so what is kept is whole; all rows are in one table here."""
    source, page = write_visits(tmp_path / "visits.csv", ROWS), tmp_path / "page.html"
    arguments = stopped(tmp_path, source, "--report", str(page), *scaled)
    told = capsys.readouterr().err
    assert told.startswith("aioli: interrupted (")
    assert "go on from them" in told
    assert main([*arguments, "--json", "--resume"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert main(["run", str(source), "--label", "bought", "--learner", "AIOLI", "--json", *scaled]) == 0
    undisturbed = json.loads(capsys.readouterr().out)
    assert {name: resumed[name] for name in SAME} == {name: undisturbed[name] for name in SAME}
    assert page.exists()


def test_a_run_that_is_stopped_again_before_its_first_row_saves_a_model_that_knows_its_columns(
    tmp_path: Path,
) -> None:
    """What the table in hand had taught of columns and labels is in the checkpoint, though the table comes again."""
    source, models = write_visits(tmp_path / "visits.csv", ROWS), (tmp_path / "first.aioli", tmp_path / "again.aioli")
    arguments = stopped(tmp_path, source, "--save", str(models[0]))

    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileStream, "tables", interrupted)
        assert main([*arguments, "--resume", "--save", str(models[1])]) == 130
    (_, first), (learner, again) = map(load_model, models)
    assert first is not None
    assert again is not None
    assert to_bytes(again) == to_bytes(first)
    assert learner.n_features_ == len(again.part("encoder").texts("features") or ())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (["--learner", "Auto"], "whose learner was 'AIOLI', not 'Auto'"),
        (["--positive", "no"], "whose positive was None, not 'no'"),
        (["--predictions", "out.csv"], "whose predictions was False, not True"),
        (["--skip", "x"], "whose skip was [], not ['x']"),
    ],
)
def test_only_the_same_run_can_go_on(
    change: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = stopped(tmp_path, write_visits(tmp_path / "visits.csv", ROWS))
    before = (tmp_path / "kept" / "run.aioli").read_bytes()
    capsys.readouterr()
    assert main([*arguments, "--resume", *change]) == 1
    assert sentence in capsys.readouterr().err
    assert main(arguments) == 1
    assert "holds the checkpoint of a run; go on with --resume, or give another folder" in capsys.readouterr().err
    assert (tmp_path / "kept" / "run.aioli").read_bytes() == before


def test_a_damaged_checkpoint_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = stopped(tmp_path, write_visits(tmp_path / "visits.csv", ROWS), "--predictions", str(tmp_path / "o.csv"))
    state, spool = tmp_path / "kept" / "run.aioli", tmp_path / "kept" / "predictions.spool"
    whole = spool.read_bytes()
    spool.write_bytes(whole[:-1])
    assert main([*arguments, "--resume"]) == 1
    assert "missing or cut short" in capsys.readouterr().err
    spool.write_bytes(whole)
    state.write_bytes(state.read_bytes()[:-9])
    assert main([*arguments, "--resume"]) == 1
    assert "run.aioli: damaged, cut short" in capsys.readouterr().err


def test_two_runs_do_not_share_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_visits(tmp_path / "visits.csv", 20)
    first = Checkpoints(str(tmp_path / "kept"), {}, resume=False)
    asked = ["run", str(source), "--label", "bought", "--json", "--checkpoint", str(tmp_path / "kept")]
    assert main(asked) == 1
    assert "another run is keeping its checkpoint here" in capsys.readouterr().err
    first.close()
    assert main(asked) == 0


def test_standard_input_goes_on_when_it_is_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_visits(tmp_path / "visits.csv", ROWS)

    def given_again() -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(source.read_bytes()))))

    given_again()
    arguments = stopped(tmp_path, Path("-"))
    given_again()
    assert main([*arguments, "--json", "--resume"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert main(["run", str(source), "--label", "bought", "--learner", "AIOLI", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["log_loss"] == resumed["log_loss"]


@pytest.mark.parametrize("name", ["visits.csv", "visits.csv.gz"])
def test_a_file_that_has_become_shorter_is_not_taken_for_one_that_was_played(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("aioli.streams.files.byte_window.BLOCK", 1 << 8)
    monkeypatch.setattr("aioli.streams.blocks.ROWS", 10)
    monkeypatch.setattr("aioli.streams.files.recognition.SAMPLE", 10)
    source = write_visits(tmp_path / name, 4 * ROWS)
    arguments = stopped(tmp_path, source)
    write_visits(source, 1)
    capsys.readouterr()
    assert main([*arguments, "--resume"]) == 1
    assert f"the file '{name}' had " in capsys.readouterr().err
    monkeypatch.setattr("aioli.store.checkpoints.check_unchanged", lambda *_: None)  # it becomes shorter a moment later
    assert main([*arguments, "--resume"]) == 1
    assert "ends before the point to go on from; is it the same file?" in capsys.readouterr().err
    assert (tmp_path / "kept" / "run.aioli").exists()


@pytest.mark.parametrize("source", ["synthetic:logistic", "synthetic:adversary"])
def test_synthetic_streams_go_on_too(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = stopped(tmp_path, Path(source), "--rows", str(ROWS))
    assert main([*arguments, "--json", "--resume"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert main(["run", source, "--rows", str(ROWS), "--learner", "AIOLI", "--json"]) == 0
    undisturbed = json.loads(capsys.readouterr().out)
    assert {name: resumed[name] for name in SAME} == {name: undisturbed[name] for name in SAME}
    assert resumed["regret"] <= resumed["certificate"]


def test_a_learner_that_refuses_a_row_keeps_those_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel's memory has an end; what came before it is whole, and so is the checkpoint."""
    source, model = write_visits(tmp_path / "visits.csv", ROWS), tmp_path / "model.aioli"
    asked = ["--label", "bought", "--learner", "KernelAIOLI(budget=50)", "--save", str(model), "--json"]
    assert main(["run", str(source), *asked, "--checkpoint", str(tmp_path / "kept")]) == 1
    told = capsys.readouterr().err
    assert "50" in told
    assert f"--resume; the model is in {model}" in told
    learned = int(told.rpartition(" rows were learned")[0].rpartition("(")[2])
    assert main(["inspect", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == learned <= 50


def ask(patience: DeferredSigint, times: int, heard: list[int]) -> None:
    with patience.busy():
        for time in range(times):
            signal.raise_signal(signal.SIGINT)
            heard.append(time)


@pytest.mark.parametrize(("times", "heard_late"), [(1, [0]), (2, [0])])
def test_an_interruption_waits_but_who_asks_twice_is_heard_at_once(times: int, heard_late: list[int]) -> None:
    heard: list[int] = []
    with DeferredSigint() as patience, pytest.raises(KeyboardInterrupt):
        ask(patience, times, heard)
    assert heard == heard_late
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
