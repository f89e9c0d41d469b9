"""Plays the scenarios and writes what was said into one file: `python -m … OUT.npz [WORD …]`."""

import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks.unchanged.recording import command, faces, kernels, linear, mixtures, others
from benchmarks.unchanged.recording.notes import FAILED, Notes, Record, write_record

ALL = (linear, mixtures, kernels, others, faces, command)


def main(out: Path, words: Sequence[str]) -> None:
    """Play every scenario whose name has one of the words; one that raises leaves its traceback."""
    scenarios = {name: play for module in ALL for name, play in module.SCENARIOS.items()}
    record: Record = {}
    for name, play in scenarios.items():
        if words and not any(word in name for word in words):
            continue
        notes = Notes()
        begin = time.perf_counter()
        try:
            play(notes)
        except Exception:
            notes.note(FAILED, traceback.format_exc())
        print(f"{time.perf_counter() - begin:7.2f} s  {name}", flush=True)
        record[name] = notes.values
    write_record(out, record)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
