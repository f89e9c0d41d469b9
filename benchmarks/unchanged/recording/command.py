"""Scenarios of the command: `python -m aioli` as a process of its own, on files of all kinds."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.unchanged.recording.files import write_files
from benchmarks.unchanged.recording.notes import Notes, Scenario

__all__ = ["SCENARIOS"]

AIOLI = [sys.executable, "-P", "-m", "aioli"]
# Times, memory, and what may be worded otherwise: a learner's repr, the version, the names of weights.
NOT_COMPARED = {
    *("seconds", "regret_seconds", "rows_per_second", "peak_memory_mib", "microseconds_a_row", "time_ratio"),
    *("learner", "version", "name"),
}
TRIES = 5  # to kill a run before it has ended


def run(folder: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """Run the command in the folder; returns what it printed."""
    done = subprocess.run([*AIOLI, *arguments], cwd=folder, input=given, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"aioli {' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def note_json(notes: Notes, name: str, printed: bytes) -> None:
    """Note a JSON object as one line a number or text; floats are printed with all their digits."""

    def lines(place: str, value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for key in sorted(value.keys() - NOT_COMPARED):
                yield from lines(f"{place}.{key}" if place else key, value[key])
        elif isinstance(value, list):
            for k, inner in enumerate(value):
                yield from lines(f"{place}[{k}]", inner)
        else:
            yield f"{place} = {json.dumps(value, ensure_ascii=False)}\n"

    notes.note(name, "".join(lines("", json.loads(printed))).encode())


def in_folder(play: Callable[[Notes, Path], None]) -> Scenario:
    """Make a scenario that has a folder of files of its own."""

    def scenario(notes: Notes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder))
            play(notes, Path(folder))

    return scenario


def running(source: str, *options: str, ending: str = ".csv") -> Scenario:
    """Make the scenario of one run, its predictions, and what its model says of the file again."""

    def play(notes: Notes, folder: Path) -> None:
        if not source.startswith("synthetic:") and not (folder / source).exists():
            return  # Parquet, where pyarrow is missing
        wanted = ("--predictions", f"out{ending}", "--save", "model.aioli", "--json")
        note_json(notes, "run", run(folder, "run", source, *options, *wanted))
        notes.note("predictions", (folder / f"out{ending}").read_bytes())
        note_json(notes, "inspect", run(folder, "inspect", "model.aioli", "--json"))
        if not source.startswith("synthetic:"):
            again = "later.csv" if source == "visits.csv" else source
            printed = run(folder, "predict", again, "--model", "model.aioli", "--out", "again.csv", "--json")
            note_json(notes, "predict", printed)
            notes.note("predict --out", (folder / "again.csv").read_bytes())

    return in_folder(play)


def several_learners(source: str, learners: Sequence[str], *options: str) -> Scenario:
    """Make the scenario of a short run with each of the learners."""

    def play(notes: Notes, folder: Path) -> None:
        for learner in learners:
            wanted = ("--learner", learner, "--predictions", "out.csv", "--json")
            note_json(notes, learner, run(folder, "run", source, *options, *wanted))
            notes.note(f"{learner}: predictions", (folder / "out.csv").read_bytes())

    return in_folder(play)


def _standard_input(notes: Notes, folder: Path) -> None:
    rows = (folder / "visits.csv").read_bytes()
    note_json(notes, "run -", run(folder, "run", "-", "--label", "bought", "--json", given=rows))
    note_json(notes, "run visits.csv.gz", run(folder, "run", "visits.csv.gz", "--label", "bought", "--json"))
    note_json(notes, "run parts", run(folder, "run", "parts", "--label", "bought", "--json"))


def _compared(notes: Notes, folder: Path) -> None:
    for learner in ("Auto", "AIOLI"):
        options = ("compare", "visits.csv", "--label", "bought", "--learner", learner, "--peers", "", "--json")
        note_json(notes, learner, run(folder, *options))


def killed(learner: str) -> Scenario:
    """Make the scenario of a run that is killed after a checkpoint, and goes on to the end of one left alone."""

    def play(notes: Notes, folder: Path) -> None:
        asked = ("run", "numbers.csv", "--label", "y", "--learner", learner, "--json")
        alone = run(folder, *asked, "--predictions", "alone.csv")
        note_json(notes, "left alone", alone)
        expected = (folder / "alone.csv").read_bytes()
        notes.note("left alone: predictions", expected)
        resumable = (*asked, "--predictions", "out.csv", "--checkpoint", "kept", "--every", "0")
        if not any(_kill(folder, resumable) for _ in range(TRIES)):
            raise RuntimeError("every run had ended before it was killed; give it more rows")
        note_json(notes, "killed and resumed", run(folder, *resumable, "--resume"))
        if (folder / "out.csv").read_bytes() != expected:
            raise AssertionError("the predictions of the run that was killed differ from those of the one left alone")

    return in_folder(play)


def _kill(folder: Path, arguments: Sequence[str]) -> bool:
    """Kill a run as soon as it has kept something; returns False where it came to its end before."""
    shutil.rmtree(folder / "kept", ignore_errors=True)
    process = subprocess.Popen([*AIOLI, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if any(path.suffix == ".aioli" for path in (folder / "kept").glob("*")):
            process.kill()
            return process.wait() < 0
        time.sleep(0.002)
    return False


SCENARIOS: dict[str, Scenario] = {
    "aioli run, CSV": running("visits.csv", "--label", "bought"),
    "aioli run, CSV, AIOLI --scale": running("visits.csv", "--label", "bought", "--learner", "AIOLI", "--scale"),
    "aioli run, CSV, text and few columns": running(
        *("visits.csv", "--label", "bought", "--text", "note", "--skip", "size", "--columns", "6"),
        *("--positive", "no", "--learner", "AIOLI(radius=2.0, forgetting=0.999)"),
        ending=".jsonl",
    ),
    "aioli run, JSON lines": running("visits.jsonl", "--label", "bought"),
    "aioli run, Parquet": running("visits.parquet", "--label", "bought"),
    "aioli run, svmlight": running("words.svm"),
    "aioli run, svmlight, AIOLI": running("narrow.svm", "--learner", "AIOLI"),
    "aioli run, vw": running("words.vw"),
    "aioli run, vw, AIOLI": running("narrow.vw", "--learner", "AIOLI"),
    "aioli run, synthetic": running("synthetic:logistic", "--rows", "3000", "--seed", "3"),
    "aioli run, adversary": running("synthetic:adversary", "--rows", "400", "--learner", "AIOLI"),
    "aioli run, several learners": several_learners(
        "synthetic:logistic",
        ["OGD", "ONS(widest=20.0)", "KernelAIOLI", "OnlineToBatch"],
        *("--rows", "250"),
    ),
    "aioli run, svmlight, Wide": several_learners("words.svm", ["Wide(hashing=10)", "Wide(experts=3)"]),
    "aioli run, standard input, gzip, a folder": in_folder(_standard_input),
    "aioli compare": in_folder(_compared),
    "aioli run, killed and resumed, Auto": killed("Auto"),
    "aioli run, killed and resumed, AIOLI": killed("AIOLI"),
}
