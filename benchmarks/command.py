"""`aioli run` over a CSV file, end to end, beside Vowpal Wabbit's command line over the same rows as its own text."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.table import Table, as_markdown, as_text
from benchmarks.timing import Spread

__all__ = ["main"]

WIDTH = 10
BLOCK = 100_000
VOWPAL = [sys.executable, "-m", "vowpalwabbit", "--loss_function", "logistic", "--link", "logistic", "--quiet", "-d"]
RUN = [sys.executable, "-m", "aioli", "run"]
FAST_AUTO = 'Auto(budget="fast")'
GOALS = {"AIOLI": 2.5, FAST_AUTO: 1.0 / 1.5}  # times Vowpal Wabbit's speed


@dataclass(frozen=True)
class Finished:
    """A process that has ended: its wall time, its processor time, the most memory it held, and what it printed."""

    seconds: float
    processor: float
    mebibytes: float
    printed: str


def main() -> None:
    """Write the rows once in both forms, let the three take turns, and compare neighbouring runs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, metavar="N", help="default: five million")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="turns that count (default: 5)")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the table as Markdown too")
    options = parser.parse_args()
    if importlib.util.find_spec("vowpalwabbit") is None:
        raise SystemExit("Vowpal Wabbit is missing: pip install 'aioli-online[bench]'")
    with tempfile.TemporaryDirectory() as folder:
        table, text = Path(folder) / "rows.csv", Path(folder) / "rows.vw"
        write_rows(options.rows, table, text)
        commands = {
            "Vowpal Wabbit": [*VOWPAL, str(text)],
            "AIOLI": [*RUN, str(table), "--label", "y", "--learner", "AIOLI", "--json"],
            FAST_AUTO: [*RUN, str(table), "--label", "y", "--learner", FAST_AUTO, "--json"],
        }
        turns: dict[str, list[Finished]] = {name: [] for name in commands}
        for turn in range(options.repeats + 1):
            for name, command in commands.items():
                ended = finished(command)
                if turn:  # the first fills the caches of the disk and of compiled code
                    turns[name].append(ended)
    found = compared(turns, options.rows)
    print(as_text(found))
    if options.out is not None:
        options.out.write_text(as_markdown(found))


def write_rows(rows: int, table: Path, text: Path) -> None:
    """Normal columns and logistic labels, as CSV and as Vowpal Wabbit's text, six digits each."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=WIDTH)
    with table.open("w") as csv, text.open("w") as vw:
        csv.write(",".join(f"x{i}" for i in range(WIDTH)) + ",y\n")
        for first in range(0, rows, BLOCK):
            X = rng.normal(size=(min(BLOCK, rows - first), WIDTH))
            y = X @ theta + rng.logistic(size=len(X)) > 0
            for x, label in zip(X.tolist(), y.tolist(), strict=True):
                cells = [f"{value:.6g}" for value in x]
                csv.write(",".join(cells) + (",1\n" if label else ",0\n"))
                named = " ".join(f"x{i}:{cell}" for i, cell in enumerate(cells))
                vw.write(f"{'1' if label else '-1'} | {named}\n")


def finished(command: Sequence[str]) -> Finished:
    """Run a command to its end."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed")
    return Finished(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed)


def compared(turns: dict[str, list[Finished]], rows: int) -> Table:
    """One line a command; ratios are of neighbouring runs."""
    theirs = np.array([ended.seconds for ended in turns["Vowpal Wabbit"]])
    lines = []
    for name, ended in turns.items():
        ours = np.array([run.seconds for run in ended])
        ratio = Spread.of(theirs / ours)
        goal = GOALS.get(name)
        lines.append(
            (
                name,
                f"{np.median(ours):.2f}",
                f"{np.median([run.processor for run in ended]):.2f}",
                f"{np.median(ours) / rows * 1e6:.3f}",
                f"{max(run.mebibytes for run in ended):.0f}",
                "" if goal is None else f"{ratio.median:.2f}× ({ratio.low:.2f}–{ratio.high:.2f})",
                "" if goal is None else f"≥ {goal:.2f}×",
                "" if goal is None else "met" if ratio.median >= goal else "missed",
                "–" if goal is None else f"{json.loads(ended[-1].printed)['log_loss']:.5f}",
            )
        )
    heading = ("command", "s", "CPU s", "µs/row", "peak MiB", "Vowpal Wabbit's time / ours", "goal", "met?", "log loss")
    title = f"The command over {rows:,} rows of {WIDTH} numbers"
    cores = (
        f"{os.cpu_count()} cores; wall time of whole processes, start included; Vowpal Wabbit reads text made for it"
    )
    return Table(title, heading, lines, [cores])


if __name__ == "__main__":
    main()
