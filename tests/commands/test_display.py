"""What is seen of a run: a table of 1, 2, 4, 8, … rows, a line that moves on a terminal, one JSON object if asked."""

import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from command_files import write_visits

from aioli import AIOLI
from aioli.cli import main
from aioli.commands.display import RunDisplay, as_json, as_lines
from aioli.evaluate.run import Run
from aioli.evaluate.scores import LogLoss
from aioli.streams.synthetic_stream import SyntheticStream

WIPED = "\r\x1b[K"


def test_a_table_like_vowpal_wabbit_s_is_printed_as_it_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    asked = ["--label", "bought", "--learner", "AIOLI", "--scale", "--predictions", str(out)]
    assert main(["run", str(write_visits(tmp_path / "visits.csv", 1500)), *asked]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rows", "log", "loss", "since", "last", "base", "rate", "certificate"]
    cells = [line.replace(",", "").split() for line in lines[1:13]]
    rows = [int(line[0]) for line in cells]
    assert rows == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1500]
    p = np.loadtxt(out, delimiter=",", skiprows=1, usecols=1)
    y = np.loadtxt(out, delimiter=",", skiprows=1, usecols=2, dtype=str) == "yes"
    for n, line in zip(rows, cells, strict=True):
        score = LogLoss()
        score.update(p[:n], y[:n])
        assert float(line[1]) == pytest.approx(score.value, abs=0.5001e-4)  # four digits are printed
        assert line[5] == "nats"
    assert lines[13] == ""
    assert re.search(r"^ +rows  1,500$", lines[14])


def test_json_is_one_object_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(write_visits(tmp_path / "visits.csv", 50)), "--label", "bought", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rows"] == 50
    assert captured.out.count("\n") == 1
    assert captured.err == ""


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_shortest_of_files(rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("x,y\n" + "".join(f"{t}.5,{t % 2}\n" for t in range(rows)))
    status = main(["run", str(source), "--label", "y", "--json", "--report", str(tmp_path / "page.html")])
    assert status == (1 if rows == 1 else 0)  # one row has one class
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == rows
    assert (tmp_path / "page.html").exists()


def test_a_summary_without_a_word_in_json_is_null() -> None:
    assert json.loads(as_json({"auc": float("nan"), "loss": float("inf"), "rows": 3})) == {
        "auc": None,
        "loss": None,
        "rows": 3,
    }
    assert as_lines({"log_loss": float("nan"), "rows": 12345, "brier": 0.25}) == (
        "log loss  –\n    rows  12,345\n   brier  0.25"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no pseudo-terminals of POSIX")
@pytest.mark.parametrize("width", [200, 80, 40])
def test_the_line_on_a_terminal_tells_all_fits_and_is_wiped_away(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl
    import pty
    import struct
    import termios

    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    monkeypatch.setattr("aioli.commands.display.EVERY", 0.0)
    run = Run(SyntheticStream("synthetic:logistic", 5000, 0), AIOLI())
    table = io.StringIO()
    with os.fdopen(terminal, "w", encoding="utf-8") as screen:
        display = RunDisplay(run, table, screen)
        for _ in run.tables():
            display.show()
        display.end()
    run.close()
    shown = b""
    with contextlib.suppress(OSError):  # Linux says so where the other end is closed and all has been read
        while part := os.read(controller, 1 << 16):
            shown += part
    os.close(controller)
    seen = shown.decode()
    assert seen.endswith(WIPED)
    lines = [line.removesuffix("\x1b[K") for line in seen.split("\r") if line not in ("", "\x1b[K")]
    assert all(len(line) < width for line in lines)
    assert re.search(r"log loss 0\.\d{4} \(base rate 0", lines[-1])  # whatever the width
    if width > 40:
        assert re.search(r"log loss 0\.\d{4} \(base rate 0\.\d{4}\) · [\d,]+ rows", lines[-1])
    if width == 200:
        assert "━" in lines[0]
        assert lines[-1].endswith(" rows/s")
        assert "left" in seen or len(lines) == 1  # no time is left at the end
    assert table.getvalue().count("\n") == 15  # the header, 1 to 4096, and 5000


def test_what_is_no_terminal_gets_no_moving_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "synthetic:logistic", "--rows", "300", "--learner", "AIOLI"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "\x1b" not in captured.out
