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
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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

    def to_the_end(self, spoil: Callable[[], None] = lambda: None) -> None:
        """Let it go on undisturbed."""
        _, status = os.waitpid(self.start(spoil), 0)
        if status:
            raise SystemExit(f"a run ended with {status}: {self.told.read_text()}")

    def outcome(self) -> Outcome:
        """Its summary, its predictions, and whatever lies about."""
        told = json.loads(self.told.read_text())
        summary = {name: value for name, value in told.items() if name not in NOT_COMPARED}
        left = sorted(path.name for path in self.folder.rglob("*") if path.is_file())
        return summary, self.out.read_bytes(), left


def stopped_at_random(run: Run, calls: "Calls", dice: random.Random, most: int) -> tuple[int, int]:
    """How often it was killed or interrupted, and how often in the middle: when it had a checkpoint.

    A moment is a number of calls, not of seconds, so that it is the same on every machine. The first kill is between
    the first checkpoint and the end, the others are anywhere.
    """
    stops = middle = 0
    while stops < most:
        if stops == 0:
            child = run.start(killer_in_the_middle(dice.randrange(calls.in_all - calls.to_first_checkpoint)))
        else:
            sent = dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT])
            child = run.start(stopper(dice.randrange(calls.in_all), sent))
        _, status = os.waitpid(child, 0)
        if status == 0:  # what had been left to do was less than that
            return stops, middle
        if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status) != INTERRUPTED:
            raise SystemExit(f"a run ended with {status}: {run.told.read_text()}")
        stops += 1
        middle += (run.kept / "run.aioli").exists()
    run.to_the_end()
    return stops, middle


class Calls(NamedTuple):
    """How many calls and returns an undisturbed run has before its first checkpoint, and before it removes the last."""

    to_first_checkpoint: int
    in_all: int


def count_calls(run: Run, told: Path) -> Calls:
    """Let it go to its end, and count."""

    def spoil() -> None:
        counted, kept = [0], [0]

        def first_checkpoint() -> None:
            kept[0] = kept[0] or counted[0]

        def count(*_: object) -> None:
            counted[0] += 1

        surround("aioli.store.checkpoints", "Checkpoints.keep", after=first_checkpoint)
        surround(
            "aioli.store.checkpoints",
            "Checkpoints.remove",
            before=lambda: told.write_text(json.dumps([kept[0], counted[0]])),
        )
        sys.setprofile(count)

    run.to_the_end(spoil)
    return Calls(*json.loads(told.read_text()))


def stopper(call: int, sent: signal.Signals) -> Callable[[], None]:
    """Has the process stop itself when Python calls a function, or returns from one, after so many such events."""

    def spoil() -> None:
        left = [call]

        def count(*_: object) -> None:
            left[0] -= 1
            if left[0] == -1:
                os.kill(os.getpid(), sent)

        sys.setprofile(count)

    return spoil


def killer_in_the_middle(call: int) -> Callable[[], None]:
    """Has the process kill itself so many calls after its first checkpoint, and at the latest when it removes it."""

    def spoil() -> None:
        begin = stopper(call, signal.SIGKILL)
        begun: list[bool] = []

        def first_checkpoint() -> None:
            if not begun:
                begun.append(True)
                begin()

        surround("aioli.store.checkpoints", "Checkpoints.keep", after=first_checkpoint)
        surround("aioli.store.checkpoints", "Checkpoints.remove", before=kill_this_process)

    return spoil


def kill_this_process() -> None:
    """Die, as nothing can be done about."""
    os.kill(os.getpid(), signal.SIGKILL)


def nothing() -> None:
    """Do nothing."""


def surround(
    home: str, name: str, before: Callable[[], object] = nothing, after: Callable[[], object] = nothing
) -> None:
    """Have something done before and after each call of a function, in this process."""
    owner: Any = importlib.import_module(home)
    *classes, attribute = name.split(".")
    for part in classes:
        owner = getattr(owner, part)
    real = getattr(owner, attribute)

    def surrounded(*arguments: Any, **named: Any) -> Any:
        before()
        result = real(*arguments, **named)
        after()
        return result

    setattr(owner, attribute, surrounded)


def killer(home: str, name: str, call: int, afterwards: bool) -> Callable[[], None]:
    """Has the process kill itself before or after a certain call of a function."""

    def spoil() -> None:
        calls = [0]

        def count() -> None:
            calls[0] += 1
            if calls[0] == call:
                kill_this_process()

        surround(home, name, after=count) if afterwards else surround(home, name, before=count)

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
    columns: Any = importlib.import_module("aioli.streams.files.arrow_pieces")
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
    warm.to_the_end()
    expected = warm.outcome()
    calls = count_calls(Run(folder / "warm", arguments, ending), folder / "calls.json")
    dice = random.Random(case["seed"])
    told: dict[str, Any] = {
        "runs": 0,
        "identical": 0,
        "stops": 0,
        "middle": 0,
        "staged": 0,
        "differences": [],
    }
    for _ in range(case["times"]):
        run = Run(folder / "run", arguments, ending)
        stops, middle = stopped_at_random(run, calls, dice, case["most"])
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
