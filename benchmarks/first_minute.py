"""The first minute on a machine: what compiling takes where nothing is cached yet, and what it takes from then on.

Each case is a process of its own, first with an empty cache (`NUMBA_CACHE_DIR`), then with the one that it filled; and
once more with an empty cache that `aioli warm` has filled.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.table import Table, as_markdown

__all__ = ["first_minute_table", "main"]

LIBRARY = "import numpy as np; from aioli import Auto; X = np.random.default_rng(0).normal(size=(500, 5)); m = Auto()"
CASES = {
    "aioli run FILE --label y": ["-m", "aioli", "run", "{file}", "--label", "y", "--json"],
    "Auto().learn_many": ["-c", f"{LIBRARY}; m.learn_many(X, X[:, 0] > 0)"],
    "Auto().learn, row by row": ["-c", f"{LIBRARY}; [m.learn(x, int(x[0] > 0)) for x in X]"],
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    argparse.ArgumentParser(prog="python -m benchmarks.first_minute", description=__doc__).parse_args(arguments)
    print(as_markdown(first_minute_table()))


def first_minute_table() -> Table:
    """Return the seconds of each case, without a cache, with its own, and with that of `aioli warm`."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        X = np.random.default_rng(0).normal(size=(2000, 4))
        file.write_text("\n".join(["a,b,c,y", *(f"{a:.3f},{b:.3f},{c:.3f},{int(d > a)}" for a, b, c, d in X)]))
        warmed = Path(folder) / "warmed"
        took = _seconds(["-m", "aioli", "warm"], warmed)
        for number, (name, command) in enumerate(CASES.items()):
            given = [part.format(file=file) if part == "{file}" else part for part in command]
            own = Path(folder) / str(number)
            cold, again, prepared = _seconds(given, own), _seconds(given, own), _seconds(given, warmed)
            rows.append((name, f"{cold:.1f}", f"{again:.1f}", f"{prepared:.1f}"))
    notes = [f"`aioli warm` itself took {took:.1f} s"]
    return Table("The first minute", ("what", "nothing cached, s", "again, s", "after `aioli warm`, s"), rows, notes)


def _seconds(command: Sequence[str], cache: Path) -> float:
    begun = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, *command], check=True, capture_output=True, env=environment)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
