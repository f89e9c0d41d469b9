"""`aioli inspect`: what each kind of learner that can be saved tells of itself, in words and as JSON."""

import json
from pathlib import Path

import pytest
from command_files import write_visits

from aioli import AIOLI
from aioli.cli import main

ROWS = 120
WITH_WEIGHTS = ["AIOLI", "Auto"]
KERNELS = ["KernelAIOLI(budget=500)", "Nystrom(points=16)", "RandomFeatures(features=16)"]


@pytest.mark.parametrize("learner", [*WITH_WEIGHTS, *KERNELS, "Wide", "OnlineToBatch"])
def test_a_model_tells_what_it_knows(learner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, model = write_visits(tmp_path / "visits.csv", ROWS), str(tmp_path / "model.aioli")
    asked = ["--label", "bought", "--learner", learner, "--save", model, "--json", "--scale"]
    assert main(["run", str(source), *asked]) == 0
    run = json.loads(capsys.readouterr().out)
    assert main(["inspect", model, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    name = learner.partition("(")[0]
    assert told["learner"].startswith(name + "(")
    assert told["rounds"] == ROWS
    assert told["log_loss"] == pytest.approx(run["log_loss"], rel=1e-12)  # sums in another order
    assert told["certificate"] == run["certificate"]
    assert told["against"] == run["certificate_against"]
    assert ("every function" in told["against"]) == (learner in KERNELS)
    assert told["features"] == run["features"]
    assert (told["positive"], told["negative"]) == ("yes", "no")
    assert told["columns"] == {"x": "number", "size": "number", "colour": "category", "day": "date"}
    names = {weight["name"] for weight in told["weights"]}
    assert (names >= {"intercept", "x", "size is missing", "colour=dark 1", "day, weekday"}) == (name in WITH_WEIGHTS)
    assert (told["experts"] is not None) == (name in ("Auto", "Wide"))
    steps = {effect["name"]: effect for effect in told["effects"] or ()}
    assert (steps.keys() >= {"x", "size is missing", "colour=dark 1", "day, weekday"}) == (name in WITH_WEIGHTS)
    if name in WITH_WEIGHTS:
        assert steps["x"]["log_odds"] > 0.0  # as `write_visits` makes them
        assert steps["x"]["probability"] > told["average"]
        assert steps["colour=dark 1"]["level"]
        assert not steps["x"]["level"]

    assert main(["inspect", model]) == 0
    words = capsys.readouterr().out
    assert name in words
    assert "colour: category" in words
    assert ("± one standard deviation" in words) == (name in WITH_WEIGHTS)


@pytest.mark.parametrize("learner", ["Auto", "Wide(hashing=10)"])
def test_a_model_of_sparse_rows_is_told_and_predicts(
    learner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{t % 2} {1 + t % 3}:1 {4 + t % 2}:{1 + t % 5}\n" for t in range(60)]
    source, model = tmp_path / "rows.svm", str(tmp_path / "model.aioli")
    source.write_text("".join(lines))
    assert main(["run", str(source), "--learner", learner, "--save", model, "--json"]) == 0
    capsys.readouterr()
    assert main(["inspect", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 60
    assert main(["predict", str(source), "--model", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 60


def test_a_learner_that_was_saved_by_hand_is_told_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learner = AIOLI(radius=2.0)
    learner.learn([1.0, 2.0], 1)
    learner.save(tmp_path / "model")
    assert main(["inspect", str(tmp_path / "model"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["radius"] == 2.0
    assert told["columns"] == {}
    assert {weight["name"] for weight in told["weights"]} == {"intercept", "column 1", "column 2"}


def test_a_learner_that_has_seen_nothing_has_nothing_to_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    AIOLI().save(tmp_path / "model")
    assert main(["inspect", str(tmp_path / "model"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rounds"], told["log_loss"], told["weights"]) == (0, None, [])
    assert main(["inspect", str(tmp_path / "model")]) == 0
    assert "weights" not in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"no model at all", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "])
def test_what_is_no_model_is_refused(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model").write_bytes(content)
    for arguments in (["inspect", str(tmp_path / "model")], ["inspect", str(tmp_path)], ["inspect", "nowhere"]):
        assert main(arguments) == 1
        told = capsys.readouterr().err
        assert told.startswith("aioli: ")
        assert told.count("\n") == 1


def test_the_checkpoint_of_a_run_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, kept = tmp_path / "visits.csv", tmp_path / "kept"
    source.write_text("x,y\n1,0\n2,1\n3\n")
    assert main(["run", str(source), "--label", "y", "--checkpoint", str(kept), "--json"]) == 1
    assert main(["inspect", str(kept / "run.aioli")]) == 1
    assert "a learner of type 'Run'" in capsys.readouterr().err
