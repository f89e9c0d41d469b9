"""A second process that compiles a part of what Auto plays, while the command compiles the rest: on two cores.

It is started by the first function that is not in the cache, and only where the command has two cores and a cache that
can be written. Its functions are those that the command needs last, about half of the work. The command reads them from
the cache, as it would from an earlier run: nothing that is computed depends on which process was faster. Where the
second process fails, the command compiles them itself.

The library starts no process. Its callers are services, whose memory is measured for one process, workers, each of
which would start one of its own, and programs with Python inside, whose executable is no Python. `aioli warm` is for
them: whoever waits for the first call has the code compiled before.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from aioli.learners.auto.auto import Auto
from aioli.learners.protocol import AnyLearner
from aioli.numerics import compiling
from aioli.states.forest import loops, ranks
from aioli.states.kernel import fourier_rows
from aioli.states.mixture import mixture_loops

__all__ = ["ITS_FUNCTIONS", "SecondCompiler", "compile_beside", "compile_functions"]

# In the order in which the command comes to need them; before them it compiles what reads the file, and the views.
ITS_FUNCTIONS = (mixture_loops.combine_rows, fourier_rows.play_maps, ranks.rank_rows, loops.play_rows)
LONGEST = 120.0  # seconds: whoever takes longer will not come
PAUSE = 0.02  # seconds between two looks into the cache


def compile_functions() -> None:
    """Compile a part of what Auto plays: the second process's task."""
    for function in ITS_FUNCTIONS:
        compiling.prepare(function)


def compile_beside(learner: AnyLearner) -> None:
    """Have a part compiled by a second process, if the learner is to play it and anything must be compiled."""
    folder = compiling.cache_folder(loops.play_rows)
    if compiling.before_compiling is not None:  # another run of this process has begun it
        return
    plays_forest = isinstance(learner, Auto) and learner.budget != "fast"
    if plays_forest and _cores() > 1 and folder is not None and os.access(folder, os.W_OK):
        task = f"import {__name__} as beside; beside.compile_functions()"
        # -P: no file of the folder that the command is called in is taken for a module
        compiling.before_compiling = SecondCompiler([sys.executable, "-P", "-c", task])


class SecondCompiler:
    """Starts a process when the first function must be compiled, and waits for those that it compiles."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.names = {compiling.name_of(function) for function in ITS_FUNCTIONS}
        self.process: subprocess.Popen[bytes] | None = None
        self.ended = False

    def __call__(self, name: str, found: Callable[[], bool]) -> None:
        """Be told that a function is not in the cache, and will be compiled unless it is `found` there now."""
        if self.ended:
            return
        if self.process is None:
            silent = subprocess.DEVNULL
            try:
                self.process = subprocess.Popen(self.command, stdin=silent, stdout=silent, stderr=silent)
            except OSError:
                self.ended = True
                return
        until = time.monotonic() + LONGEST
        while name in self.names and not self.ended:
            self.ended = self.process.poll() is not None or time.monotonic() > until
            if found():  # asked last when it has ended: it may have kept the function just before
                return
            time.sleep(0.0 if self.ended else PAUSE)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
