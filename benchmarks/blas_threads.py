"""How many threads BLAS may use, and what more than one does to the block form."""

import importlib
import os
import time
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from aioli.states.dense.play import BLOCK
from benchmarks.forms import played_state, run_blocks
from benchmarks.streams import normal_stream
from benchmarks.table import Comparison, compare
from benchmarks.timing import Prepare, Run, side_by_side

__all__ = ["CORES", "blas_libraries", "blas_threads", "compare_threads"]

CORES = os.cpu_count() or 1
REST = 0.2  # seconds: idle BLAS threads spin for a while, and would slow the turn after theirs


def blas_threads(threads: int) -> AbstractContextManager[object]:
    """Within it, every BLAS of this process uses at most so many threads."""
    limits: AbstractContextManager[object] = _controller().limit(limits=threads, user_api="blas")
    return limits


def blas_libraries() -> list[str]:
    """Each BLAS that this process has loaded, with the threads that it may use now."""
    blas = [pool for pool in _controller().info() if pool["user_api"] == "blas"]
    return [f"{pool['internal_api']} {pool['version']}: {pool['num_threads']} thread(s)" for pool in blas]


@cache
def _controller() -> Any:
    """Made once: to look for the libraries takes milliseconds, which would be timed with what they do."""
    return importlib.import_module("threadpoolctl").ThreadpoolController()


def compare_threads(width: int, repeats: int) -> Comparison:
    """The block form with one BLAS thread (ours) and with one a core (the peer)."""
    rows = BLOCK * max(2, 2400 // width)
    state = played_state(width)
    data = normal_stream(rows, width)

    def with_threads(threads: int) -> Prepare:
        def prepare() -> Run:
            run = run_blocks(state.copy(), *data)
            time.sleep(REST)

            def limited() -> None:
                with blas_threads(threads):
                    run()

            return limited

        return prepare

    times = side_by_side({"one": with_threads(1), "all": with_threads(CORES)}, repeats)
    return compare(
        "block form, 1 BLAS thread", width, times["one"] / rows, f"{CORES} BLAS threads", times["all"] / rows
    )
