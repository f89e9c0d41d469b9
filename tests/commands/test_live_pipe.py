"""A live pipe: each row is answered when it comes, before the next is sent."""

import subprocess
import sys
from typing import IO

import pytest

from aioli.cli import main

COMMAND = [sys.executable, "-m", "aioli", "run", "-", "--label", "y", "--learner", "AIOLI", "--predictions", "-"]


def test_each_row_is_answered_when_it_comes() -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("x,town,y\n")
        answers: list[str] = []
        for t in range(5):
            process.stdin.write(f"{t}.5,{'ab'[t % 2]},{['no', 'yes'][t % 2]}\n")
            if t == 0:
                assert process.stdout.readline() == "probability,label\n"
            answers.append(process.stdout.readline())
        split(process.stdin)
        answers.append(process.stdout.readline())
        rest, told = process.communicate()
        assert rest == ""
        assert "rows  6" in told
    assert answers[0] == "0.5,no\n"
    assert [line.rstrip().split(",")[1] for line in answers] == ["no", "yes", "no", "yes", "no", "yes"]
    assert all(0.0 < float(line.split(",")[0]) < 1.0 for line in answers)


def split(pipe: IO[str]) -> None:
    """Send a row in two parts."""
    pipe.write("5.5,")
    pipe.flush()
    pipe.write("b,yes\n")


def test_predictions_and_json_do_not_both_print(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "synthetic:logistic", "--predictions", "-", "--json"]) == 1
    assert "leave out one" in capsys.readouterr().err
    assert main(["run", "synthetic:logistic", "--rows", "30", "--learner", "AIOLI", "--predictions", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 31
    assert "log loss" in captured.err
