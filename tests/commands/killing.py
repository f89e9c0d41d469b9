"""Kills runs of the command again and again, lets each go on, and tells whether the outcome was the same.

A script, so that no thread of a test is forked: `python killing.py CASE.json` prints one JSON object. Runs are forks of
one process that has loaded everything, since a kill must come while rows are played, not while Python starts.
"""

import gc
import importlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHORT_BLOCK, SHORT_TABLE = 1 << 14, 512  # bytes of text, rows of Parquet: many tables, so many checkpoints
INTERRUPTED = 130
NOT_COMPARED = ("seconds", "regret_seconds", "rows_per_second", "peak_memory_mib")


Outcome = tuple[dict[str, Any], bytes, list[str]]


class Run:
    """One run of the command in a folder, to be killed and to go on."""

    def __init__(self, folder: Path, arguments: list[str], ending: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.folder = folder
        self.told, self.out, self.kept = folder / "told.json", folder / f"out{ending}", folder / "kept"
        written = ["--predictions", str(self.out), "--checkpoint", str(self.kept), "--every", "0", "--json"]
        self.arguments = ["run", *arguments, *written]

    def start(self, spoil: Callable[[], None] = lambda: None) -> int:
        """A fork that runs the command, or goes on with it."""
        sys.stdout.flush()
        child = os.fork()
        if child:
            return child
        status = 99
        try:
            os.dup2(os.open(self.told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            spoil()
            status = importlib.import_module("aioli.cli").main([*self.arguments, "--resume"])
            sys.stdout.flush()
        except KeyboardInterrupt:  # before the command has begun, or after it has ended
            status = INTERRUPTED
        finally:
            os._exit(status)

    def to_the_end(self) -> float:
        """Let it go on undisturbed; the seconds that it took."""
        begun = time.perf_counter()
        _, status = os.waitpid(self.start(), 0)
        if status:
            raise SystemExit(f"a run ended with {status}: {self.told.read_text()}")
        return time.perf_counter() - begun

    def outcome(self) -> Outcome:
        """Its summary, its predictions, and whatever lies about."""
        told = json.loads(self.told.read_text())
        summary = {name: value for name, value in told.items() if name not in NOT_COMPARED}
        left = sorted(path.name for path in self.folder.rglob("*") if path.is_file())
        return summary, self.out.read_bytes(), left


def stopped_at_random(run: Run, longest: float, dice: random.Random, most: int) -> tuple[int, int]:
    """How often it was killed or interrupted, and how often in the middle: when it had a checkpoint."""
    stops = middle = 0
    while stops < most:
        child = run.start()
        time.sleep(dice.uniform(0.0, longest))
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            os.kill(child, dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
            _, status = os.waitpid(child, 0)
        if status == 0:
            return stops, middle
        if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status) != INTERRUPTED:
            raise SystemExit(f"a run ended with {status}: {run.told.read_text()}")
        stops += 1
        middle += (run.kept / "run.aioli").exists()
    run.to_the_end()
    return stops, middle


def killer(home: str, name: str, call: int, afterwards: bool) -> Callable[[], None]:
    """Has the process kill itself before or after a certain call of a function."""

    def spoil() -> None:
        owner: Any = importlib.import_module(home)
        *classes, attribute = name.split(".")
        for part in classes:
            owner = getattr(owner, part)
        real, calls = getattr(owner, attribute), [0]

        def deadly(*arguments: Any, **named: Any) -> Any:
            calls[0] += 1
            if calls[0] == call and not afterwards:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **named)
            if calls[0] == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(owner, attribute, deadly)

    return spoil


def compare(differences: list[str], found: Outcome, expected: Outcome) -> None:
    """Say what differs."""
    for name, value in expected[0].items():
        if found[0].get(name) != value:
            differences.append(f"{name} is {found[0].get(name)}, not {value}")
    if found[1] != expected[1]:
        differences.append("the predictions differ")
    if found[2] != expected[2]:
        differences.append(f"the files are {found[2]}, not {expected[2]}")


def main(case: dict[str, Any]) -> dict[str, Any]:
    """Play a case."""
    text: Any = importlib.import_module("aioli.streams.files.byte_window")
    columns: Any = importlib.import_module("aioli.streams.files.arrow")
    text.BLOCK, columns.ROWS = case.get("block", SHORT_BLOCK), SHORT_TABLE
    blocks: Any = importlib.import_module("aioli.streams.blocks")
    blocks.ROWS = SHORT_TABLE
    for module in ("pyarrow.parquet", "aioli.cli", "aioli.commands.run"):
        importlib.import_module(module)
    folder = Path(case["folder"])
    arguments, ending = case["arguments"], case["ending"]
    importlib.import_module("aioli.cli").main(Run(folder / "warm", arguments, ending).arguments)
    gc.freeze()  # or every fork would copy what it collects
    warm = Run(folder / "warm", arguments, ending)
    longest = min(warm.to_the_end(), warm.to_the_end())
    expected = warm.outcome()
    dice = random.Random(case["seed"])
    told: dict[str, Any] = {
        "longest": longest,
        "runs": 0,
        "identical": 0,
        "stops": 0,
        "middle": 0,
        "staged": 0,
        "differences": [],
    }
    for _ in range(case["times"]):
        run = Run(folder / "run", arguments, ending)
        stops, middle = stopped_at_random(run, longest, dice, case["most"])
        told["stops"] += stops
        told["middle"] += middle
        told["runs"] += 1
        told["identical"] += run.outcome() == expected
        compare(told["differences"], run.outcome(), expected)
    for home, name, call, afterwards in case["stages"]:
        run = Run(folder / "run", arguments, ending)
        _, status = os.waitpid(run.start(killer(home, name, call, afterwards)), 0)
        told["staged"] += os.WIFSIGNALED(status)
        run.to_the_end()
        told["runs"] += 1
        told["identical"] += run.outcome() == expected
        compare(told["differences"], run.outcome(), expected)
    return told


if __name__ == "__main__":
    print("\n" + json.dumps(main(json.loads(Path(sys.argv[1]).read_text()))))
