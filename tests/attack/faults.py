"""Faults under every write: `python -m attack.faults` makes each call that writes fail once, in turn, in every way.

A run with checkpoint, predictions, model and page is played in forks of one process. Under the modules that write lies
a shim over `os`: the n-th call fails (no space, an input/output error), is cut short, is interrupted, or the process is
killed before or after it. Afterwards every result must be the old one or the new one; an exit of 0 must mean the new;
and a run that is resumed must end as one that was left alone, with nothing left behind.
"""

import argparse
import contextlib
import errno
import gc
import importlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aioli.errors import SnapshotRefused
from aioli.snapshots.codec import from_bytes

__all__ = ["KINDS", "Faults"]

CALLS = ("open", "write", "fsync", "replace", "ftruncate", "chmod")
WRITERS = ("aioli.snapshots.whole_files", "aioli.store.appended_file")
KINDS = ("no space", "input/output error", "short write", "interrupted", "killed before", "killed after")
KILLED = -signal.SIGKILL
ROWS = 1200


class Shim:
    """Stands for the module `os` in the modules that write: counts their calls, and spoils one of them."""

    def __init__(self, nth: int, kind: str) -> None:
        self.nth, self.kind, self.calls = nth, kind, 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._spoilt(name, real) if name in CALLS else real

    def _spoilt(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls != self.nth:
                return real(*arguments, **named)
            if self.kind == "killed before":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.kind == "short write" and name == "write":
                return real(arguments[0], bytes(arguments[1])[: max(1, len(arguments[1]) // 2)])
            if self.kind == "interrupted" and name == "write":
                raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
            if self.kind in ("no space", "input/output error"):
                if name == "write" and len(arguments[1]) > 1:
                    real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])  # half, and then no more
                code = errno.ENOSPC if self.kind == "no space" else errno.EIO
                raise OSError(code, os.strerror(code))
            result = real(*arguments, **named)
            if self.kind == "killed after":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call


class Faults:
    """Plays the run with one fault, and says what promise it broke; nothing where it broke none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source = folder / "rows.csv"
        lines = (
            f"{t % 7}.5,{'red' if t % 3 else 'blue'},{'yes' if (t * 7919) % 11 > 4 else 'no'}" for t in range(ROWS)
        )
        source.write_text("x,colour,y\n" + "\n".join(lines) + "\n")
        blocks: Any = importlib.import_module("aioli.streams.blocks")
        blocks.ROWS = 500
        self.place = folder / "place"
        self.arguments = ["run", str(source), "--label", "y", "--learner", "AIOLI", "--every", "0", "--json"]
        for option, name in (
            ("--checkpoint", "kept"),
            ("--predictions", "p.csv"),
            ("--save", "model"),
            ("--report", "page.html"),
        ):
            self.arguments += [option, str(self.place / name)]
        self._fresh()
        with contextlib.redirect_stdout(io.StringIO()):  # in this process, so that every fork has all loaded
            importlib.import_module("aioli.cli").main(self.arguments)
        gc.freeze()  # or every fork would copy what it collects
        self._fresh()
        if self._run() != 0:
            raise SystemExit((self.folder / "err").read_text())
        self.new = self._results()
        self._fresh()
        self.old = self._results()
        self._run(count=True)
        self.calls = int((self.folder / "calls").read_text())

    def _fresh(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        for name in ("p.csv", "model", "page.html"):
            (self.place / name).write_text(f"the old {name}")

    def _results(self) -> dict[str, bytes]:
        found = {name: (self.place / name).read_bytes() for name in ("p.csv", "model", "page.html")}
        if found["page.html"].endswith(b"</html>\n") or found["page.html"].rstrip().endswith(b"</html>"):
            found["page.html"] = b"a whole page"  # it tells how long the run took
        return found

    def _run(self, shim: Shim | None = None, resume: bool = False, count: bool = False) -> int:
        """Run the command in a fork; return its exit status, negative where a signal ended it."""
        child = os.fork()
        if not child:
            status = 99
            try:
                for handle, name in ((1, "out"), (2, "err")):
                    os.dup2(os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), handle)
                under = shim or Shim(0, "")
                for home in WRITERS:
                    vars(importlib.import_module(home))["os"] = under
                status = importlib.import_module("aioli.cli").main([*self.arguments, *(["--resume"] if resume else [])])
                sys.stdout.flush()
                sys.stderr.flush()
                if count:
                    (self.folder / "calls").write_text(str(under.calls))
            except BaseException as error:
                os.write(2, f"Traceback {error!r}".encode())
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    def broken_by(self, nth: int, kind: str) -> list[str]:
        """Return the promises that the run breaks where its n-th call is spoilt so."""
        self._fresh()
        status = self._run(Shim(nth, kind))
        told, broken = (self.folder / "err").read_text(), []
        for name, found in self._results().items():
            if found not in (self.old[name], self.new[name]) and not (name == "model" and self._is_a_model(found)):
                broken.append(f"{name} is neither the old one nor the new one")
            if status == 0 and found != self.new[name]:
                broken.append(f"the exit is 0, and {name} is not the new one")
        if status not in (0, 1, KILLED):
            broken.append(f"the exit is {status}")
        if "Traceback" in told or (status == 1 and told.count("\n") != 1):
            broken.append(f"said: {told}")
        if status != KILLED and (left := self._left()):
            broken.append(f"left behind: {left}")
        if self._run(resume=True) != 0:
            broken.append(f"it cannot be resumed: {(self.folder / 'err').read_text()}")
        elif self._results() != self.new:
            broken.append("resumed, it ends otherwise")
        if left := self._left() + [path.name for path in (self.place / "kept").iterdir()]:
            broken.append(f"left behind in the end: {left}")
        return broken

    def _is_a_model(self, found: bytes) -> bool:
        """Return whether these bytes are a whole model: a run that fails keeps what it has learned so far."""
        try:
            return from_bytes(found).kind == "AIOLI"
        except SnapshotRefused:
            return False

    def _left(self) -> list[str]:
        return [path.name for path in self.place.rglob("*.part")]


def main() -> int:
    """Try `count` of the faults from the one numbered `first` on, in steps of `step`; print what came of them."""
    parser = argparse.ArgumentParser(prog="python -m attack.faults", description=__doc__)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--count", type=int, help="default: all")
    parser.add_argument("--step", type=int, default=1)
    given = parser.parse_args()
    counts, broken = Counter[str](), []
    with tempfile.TemporaryDirectory() as place:
        faults = Faults(Path(place))
        every = faults.calls * len(KINDS)
        for number in range(given.first, given.first + given.step * (given.count or every), given.step):
            nth, kind = divmod(number % every, len(KINDS))
            counts[KINDS[kind]] += 1
            broken += [
                f"{number}: call {nth + 1}, {KINDS[kind]}: {what}" for what in faults.broken_by(nth + 1, KINDS[kind])
            ]
    print(json.dumps({"calls": faults.calls, "every": every, "tried": counts, "broken": broken}))
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
