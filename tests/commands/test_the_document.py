"""docs/command.md runs as written: every command of its blocks, in one folder, in their order."""

import gzip
import importlib
import io
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from code_blocks import blocks_for
from thoroughness import FULL

from aioli.cli import main

DOCUMENT = Path(__file__).parents[2] / "docs" / "command.md"
ERRORS = ("--classes two",)  # what the document says is an error
ROWS = 150
# `make thorough` plays these too; tests of their own play the same games
ELSEWHERE = (
    "--classes any",
    "--classes setosa",
    "--delay 500",
    "--batch 500",
    "synthetic:",
    "--key visit",
    "--on-error skip",
)


def commands() -> list[str]:
    """The lines of the blocks of shell."""
    return [line for block in blocks_for("tests/commands/test_the_document.py", DOCUMENT) for line in block.commands]


def write_files(folder: Path) -> None:
    """The files that the document speaks of, small ones."""
    rng = np.random.default_rng(0)
    x, colours = rng.normal(size=ROWS), rng.choice(["red", "blue"], ROWS)
    clicked = (x + rng.logistic(size=ROWS) > 0).astype(int)
    days = [f"2024-{1 + t // 28 % 12:02}-{1 + t % 28:02}" for t in range(ROWS)]
    rows = [f"{t},{t * 60},{days[t]},{x[t]:.3f},{colours[t]},{clicked[t]}" for t in range(ROWS)]
    head = "visit,when,day,x,colour,clicked"
    (folder / "clicks.csv").write_text("\n".join([head, *rows, ""]))
    (folder / "visits.csv").write_text(
        "\n".join([head.rpartition(",")[0], *(row.rpartition(",")[0] for row in rows), ""])
    )
    for name, part in {"day1": [head, *rows[:70]], "day2": rows[70:]}.items():
        with gzip.open(folder / f"{name}.csv.gz", "wt") as packed:
            packed.write("\n".join([*part, ""]))
    arrow: Any = importlib.import_module("pyarrow")
    table = arrow.table({"x": x, "colour": colours.tolist(), "clicked": clicked})
    importlib.import_module("pyarrow.parquet").write_table(table, folder / "clicks.parquet")
    species = ["setosa", "versicolor", "virginica"]
    flowers = [f"{k + rng.normal():.2f},{rng.normal():.2f},{species[k]}" for k in np.arange(ROWS) % 3]
    (folder / "flowers.csv").write_text("\n".join(["petal,sepal,species", *flowers, ""]))
    (folder / "new.csv").write_text("petal,sepal\n0.1,0.2\n2.2,-0.3\n")


@pytest.mark.skipif(shutil.which("zcat") is None, reason="zcat, which the document uses, is not installed")
def test_every_command_of_the_document_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    played = commands()
    assert len(played) >= 14
    for line in played:
        if not FULL and any(part in line for part in ELSEWHERE):
            continue
        before, _, asked = line.rpartition("|")
        if before:  # `tail -f` would wait for rows that nobody writes
            sent = subprocess.run(before.replace(" -f ", " "), shell=True, check=True, capture_output=True).stdout
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(sent))))
        name, *arguments = shlex.split(asked, comments=True)
        assert name == "aioli"
        status = main(arguments)
        captured = capsys.readouterr()
        assert status == (1 if any(error in line for error in ERRORS) else 0), (line, captured.err)
        if "--model" in arguments:
            assert Path("p.csv").read_text().count("\n") == 3
    for made in ("model.aioli", "p.parquet", "report.html", "page.html"):
        assert Path(made).stat().st_size > 500
