"""Plays the scenarios and writes what was said into one file: `python -m … OUT.npz NAME [--compile] [WORD …]`."""

import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import aioli
from benchmarks.unchanged.recording import command, faces, kernels, linear, mixtures, others
from benchmarks.unchanged.recording.notes import COMPILE, FAILED, Notes, Record, Scenario, Values, write_record

IN_THIS_PROCESS = (linear, mixtures, kernels, others, faces)
TIMES = 3  # a command may be run until it finds everything compiled


def main(out: Path, side: str, words: Sequence[str], compiling: bool) -> None:
    """Play every scenario whose name has one of the words; one that raises leaves its traceback.

    With `compiling` those of the command are left out: a scenario of processes that had to compile is played again.
    """
    modules = IN_THIS_PROCESS if compiling else (*IN_THIS_PROCESS, command)
    scenarios = {
        name: play
        for module in modules
        for name, play in module.SCENARIOS.items()
        if not words or any(word in name for word in words)
    }
    record: Record = {}
    for name, play in scenarios.items():
        begin = time.perf_counter()
        record[name] = _played(play, again=name in command.SCENARIOS)
        took = f"{time.perf_counter() - begin:.1f} s"
        print(f"{side}, {len(record)} of {len(scenarios)}: {name}, {took}", file=sys.stderr, flush=True)
    write_record(out, record)


def _played(play: Scenario, again: bool) -> Values:
    for _ in range(TIMES if again else 1):
        notes, compiled = Notes(), _compiled()
        try:
            play(notes)
        except Exception:
            notes.note(FAILED, traceback.format_exc())
        if _compiled() == compiled:
            break
    return notes.values


def _compiled() -> set[tuple[Path, int]]:
    """Return the files of compiled code that lie beside the sources, each with the time of its last change."""
    return {(path, path.stat().st_mtime_ns) for path in Path(str(aioli.__file__)).parent.rglob("*.nb[ic]")}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [word for word in sys.argv[3:] if word != COMPILE], COMPILE in sys.argv)
