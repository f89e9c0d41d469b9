"""Threads: tasks side by side, since compiled loops release Python's lock, and BLAS kept to one thread."""

import importlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, partial
from typing import Protocol, TypeVar

__all__ = ["call_within", "do_all", "followed_by", "one_blas_thread"]

Result = TypeVar("Result")

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
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)  # all of them, also where one has failed: what tasks change is at rest when this returns
        for helper in begun:
            helper.result()


def followed_by(last: Callable[[], object], tasks: Sequence[Callable[[], object]]) -> list[Callable[[], None]]:
    """Return the tasks for `do_all`, where the one that ends last goes on with `last`, which needs all of them."""
    counting, left = threading.Lock(), len(tasks)

    def do(task: Callable[[], object]) -> None:
        nonlocal left
        task()
        with counting:
            left -= 1
            ended = left == 0
        if ended:
            last()

    return [partial(do, task) for task in tasks]


def threads() -> int:
    """Return how many threads may work at once: no more than there are cores for this process."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(MOST, cores)


def call_within(seconds: float, function: Callable[..., Result], *given: object) -> Result:
    """Return what a function returns or raise what it raises; raise `TimeoutError` if it has not ended in time.

    It is called in a thread of its own, which nothing can stop: one that never ends stays until the process does.
    """
    ended: Future[Result] = Future()

    def call() -> None:
        try:
            ended.set_result(function(*given))
        except BaseException as error:
            ended.set_exception(error)

    threading.Thread(target=call, name="aioli-call", daemon=True).start()
    try:
        return ended.result(seconds)
    except TimeoutError:
        if ended.done():  # its own
            raise
        raise TimeoutError(f"it has not answered for {seconds:g} s") from None


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """Return the threads of this process: those of its parent do not survive a fork."""
    return ThreadPoolExecutor(MOST - 1, thread_name_prefix="aioli")


class _OneBlasThread:
    """Keeps BLAS, which has one setting for the whole process, to one thread while anybody asks for it.

    The first to enter limits it, the last to leave frees it. Nobody waits for anybody in between: a lock held for the
    whole time would let a task wait for its caller, who waits for the task.
    """

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._inside = 0
        self._limit: AbstractContextManager[object] = nullcontext()

    def enter(self, pools: "ThreadPools") -> None:
        with self._changing:
            if self._inside == 0:
                self._limit = pools.limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._inside += 1

    def leave(self) -> None:
        with self._changing:
            self._inside -= 1
            if self._inside == 0:
                self._limit.__exit__(None, None, None)


_one_blas_thread = _OneBlasThread()


def _after_fork() -> None:
    """Forget who was inside: of the parent's threads only the one that forked goes on."""
    global _one_blas_thread
    _one_blas_thread = _OneBlasThread()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


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
    limit = _one_blas_thread
    limit.enter(pools)
    try:
        yield
    finally:
        limit.leave()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Keep every library that has threads to one, where threadpoolctl is installed to tell it: models of few rows."""
    if _thread_pools() is None:
        yield
        return
    # OpenMP counts for each thread by itself, and its libraries may have been loaded since BLAS was found
    with one_blas_thread(), importlib.import_module("threadpoolctl").threadpool_limits(limits=1, user_api="openmp"):
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
