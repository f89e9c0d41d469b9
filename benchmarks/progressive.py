"""Play streams with methods, predict then learn, in one process or several, each on one thread."""

import importlib
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from benchmarks.late_labels import OutOfTimeError, Stream, play_late
from benchmarks.methods import METHODS, Method
from benchmarks.online_contenders import Blocks
from benchmarks.real_streams import load_stream
from benchmarks.results import LATE, Result
from benchmarks.scores import ROUGH_CLIP, accuracy, calibration_error, cohen_kappa, log_loss

__all__ = ["Task", "in_processes", "one_thread", "play_all"]

WARM_ROWS = 80
WARM_ROWS_OF_OURS = 2500  # Auto's companions begin to play, and compile, only once rows are many
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
    late: int = 0  # rows by which every label is late


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
    _warm_up(method)
    begin = time.perf_counter()
    p, note = None, ""
    try:
        with one_thread():
            if task.late:
                p = _announced_late(method, Stream(X, y), task)
            else:
                p, note = _announced(method, X, y, begin + task.peer_seconds)
    except OutOfTimeError as error:
        note = str(error)
    except Exception as error:  # a method that fails is news for the table, not the end of a run of hours
        note = f"failed: {type(error).__name__}: {error}".splitlines()[0]
    seconds = time.perf_counter() - begin
    name = f"{method.name}{LATE}" if task.late else method.name
    played = task.stream, len(y), X.shape[1], name
    if p is None:
        return Result(*played, math.nan, math.nan, round(seconds, 3), note)
    further = log_loss(p, y, ROUGH_CLIP), accuracy(p, y), cohen_kappa(p, y)
    return Result(*played, log_loss(p, y), calibration_error(p, y), round(seconds, 3), note, *further)


@cache
def _warm_up(method: Method) -> None:
    """Import and compile what a method needs, so that its first stream does not pay for it."""
    rng = np.random.default_rng(0)
    n = WARM_ROWS_OF_OURS if method.family == "ours" else WARM_ROWS
    X = rng.normal(size=(n, 6))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0.0
    with suppress(Exception), one_thread():  # what fails here fails again, and is told, on the stream
        list(method.play(X, y.astype(np.float64)).probabilities)


def _announced(method: Method, X: Matrix, y: Vector, deadline: float) -> tuple[Vector | None, str]:
    """Every row's probability, or None for a peer that the deadline found before its last row; and the note."""
    announced = method.play(X, y)
    p = np.empty(len(y))
    for t, said in enumerate(announced.probabilities):
        p[t] = said
        if method.family not in ("ours", "tuned") and time.perf_counter() > deadline and t + 1 < len(y):
            return None, f"not finished: {t + 1} rows in the time given"
    return p, announced.note


def _announced_late(method: Method, stream: Stream, task: Task) -> Vector:
    """Every row's probability where its label is learned so many rows later."""
    assert method.contend is not None  # no other is asked for
    contender = method.contend(stream)
    try:
        return play_late(contender, len(stream), Blocks("sliding", task.late), task.peer_seconds)
    finally:
        contender.close()


@lru_cache(maxsize=1)
def _stream(folder: Path | None, name: str, rows: int) -> tuple[Matrix, Vector]:
    return load_stream(folder, name, rows)


def one_thread() -> AbstractContextManager[object]:
    """Within it, BLAS has one thread: two processes would fight over the cores, and threads do not help narrow rows."""
    limits: AbstractContextManager[object] = importlib.import_module("threadpoolctl").threadpool_limits(1)
    return limits
