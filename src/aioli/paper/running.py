"""The runner of experiments: plays what has not been played yet, several runs at a time, and prints the claims."""

import importlib
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from multiprocessing import get_context
from typing import TYPE_CHECKING, TextIO, TypeAlias

from aioli.numerics.threads import one_blas_thread
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.results_folder import Cells, ResultsFolder, key_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["run_experiments"]

AnyExperiment: TypeAlias = "Experiment[DataclassInstance, DataclassInstance]"

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS")


def run_experiments(out: str, names: Sequence[str], fast: bool, processes: int | None, progress: TextIO) -> None:
    """Measure, draw and print the claims of each experiment; as soon as one is done, before the next begins."""
    folder = ResultsFolder(out)
    workers = processes or os.cpu_count() or 1
    with one_blas_thread(), _pool(workers) if workers > 1 else nullcontext() as pool:
        for name in names:
            experiment = find(name)
            rows = _measure(experiment, folder, fast, pool, progress)
            claims = experiment.tell([experiment.row(**cells) for cells in rows], folder)
            folder.write(f"{name}-claims", claims)
            for claim in claims:
                print(_line(name, claim))


def find(name: str) -> AnyExperiment:
    """Return the experiment of the module of this name."""
    experiment = importlib.import_module(f"aioli.paper.{name}").EXPERIMENT
    assert isinstance(experiment, Experiment)
    return experiment


def _measure(
    experiment: AnyExperiment, folder: ResultsFolder, fast: bool, pool: ProcessPoolExecutor | None, progress: TextIO
) -> list[Cells]:
    """Return the rows of all planned runs, in the order of the plan; those that are not known yet are played."""
    plan = {key_of(run): run for run in experiment.plan(fast)}
    known = folder.finished(experiment.name)
    missing = {key: run for key, run in plan.items() if key not in known}
    counter = _Counter(experiment.name, len(plan), len(plan) - len(missing), progress)
    if pool is None or experiment.timed:
        played = _played_here(experiment.name, missing)
    else:
        played = _played_there(experiment.name, missing, pool)
    for key, rows in played:
        folder.keep(experiment.name, key, rows)
        known[key] = rows
        counter.step()
    return [cells for key in plan for cells in known[key]]


def _played_here(name: str, runs: dict[str, "DataclassInstance"]) -> Iterator[tuple[str, list[Cells]]]:
    for key, run in runs.items():
        yield key, play(name, run)


def _played_there(
    name: str, runs: dict[str, "DataclassInstance"], pool: ProcessPoolExecutor
) -> Iterator[tuple[str, list[Cells]]]:
    waiting = {pool.submit(play, name, run): key for key, run in runs.items()}
    try:
        for done in as_completed(waiting):
            yield waiting[done], done.result()
    finally:
        for future in waiting:
            future.cancel()


def play(name: str, run: "DataclassInstance") -> list[Cells]:
    """Play one run and return its rows as plain values; called in a process of its own."""
    return [asdict(row) for row in find(name).measure(run)]


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes of one thread each: with as many runs as cores, more threads would wait for each other."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            yield pool
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _line(name: str, claim: Claim) -> str:
    return f"{name:9} {'holds  ' if claim.holds else 'differs'}  {claim.says}: {claim.found}"


class _Counter:
    """A counter of finished runs: a line that counts on a terminal, a line every tenth elsewhere."""

    def __init__(self, name: str, total: int, known: int, to: TextIO) -> None:
        self.name, self.total, self.done, self.to = name, total, known, to
        self.begun = time.monotonic()
        self.live = to.isatty()
        self._show()

    def step(self) -> None:
        """Count one more run as done."""
        self.done += 1
        if self.live or self.done * 10 // self.total > (self.done - 1) * 10 // self.total:
            self._show()

    def _show(self) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.begun), 60)
        end = "\r" if self.live and self.done < self.total else "\n"
        print(
            f"{self.name:9} {self.done:4}/{self.total} runs  {minutes}:{seconds:02}", end=end, file=self.to, flush=True
        )
