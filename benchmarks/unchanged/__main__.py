"""Compares what the working tree says with what an earlier commit, or a record of one, said: bit for bit."""

import argparse
import hashlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numba
import numpy as np
import scipy

from benchmarks.sources import environment, sources_of, sources_of_working_tree
from benchmarks.table import as_text
from benchmarks.unchanged.comparing import comparison_table, unequal
from benchmarks.unchanged.meant import meant_since
from benchmarks.unchanged.recording.notes import COMPILE, Record, read_record, write_record

RECORDING = "benchmarks.unchanged.recording"
COMPILED = "compiled.txt"  # beside the sources: which scenarios have been played with them
ABOUT = "about this record"  # a scenario of its own, which is never compared but warned of


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, compare, print one table; returns 1 where anything differs."""
    options = _parser().parse_args(arguments)
    if options.base is None and options.check is None and options.record is None:
        _parser().error("give --base REV, --check FILE or --record FILE")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        sources = {"the working tree": sources_of_working_tree()}
        if options.base is not None:
            sources[options.base] = sources_of(options.base)
        _compile(sources, Path(scratch), options.only)
        recorded = _recorded(sources, Path(scratch), options.only)
    work = recorded["the working tree"]
    if options.record is not None:
        write_record(options.record, {ABOUT: _about(), **work})
    others = {options.base: recorded[options.base]} if options.base is not None else {}
    if options.check is not None:
        others[str(options.check)] = _checked(options.check, options.only)
    status = 0
    for name, base in others.items():
        meant = meant_since(name) if name == options.base else []
        table = comparison_table(base, work, (name, "the working tree"), meant)
        print(as_text(table))
        differ = unequal(table)
        status |= bool(differ)
        verdict = f"{len(differ)} differ" if differ else "all equal"
        print(f"{len(table.rows)} scenarios, {sum(int(row[1]) for row in table.rows):,} values: {verdict}.")
    print(f"{time.perf_counter() - begin:.0f} s")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unchanged", description=__doc__)
    parser.add_argument("--base", metavar="REV", help="a commit, whose sources are recorded beside the working tree's")
    parser.add_argument("--record", type=Path, metavar="FILE.npz", help="write what the working tree says")
    parser.add_argument("--check", type=Path, metavar="FILE.npz", help="compare with what --record wrote, here")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="scenarios with this in their name")
    return parser


def _compile(sources: dict[str, Path], scratch: Path, only: Sequence[str]) -> None:
    """Play the learners' scenarios once where these sources have not been compiled yet, and forget what was said.

    Last bits differ between a process that compiles and one that finds everything compiled: in the former, a function
    within another may be bound to a copy that was compiled alone, whose sums are in another order.
    """
    wanted = f"{_digest_of_scenarios()} {' | '.join(sorted(only))}".strip()
    whole = _digest_of_scenarios()
    new = {}
    for name, src in sources.items():
        marker = src / COMPILED
        if not marker.exists() or not {wanted, whole} & set(marker.read_text().splitlines()):
            new[name] = src
    _recorded(new, scratch / "compiling", only, compiling=True)
    for src in set(new.values()):
        with (src / COMPILED).open("a") as marker_file:
            marker_file.write(wanted + "\n")


def _recorded(
    sources: dict[str, Path], scratch: Path, only: Sequence[str], compiling: bool = False
) -> dict[str, Record]:
    """Play the scenarios with each of the sources, in processes side by side that tell how far they are."""
    playing = {}
    for k, (name, src) in enumerate(sources.items()):
        folder = scratch / str(k)
        folder.mkdir(parents=True)
        side = f"{name}, compiling" if compiling else name
        asked = [str(folder / "record.npz"), side, *([COMPILE] if compiling else []), *only]
        playing[name] = (
            folder,
            subprocess.Popen([sys.executable, "-P", "-m", RECORDING, *asked], cwd=folder, env=environment(src)),
        )
    found = {}
    for name, (folder, process) in playing.items():
        if status := process.wait():
            raise SystemExit(f"the recording of {name} ended with {status}")
        found[name] = read_record(folder / "record.npz")
    return found


def _checked(path: Path, only: Sequence[str]) -> Record:
    """Read a record of this machine, and warn where it is of another."""
    record = read_record(path)
    then, now = record.pop(ABOUT), _about()
    for name, value in now.items():
        if str(then.get(name)) != str(value):
            print(f"{path}: {name} was {then.get(name)}, and is {value}: differences may come from that\n")
    return {name: values for name, values in record.items() if not only or any(word in name for word in only)}


def _about() -> dict[str, np.ndarray]:
    """Tell what bits depend on beside the sources: the machine, the libraries, and the scenarios themselves."""
    told = {
        "machine": f"{platform.machine()} {_processor()}",
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "Numba": numba.__version__,
        "code of the scenarios": _digest_of_scenarios(),
    }
    return {name: np.array(value) for name, value in told.items()}


def _digest_of_scenarios() -> str:
    code = hashlib.sha256()
    for path in sorted((Path(__file__).parent / "recording").glob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()[:12]


def _processor() -> str:
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        for line in cpus.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
