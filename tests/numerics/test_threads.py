"""Tasks side by side: all are done, once, whatever becomes of a thread."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from patience import PATIENCE

from aioli.numerics import threads as side_by_side
from aioli.numerics.threads import do_all, followed_by, one_blas_thread


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few cores there are."""
    monkeypatch.setattr(side_by_side, "threads", lambda: 3)


@pytest.mark.parametrize("count", [0, 1, 2, 50])
@pytest.mark.parametrize("together", [False, True])
def test_every_task_is_done_once(count: int, together: bool) -> None:
    done: list[int] = []
    do_all([partial(done.append, i) for i in range(count)], side_by_side=together)
    assert sorted(done) == list(range(count))


@pytest.mark.parametrize("together", [False, True])
def test_what_follows_some_tasks_is_done_once_after_all_of_them(together: bool) -> None:
    done: list[int] = []
    first = [partial(done.append, i) for i in range(20)]
    do_all([*followed_by(partial(done.append, 99), first), partial(done.append, -1)], side_by_side=together)
    assert sorted(done) == [-1, *range(20), 99]
    assert max(done.index(i) for i in range(20)) < done.index(99)


def test_tasks_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE)  # is broken unless three threads wait in it together

    def meet() -> None:
        meeting.wait()

    do_all([meet] * 3)
    assert not meeting.broken


def test_without_threads_the_caller_does_all_of_it() -> None:
    who: list[int] = []
    do_all([lambda: who.append(threading.get_ident())] * 5, side_by_side=False)
    assert set(who) == {threading.get_ident()}


def fail() -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("failing", [0, 1])
def test_a_task_that_fails_leaves_no_other_at_work(failing: int) -> None:
    meeting, caller = threading.Barrier(3, timeout=PATIENCE), threading.get_ident()
    places, ended = iter(range(2)), threading.Event()

    def work() -> None:
        place = None if threading.get_ident() == caller else next(places)
        meeting.wait()
        if place == failing:
            raise ZeroDivisionError
        if place is not None:
            ended.wait(0.1)  # nobody sets it: the other is at work for a while
            ended.set()

    with pytest.raises(ZeroDivisionError):
        do_all([work] * 3)
    assert ended.is_set()


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_task_that_fails_is_heard_of(place: int) -> None:
    tasks: list[Callable[[], None]] = [lambda: None] * 3
    tasks.insert(place, fail)
    with pytest.raises(ZeroDivisionError):
        do_all(tasks)


def test_threads_that_cannot_be_had_are_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(_process: int) -> None:
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(side_by_side, "_pool", no_more)
    done: list[int] = []
    do_all([partial(done.append, i) for i in range(9)])
    assert sorted(done) == list(range(9))


def in_a_child(queue: "multiprocessing.Queue[list[int]]") -> None:
    done: list[int] = []
    do_all([partial(done.append, i) for i in range(9)])
    queue.put(sorted(done))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # that a process of threads forks is the point
def test_a_child_has_threads_of_its_own() -> None:
    do_all([lambda: None] * 9)
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[list[int]] = context.Queue()
    child = context.Process(target=in_a_child, args=(queue,))
    child.start()
    assert queue.get(timeout=PATIENCE) == list(range(9))
    child.join(timeout=PATIENCE)
    assert child.exitcode == 0


class CountedPools:
    """Stands for BLAS: how often it was limited and freed."""

    def __init__(self) -> None:
        self.limited = self.freed = 0

    @contextmanager
    def limit(self, *, limits: int, user_api: str) -> Iterator[None]:
        assert (limits, user_api) == (1, "blas")
        self.limited += 1
        yield
        self.freed += 1


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> CountedPools:
    pools = CountedPools()
    monkeypatch.setattr(side_by_side, "_thread_pools", lambda: pools)
    return pools


def test_a_task_may_keep_blas_to_one_thread_while_its_caller_does(pools: CountedPools) -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE)  # is broken if a task waits for its caller to leave

    def task() -> None:
        with one_blas_thread():
            meeting.wait()

    with one_blas_thread():
        do_all([task] * 3)
        assert (pools.limited, pools.freed) == (1, 0)
    assert (pools.limited, pools.freed) == (1, 1)


def test_blas_is_freed_by_the_last_that_leaves(pools: CountedPools) -> None:
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert (pools.limited, pools.freed) == (1, 0)
    second.__exit__(None, None, None)
    assert (pools.limited, pools.freed) == (1, 1)
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        fail()
    assert (pools.limited, pools.freed) == (2, 2)
