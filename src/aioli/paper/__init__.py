"""The paper's results, measured again: each figure, table, theorem and lemma is an experiment with a figure of its own.

`run_paper` is what the command `aioli paper` calls. A finished run's numbers are kept, so that what was interrupted
goes on where it stopped, and a figure can be drawn anew without playing a round.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["EXPERIMENTS", "run_paper"]

EXPERIMENTS = (
    "figure1",
    "figure2",
    "table1",
    "theorem1",
    "theorem2",
    "corollary",
    "lemma2",
    "errata",
    "features",
    "classes",
)


def run_paper(out: str, fast: bool, processes: int | None, only: Sequence[str] | None) -> None:
    """Measure the experiments, draw them, and print each claim of the paper beside what was found.

    Parameters
    ----------
    out
        The folder for tables (CSV), figures (PNG and PDF) and the numbers of finished runs; made if it is not there.
    fast
        Shorter streams and fewer runs: under a minute on two cores, to see that everything works.
    processes
        How many runs go on at a time; None is one a core. 1 plays them in this process.
    only
        Names from `EXPERIMENTS`; None is all of them.

    Examples
    --------
    >>> run_paper("paper", fast=True, processes=1, only=["lemma2"])
    lemma2 ...
    >>> run_paper("paper", fast=True, processes=1, only=["figure3"])
    Traceback (most recent call last):
    ...
    ValueError: no experiment is called 'figure3'; there are figure1, figure2, table1, theorem1, theorem2, ...
    """
    chosen = EXPERIMENTS if only is None else tuple(only)
    for name in chosen:
        if name not in EXPERIMENTS:
            raise ValueError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}")
    if not chosen:
        raise ValueError(f"no experiment was named; there are {', '.join(EXPERIMENTS)}")
    if processes is not None and processes < 1:
        raise ValueError(f"processes is {processes}; it must be at least 1, or None for one a core")
    if find_spec("matplotlib") is None:
        raise ImportError("the paper's figures need matplotlib: pip install 'aioli-online[plot]'")
    running = importlib.import_module("aioli.paper.running")  # Numba and matplotlib come with it: only now
    running.run_experiments(out, [name for name in EXPERIMENTS if name in chosen], fast, processes, sys.stderr)
