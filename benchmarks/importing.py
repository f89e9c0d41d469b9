"""What it costs to start: `import aioli` and `aioli --help`, each in a process of its own."""

import subprocess
import sys

import numpy as np

from benchmarks.table import Table
from benchmarks.timing import Prepare, side_by_side

__all__ = ["importing_table"]

HEAVY = ("numba", "matplotlib", "pandas", "sklearn", "scipy", "numpy")

IMPORT = "import aioli"
# What the installed command does, without looking for where it was installed.
HELP = """
import contextlib, sys
sys.argv = ["aioli", "--help"]
from aioli.cli import main
with contextlib.suppress(SystemExit):
    main()
"""


def importing_table(repeats: int) -> Table:
    """Wall time of each, beside that of Python alone, and which heavy libraries it has loaded by its end."""
    candidates = {"python -c pass": "pass", "import aioli": IMPORT, "aioli --help": HELP}
    working = {name: code for name, code in candidates.items() if _python(code).returncode == 0}
    times = side_by_side({name: _starting(code) for name, code in working.items()}, repeats)
    rows = [(name, f"{1e3 * float(np.median(times[name])):.0f}", _loaded(code)) for name, code in working.items()]
    skipped = [f"`{name}` does not run here, and was skipped" for name in candidates if name not in working]
    return Table("Starting", ("what", "ms", f"of {', '.join(HEAVY)}: loaded"), rows, skipped)


def _starting(code: str) -> Prepare:
    return lambda: lambda: _python(code)


def _loaded(code: str) -> str:
    seen = _python(f"{code}\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])")
    names = seen.stdout.splitlines()[-1].strip("[]").replace("'", "")
    return names or "none"


def _python(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
