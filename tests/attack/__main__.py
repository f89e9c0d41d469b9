"""`make attack MINUTES=n`: certificates, data files, model files, faults and kills for so many minutes; one table.

Where it stopped is kept in a folder, so that the next attack goes on from there; what failed is kept with the seed that
makes it again. Every attempt must end within 10 s, and the whole within 1 GB.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock, Thread
from types import FrameType
from typing import Any

from aioli.errors import SnapshotRefused
from aioli.snapshots.codec import to_bytes
from attack.certificates import try_certificate
from attack.data_files import try_data
from attack.faults import KINDS
from attack.model_files import crafted_by_seed, models_to_craft_from, try_model

LONGEST = 10  # seconds that one attempt may take
COMPILING = 60  # games that call nearly every compiled function
LONGEST_CASE = 300  # seconds that a process of kills or faults may take, all of its runs together
MOST = 1 << 30  # bytes that may be resident
HERE = {"certificates": 0.56, "data files": 0.39, "model files": 0.05}  # of the time of this process
BESIDE = {"faults": 0.6, "kills": 0.4}  # of the time of another, which runs at the same time
AGAIN = {
    "certificates": "python -m attack.certificates",
    "data files": "python -m attack.data_files",
    "model files": "python -m attack.model_files",
    "faults": "python -m attack.faults",
    "kills": "python tests/commands/killing.py",
}


@dataclass
class Count:
    """How far an attack has come: the next seed, attempts and findings so far, and the seconds spent."""

    seed: int = 0
    tried: int = 0
    refused: int = 0
    seconds: float = 0.0
    found: list[str] = field(default_factory=list)


class TooLong(Exception):
    """An attempt took more than `LONGEST` seconds."""


def alarm(_signal: int, _frame: FrameType | None) -> None:
    raise TooLong(f"took more than {LONGEST} s")


class Attack:
    """Plays the attacks in turn, each for its share of the time, and remembers how far each has come."""

    def __init__(self, state: Path, place: Path) -> None:
        self.state, self.place = state, place
        kept = json.loads(state.read_text()) if state.exists() else {}
        self.counts = {name: Count(**kept.get(name, {})) for name in (*HERE, *BESIDE)}
        self.models = models_to_craft_from(place)
        self.every = 0  # faults that there are
        self._writing = Lock()
        self.attempts: dict[str, Callable[[int], int]] = {
            "certificates": self._certificate,
            "data files": self._data,
            "model files": self._model,
            "faults": self._fault,
            "kills": self._kills,
        }

    def go_on(self, seconds: float) -> None:
        """Attack for so many seconds: faults and kills, which are processes of their own, beside all others."""
        for seed in range(COMPILING):  # without a limit: what is compiled for the first time takes long
            with suppress(Exception):  # which will be told when its turn comes
                try_certificate(seed)
        end = time.monotonic() + seconds
        beside = Thread(target=self._in_turn, args=(BESIDE, end))
        beside.start()
        self._in_turn(HERE, end)
        beside.join()
        self._keep()

    def _in_turn(self, shares: dict[str, float], end: float) -> None:
        """Attack until then: whichever attack is furthest behind its share comes next."""
        spent = dict.fromkeys(shares, 0.0)
        while time.monotonic() < end:
            name = min(shares, key=lambda name: spent[name] / shares[name])
            begun = time.monotonic()
            while time.monotonic() - begun < 2.0:
                self._try(name)
            spent[name] += time.monotonic() - begun
            self.counts[name].seconds += time.monotonic() - begun
            self._keep()

    def _keep(self) -> None:
        with self._writing:
            self.state.write_text(json.dumps({name: asdict(count) for name, count in self.counts.items()}, indent=1))

    def _try(self, name: str) -> None:
        count = self.counts[name]
        seed, count.seed = count.seed, count.seed + 1
        if name in HERE:
            signal.alarm(LONGEST)
        try:
            count.tried += self.attempts[name](seed)
        except Exception as error:
            count.tried += 1
            count.found.append(f"{AGAIN[name]} {seed}: {type(error).__name__}: {str(error)[:300]}")
        finally:
            if name in HERE:
                signal.alarm(0)

    def _certificate(self, seed: int) -> int:
        verdict = try_certificate(seed)
        self.counts["certificates"].refused += bool(verdict.refused)
        if not verdict.holds:
            raise AssertionError(str(verdict))
        return 1

    def _data(self, seed: int) -> int:
        try_data(seed, self.place)
        return 1

    def _model(self, seed: int) -> int:
        _, made = crafted_by_seed(seed, self.models)
        try:
            to_bytes(made)
        except SnapshotRefused:
            return 0
        fate = try_model(made, self.place)
        self.counts["model files"].refused += fate.status[0] == 1
        if not fate.holds:
            raise AssertionError(fate.said[-300:])
        return 1

    def _fault(self, seed: int) -> int:
        """Spoil the next twelve calls and ways, in processes of their own; after the last, begin again."""
        told = self._told("-m", "attack.faults", str(12 * seed), "--count", "12")
        self.every = int(told["every"])
        if told["broken"]:
            raise AssertionError(str(told["broken"])[:1000])
        return 12

    def _told(self, *arguments: str) -> dict[str, Any]:
        """Return what a script tells in its last line."""
        command = [sys.executable, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST_CASE)
        if not done.stdout.strip():
            raise AssertionError(done.stderr[-300:])
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told

    def _kills(self, seed: int) -> int:
        """Kill and resume runs of one kind; return how often."""
        learner, count = ("Auto", 1200) if seed % 8 == 7 else ("AIOLI", 3000)  # a row of Auto's takes much longer
        rows = self.place / f"kills{count}.csv"
        if not rows.exists():
            lines = (f"{t % 7}.5,{t % 5},{'yes' if (t * 7919) % 11 > 4 else 'no'}" for t in range(count))
            rows.write_text("x,z,y\n" + "\n".join(lines) + "\n")
        runs = self.place / "kills"
        runs.mkdir(exist_ok=True)
        late = [[], ["--delay", "300"], ["--batch", "700"]][seed % 3]
        ending = [".csv", ".jsonl"][seed // 2 % 2]
        case: dict[str, object] = {
            "folder": str(runs),
            "arguments": [str(rows), "--label", "y", "--learner", learner, *late],
            "block": 1 << (11 if learner == "Auto" else 12),
        }
        case |= {"ending": ending, "seed": seed, "times": 8 if learner == "AIOLI" else 3, "most": 4, "stages": []}
        (self.place / "case.json").write_text(json.dumps(case))
        told = self._told(str(Path(__file__).parents[1] / "commands" / "killing.py"), str(self.place / "case.json"))
        if told["differences"] or told["identical"] != told["runs"]:
            raise AssertionError(str(told["differences"])[:300])
        return int(told["stops"])

    def table(self) -> str:
        """Return what was tried and found, a line an attack."""
        lines = [f"{'attack':<14}{'tried':>10}{'refused':>10}{'found':>8}{'minutes':>10}"]
        for name, count in self.counts.items():
            lines.append(
                f"{name:<14}{count.tried:>10,}{count.refused:>10,}{len(count.found):>8}{count.seconds / 60:>10.1f}"
            )
        if self.every:
            calls = self.every // len(KINDS)
            lines.append(f"faults: {calls} calls that write, each in {len(KINDS)} ways, are {self.every} in all")
        peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) << 10
        lines.append(f"most memory resident: {peak / 2**20:.0f} MB" + (", which is too much" if peak > MOST else ""))
        lines += [f"FOUND {what}" for count in self.counts.values() for what in count.found]
        return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--state", type=Path, default=Path("attack.json"), help="where it is kept how far it has come")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, alarm)
    with tempfile.TemporaryDirectory() as place:
        attack = Attack(given.state.resolve(), Path(place))
        try:
            attack.go_on(60.0 * given.minutes)
        except KeyboardInterrupt:
            print("interrupted; the next attack goes on from here")
        print(attack.table())
        return int(any(count.found for count in attack.counts.values()))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
