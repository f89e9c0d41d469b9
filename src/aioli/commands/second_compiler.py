"""A second process that compiles the forest while the command compiles the rest: on two cores the first run waits less.

It is started by the first function that is not in the cache, and only where the command has two cores and a cache that
can be written. What it compiles is read from the cache, as it would be from an earlier run: nothing that is computed
depends on which process was faster. Where it fails, the command compiles the forest itself.
"""

import os
import subprocess
import sys

import numpy as np

from aioli.learners.auto.auto import Auto
from aioli.learners.forest.forest import Forest
from aioli.learners.protocol import AnyLearner
from aioli.numerics import compiling
from aioli.states.forest import loops

__all__ = ["SecondCompiler", "compile_beside", "compile_forest"]

ITS_MODULES = f"{loops.__package__}."
LONGEST = 120.0  # seconds: whoever takes longer will not come


def compile_forest() -> None:
    """Compile what Auto plays of the forest: the second process's task."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    Forest().learn_many(X, X[:, 0] > 0)


def compile_beside(learner: AnyLearner) -> None:
    """Have the forest compiled by a second process, if the learner plays one and anything must be compiled."""
    folder = compiling.cache_folder(loops.play_rows)
    if compiling.before_compiling is not None:  # another run of this process has begun it
        return
    plays_forest = isinstance(learner, Auto) and learner.budget != "fast"
    if plays_forest and _cores() > 1 and folder is not None and os.access(folder, os.W_OK):
        task = f"import {__name__} as beside; beside.compile_forest()"
        # -P: no file of the folder that the command is called in is taken for a module
        compiling.before_compiling = SecondCompiler([sys.executable, "-P", "-c", task])


class SecondCompiler:
    """Starts a process when the first function must be compiled, and waits for it before one that it compiles."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None
        self.ended = False

    def __call__(self, module: str) -> None:
        """Be told that a function of a module is not in the cache, and will be compiled unless it is there now."""
        if self.ended:
            return
        try:
            if self.process is None:
                silent = subprocess.DEVNULL
                self.process = subprocess.Popen(self.command, stdin=silent, stdout=silent, stderr=silent)
            if module.startswith(ITS_MODULES):
                self.ended = True
                self.process.wait(LONGEST)
        except (OSError, subprocess.TimeoutExpired):
            self.ended = True


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
