"""The command: what it prints, and what it says when it is asked for the wrong thing."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from aioli import __version__
from aioli.cli import main


def test_help_loads_nothing_that_takes_long() -> None:
    code = (
        "import sys, aioli.cli\n"
        "try:\n    aioli.cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(bool({'numba', 'matplotlib', 'pandas', 'scipy'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "demo" in found.stdout


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "usage: aioli" in capsys.readouterr().out


def test_the_version_is_the_library_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"aioli {__version__}\n"


def test_the_demo_is_commands_that_can_be_copied(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    assert main(["demo", "--folder", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "568 " in told
    assert "certificate" in told
    commands = [shlex.split(line)[2:] for line in told.splitlines() if line.startswith("$ ")]
    assert [arguments[0] for arguments in commands] == ["run", "predict"]
    probability = float(told.partition("$ ")[2].partition("$ ")[2].splitlines()[2])
    assert 0.0 < probability < 0.01  # the row that was kept apart is benign, and plainly so
    assert "it was benign" in told
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    for arguments in commands:
        assert main(arguments) == 0
    assert float(capsys.readouterr().out.splitlines()[-1]) == probability


def test_the_demo_without_its_data_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert main(["demo", "--folder", str(tmp_path)]) == 1
    assert "pip install 'aioli-online[sklearn]'" in capsys.readouterr().err


def test_the_digits_end_with_regret_below_certificate_below_theorem(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    figure = tmp_path / "digits.png"
    assert main(["demo", "--figure", str(figure)]) == 0
    told = capsys.readouterr().out
    words = told[told.index("regret ") :].split()
    numbers = [float(word) for word in words[:20] if word.lstrip("-").replace(".", "").isdigit()]
    regret, tight, certificate, theorem = numbers[:4]
    assert regret <= tight <= certificate <= theorem
    assert "1797" in told
    assert figure.stat().st_size > 10_000


@pytest.mark.parametrize("learner", ["Auto", "aioli", "OGD", "EKF"])
def test_a_synthetic_stream_is_played_and_scored(learner: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "synthetic:logistic", "--rows", "500", "--learner", learner, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 500
    assert 0.0 < found["log_loss"] < found["base_rate"]
    assert 0.5 < found["auc"] <= 1.0
    if learner == "aioli":
        assert found["regret"] <= found["certificate"]


@pytest.mark.parametrize("learner", ["Auto", "AIOLI", "FTRL"])
def test_the_adversary_answers_against_whoever_plays(learner: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "synthetic:adversary", "--rows", "300", "--learner", learner, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["log_loss"] >= 0.6931
    assert found["accuracy"] <= 0.01  # but for a tie at ½, which counts as half
    if learner == "AIOLI":
        assert found["regret"] <= found["certificate"]


def test_a_run_prints_a_table_as_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "synthetic:separable", "--rows", "100", "--learner", "AIOLI"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [int(line.split()[0]) for line in told[1:9]] == [1, 2, 4, 8, 16, 32, 64, 100]
    assert any("rows per second" in line for line in told[9:])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "clicks.csv"], "clicks.csv: there is no such file"),
        (["run", "synthetic:nobody"], "nobody"),
        (["run", "synthetic:hkl", "--learner", "Oracle"], "there is no learner called 'Oracle'; give one of AIOLI"),
        (["run", "synthetic:hkl", "--rows", "0"], "0 rows were asked for; ask for at least one"),
        (["demo", "--figure", "/nowhere/at/all.png"], "/nowhere/at/all.png"),
        (["paper", "--only", "figure9"], "figure9"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert told.startswith("aioli: ")
    assert sentence in told
    assert told.count("\n") == 1
