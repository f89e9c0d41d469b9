"""Threads: tasks side by side, since compiled loops release Python's lock, and BLAS kept to one thread."""

import importlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import Protocol

__all__ = ["do_all", "one_blas_thread"]

MOST = 4  # threads at work on one set of tasks


def do_all(tasks: Iterable[Callable[[], object]], *, side_by_side: bool = True) -> None:
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
    """Return how many threads may work at once: no more than there are cores for this process."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(MOST, cores)


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """Return the threads of this process: those of its parent do not survive a fork."""
    return ThreadPoolExecutor(MOST - 1, thread_name_prefix="aioli")


# Who limits BLAS must also be the one to free it: threads that limited it side by side left it limited for good.
_limiting = threading.RLock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, where threadpoolctl is installed to tell it.

    Blocks are small products in quick succession: with two threads on two busy cores they ran several times slower
    than with one (`make bench`).
    """
    pools = _thread_pools()
    if pools is None:
        yield
        return
    with _limiting, pools.limit(limits=1, user_api="blas"):
        yield


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Keep every library that has threads to one, where threadpoolctl is installed to tell it: models of few rows."""
    pools = _thread_pools()
    if pools is None:
        yield
        return
    with _limiting, importlib.import_module("threadpoolctl").threadpool_limits(limits=1):
        yield


class ThreadPools(Protocol):
    """Limits the threads of libraries: the part of threadpoolctl, which has no types, that is called here."""

    def limit(self, *, limits: int, user_api: str) -> AbstractContextManager[object]:
        """Keep the libraries of a kind to so many threads."""


@cache
def _thread_pools() -> ThreadPools | None:
    """Find the libraries that have threads, once: it takes two milliseconds."""
    try:
        pools: ThreadPools = importlib.import_module("threadpoolctl").ThreadpoolController()
    except ImportError:
        return None
    return pools
