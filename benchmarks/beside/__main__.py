"""Times the working tree beside an earlier commit: two processes take turns, A B B A, in one run."""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.beside.workloads import WORKLOADS, write_rows
from benchmarks.sources import environment, sources_of, sources_of_working_tree
from benchmarks.table import Table, as_text

LEAST_TURNS, MOST_TURNS = 10, 40  # of each side; even numbers, so that both have gone first equally often
SHORTEST = 0.04  # seconds of a turn: a shorter workload is run several times
LONGEST = 6.0  # seconds of one workload, from which no turns are added: all of them in a few minutes
SLOWER = 1.05

Vector = NDArray[np.float64]
Turn = dict[str, float]
Ask = Callable[[str, int], Turn]


class Worker:
    """A process that has loaded one version of the package, and times workloads when asked."""

    def __init__(self, src: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "benchmarks.beside.worker"],
            cwd=folder,
            env=environment(src),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def turn(self, workload: str, runs: int) -> Turn:
        """Run the workload so many times; returns the seconds of one, by the clock and of the processor."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"workload": workload, "runs": runs}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{workload}: the worker ended with {self._process.wait()}; what it said is above")
        return {name: seconds / runs for name, seconds in json.loads(answer).items()}

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()


@dataclass(frozen=True)
class Timed:
    """The turns of a workload, of the earlier commit and of the working tree; neighbours have the same place."""

    workload: str
    base: Sequence[Turn]
    work: Sequence[Turn]

    def times(self, name: str = "seconds") -> tuple[Vector, Vector]:
        """Take one kind of time from both sides."""
        return np.array([turn[name] for turn in self.base]), np.array([turn[name] for turn in self.work])

    def ratio(self, of: Callable[[Vector], float], name: str = "seconds") -> float:
        """Compare a statistic of the turns: above 1 the working tree is slower."""
        base, work = self.times(name)
        return float(of(work) / of(base))

    @property
    def interval(self) -> tuple[float, float]:
        """Bound the median ratio of neighbouring turns, with a probability of about 95 %, by its order statistics."""
        base, work = self.times()
        ratios = np.sort(work / base)
        n = len(ratios)
        k = max(0, math.floor(0.5 * n - 0.98 * math.sqrt(n)))
        return float(ratios[k]), float(ratios[n - 1 - k])

    @property
    def unclear(self) -> bool:
        """Whether it may be slower by more than 5 % and may as well not be."""
        low, high = self.interval
        return low < SLOWER < high

    @property
    def verdict(self) -> str:
        """Say "slower" where the medians are 5 % apart and chance would hardly do it."""
        if self.ratio(np.median) > SLOWER and self.interval[0] > 1.0:
            return "slower"
        return "unclear" if self.unclear else ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Time all workloads, print one table, and say which have become slower."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__)
    parser.add_argument("--base", required=True, metavar="REV", help="the commit to compare with")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="workloads with this in their name")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    chosen = [name for name in WORKLOADS if not options.only or any(word in name for word in options.only)]
    with _workers(options.base, chosen) as (base, work):
        timed = []
        for name in chosen:
            timed.append(_taken_in_turns(name, base.turn, work.turn))
            ratio = timed[-1].ratio(np.median)
            print(f"{len(timed)} of {len(chosen)}: {name}, {ratio:.3f}", file=sys.stderr, flush=True)
    print(as_text(_table(timed, options.base)))
    told = {kind: [each for each in timed if each.verdict == kind] for kind in ("slower", "unclear")}
    slower = ", ".join(f"{each.workload} ({each.ratio(np.median):.2f}×)" for each in told["slower"])
    unclear = "; unclear: " + ", ".join(each.workload for each in told["unclear"]) if told["unclear"] else ""
    print(f"{time.perf_counter() - begin:.0f} s. Slower by more than 5 %: {slower or 'nothing'}{unclear}.")


@contextmanager
def _workers(revision: str, workloads: Sequence[str]) -> Iterator[tuple[Worker, Worker]]:
    """Start a worker of each side, in a folder with the file that the command plays.

    Other workers compile everything before: a process that has compiled does not run quite the same code as one that
    finds everything compiled.
    """
    sources = sources_of(revision), sources_of_working_tree()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if any("aioli run" in name for name in workloads):
            write_rows(folder)
        with ThreadPoolExecutor() as both:
            list(both.map(lambda src: _compile(src, folder, workloads), sources))
        with closing(Worker(sources[0], folder)) as base, closing(Worker(sources[1], folder)) as work:
            yield base, work


def _compile(src: Path, folder: Path, workloads: Sequence[str]) -> None:
    """Run every workload once, so that workers started later find all code in the cache."""
    with closing(Worker(src, folder)) as worker:
        for name in workloads:
            worker.turn(name, 1)


def _taken_in_turns(name: str, base: Ask, work: Ask) -> Timed:
    """Ask A B, B A, A B, …, at least ten turns each, and more while it is unclear whether it is slower."""
    for ask in (base, work):
        ask(name, 1)  # loads what is compiled
    runs = max(1, math.ceil(SHORTEST / max(base(name, 1)["seconds"], 1e-6)))
    timed = Timed(name, [], [])
    theirs: list[Turn] = []
    ours: list[Turn] = []
    begin = time.perf_counter()
    while len(theirs) < LEAST_TURNS or (
        timed.unclear and len(theirs) < MOST_TURNS and time.perf_counter() - begin < LONGEST
    ):
        for first, second, a, b in ((base, work, theirs, ours), (work, base, ours, theirs)):
            a.append(first(name, runs))
            b.append(second(name, runs))
        timed = Timed(name, tuple(theirs), tuple(ours))
    return timed


def _table(timed: Sequence[Timed], base: str) -> Table:
    rows = []
    for each in timed:
        theirs, ours = each.times()
        low, high = each.interval
        rows.append(
            (
                each.workload,
                f"{1e3 * np.median(theirs):.2f}",
                f"{1e3 * np.median(ours):.2f}",
                f"{each.ratio(np.median):.3f}",
                f"{low:.3f}–{high:.3f}",
                f"{each.ratio(np.min):.3f}",
                f"{each.ratio(np.median, 'processor'):.3f}",
                str(len(theirs)),
                each.verdict,
            )
        )
    heading = ("workload", f"{base}, ms", "tree, ms", "ratio", "95 %", "minima", "processor", "turns", "")
    notes = [
        "ratio: of the medians, the working tree's over the other's; below 1 it has become faster",
        "minima: the same of the quickest turns; processor: of the time computed on all cores, which a busy machine "
        "disturbs least",
    ]
    return Table(f"The working tree beside {base}", heading, rows, notes)


if __name__ == "__main__":
    main()
