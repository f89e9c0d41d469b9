"""Play streams with methods, predict then learn, in one process or several, each on one thread."""

import importlib
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from benchmarks.methods import METHODS, Method
from benchmarks.real_streams import load_stream
from benchmarks.results import Result
from benchmarks.scores import calibration_error, log_loss

__all__ = ["Task", "in_processes", "one_thread", "play_all"]

Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Task:
    """A stream to be played by a method; a peer that takes longer than its seconds is recorded as not finished."""

    folder: Path | None
    stream: str
    rows: int
    method: str
    peer_seconds: float


def play_all(tasks: Sequence[Task], processes: int) -> Iterator[Result]:
    """The results as they come; with one process, in this one and in order."""
    yield from in_processes(play, tasks, processes)


def in_processes(work: Callable[[Given], Made], tasks: Sequence[Given], processes: int) -> Iterator[Made]:
    """What is made of each task, as it comes; with one process, in this one and in order."""
    if processes == 1:
        yield from map(work, tasks)
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(work, task) for task in tasks]):
            yield done.result()


def play(task: Task) -> Result:
    """Play one stream with one method, and score it."""
    X, y = _stream(task.folder, task.stream, task.rows)
    method = METHODS[task.method]
    begin = time.perf_counter()
    p, note = None, ""
    try:
        with one_thread():
            p, note = _announced(method, X, y, begin + task.peer_seconds)
    except Exception as error:  # a method that fails is news for the table, not the end of a run of hours
        note = f"failed: {type(error).__name__}: {error}".splitlines()[0]
    seconds = time.perf_counter() - begin
    scores = (log_loss(p, y), calibration_error(p, y)) if p is not None else (math.nan, math.nan)
    return Result(task.stream, len(y), X.shape[1], method.name, *scores, round(seconds, 3), note)


def _announced(method: Method, X: Matrix, y: Vector, deadline: float) -> tuple[Vector | None, str]:
    """Every row's probability, or None for a peer that the deadline found before its last row; and the note."""
    announced = method.play(X, y)
    p = np.empty(len(y))
    for t, said in enumerate(announced.probabilities):
        p[t] = said
        if method.family == "untuned" and time.perf_counter() > deadline and t + 1 < len(y):
            return None, f"not finished: {t + 1} rows in the time given"
    return p, announced.note


@lru_cache(maxsize=1)
def _stream(folder: Path | None, name: str, rows: int) -> tuple[Matrix, Vector]:
    return load_stream(folder, name, rows)


def one_thread() -> AbstractContextManager[object]:
    """Within it, BLAS has one thread: two processes would fight over the cores, and threads do not help narrow rows."""
    limits: AbstractContextManager[object] = importlib.import_module("threadpoolctl").threadpool_limits(1)
    return limits
