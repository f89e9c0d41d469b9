"""Starts a second process that compiles about half of what Auto plays, while the command compiles the other half.

The process is started when the first function is not in the cache, and only where the command has two cores and a cache
that can be written. It compiles the functions that the command needs last. The command reads them from the cache, as it
would after an earlier run: no result depends on which process was faster. Where the second process fails, the command
compiles them itself.

Only the command does this; the library starts no process. A service's memory is measured for one process, each of many
workers would start a process of its own, and where Python is embedded, the executable is not Python. `aioli warm` is
for these: it compiles everything before the first call.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from aioli.learners.auto import absences
from aioli.learners.auto.auto import Auto
from aioli.learners.protocol import AnyLearner
from aioli.numerics import compiling
from aioli.states.boosting import fitting
from aioli.states.kernel import fourier_rows
from aioli.states.mixture import mixture_loops

__all__ = ["ITS_FUNCTIONS", "SecondCompiler", "compile_beside", "compile_functions"]

# In the order in which the command needs them, after what reads the file and what makes the views of a row.
ITS_FUNCTIONS = (
    mixture_loops.combine_rows,
    fourier_rows.play_maps,
    fitting.boost,
    absences.combine_rows_each,
)
LONGEST = 120.0  # seconds to wait for a function: then the command compiles it itself
PAUSE = 0.02  # seconds between two looks into the cache


def compile_functions() -> None:
    """Compile `ITS_FUNCTIONS` into the cache: this is what the second process runs."""
    for function in ITS_FUNCTIONS:
        compiling.prepare(function)


def compile_beside(learner: AnyLearner) -> None:
    """Have a second process compile its part once anything must be compiled, if the learner plays that part."""
    folder = compiling.cache_folder(fitting.boost)
    if compiling.before_compiling is not None:  # an earlier run in this process has set it
        return
    has_companions = isinstance(learner, Auto) and learner.budget != "fast"
    if has_companions and _cores() > 1 and folder is not None and os.access(folder, os.W_OK):
        task = f"import {__name__} as beside; beside.compile_functions()"
        # -P: Python imports nothing from the current folder
        compiling.before_compiling = SecondCompiler([sys.executable, "-P", "-c", task])


class SecondCompiler:
    """Starts a process when the first function must be compiled, and waits for the functions that it compiles."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.names = {compiling.name_of(function) for function in ITS_FUNCTIONS}
        self.process: subprocess.Popen[bytes] | None = None
        self.ended = False

    def __call__(self, name: str, found: Callable[[], bool]) -> None:
        """Start the process, if it is not; wait until it has compiled the function `name`, if that is one of its own.

        `compiling` calls this before it compiles a function; `found` loads the function if it is in the cache by now.
        """
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
            if found():  # asked after the process's end too: its last act may have been to keep the function
                return
            time.sleep(0.0 if self.ended else PAUSE)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
