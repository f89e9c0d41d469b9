"""Tasks side by side: compiled loops let go of Python's lock, so that they may run on cores that are free."""

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache

__all__ = ["do_all"]

MOST = 4  # threads at work on one set of tasks


def do_all(tasks: Iterable[Callable[[], None]], *, side_by_side: bool = True) -> None:
    """Do all tasks, whose order must not matter; best the longest first.

    The caller takes task after task like its helpers: where every core is busy it does all of them itself, and waits
    for no helper that has not begun.
    """
    waiting = deque(tasks)

    def work() -> None:
        while True:
            try:
                task = waiting.popleft()
            except IndexError:
                return
            task()

    helpers: list[Future[None]] = []
    try:
        if side_by_side:
            with suppress(RuntimeError):  # an interpreter about to end starts no more threads
                helpers.extend(_pool(os.getpid()).submit(work) for _ in range(min(threads(), len(waiting)) - 1))
        work()
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()


def threads() -> int:
    """How many threads may work at once: no more than there are cores for this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST, cores)


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """The threads of this process: those of its parent do not survive a fork."""
    return ThreadPoolExecutor(MOST - 1, thread_name_prefix="aioli")
