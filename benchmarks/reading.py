"""aioli's reader of CSV beside those of pyarrow and polars: one file, to float64 rows, chunk by chunk.

Each reader is a process of its own, so that its peak of memory is its own; they take turns. pyarrow and polars are told
beforehand that every column is of float64, which aioli finds out. A second table tells what each does with what files
hold besides plain numbers.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from aioli.numerics.compiling import Matrix
from aioli.streams.filestream import FileStream, Reading
from benchmarks.table import Table, as_markdown, as_text
from benchmarks.timing import Spread

__all__ = ["READERS", "chunks", "main"]

WIDTH = 10
NAMES = [f"x{i}" for i in range(WIDTH)] + ["y"]
BLOCK = 1 << 20  # bytes that pyarrow reads at once; aioli's window is as large
ROWS = 16384  # of a chunk of polars; aioli's are as long
LATE = 300_000  # where the second table's odd cells come: far behind what a reader looks at beforehand
FORMS = {"6 digits": "{:.6g}", "17 digits": "{!r}"}


def by_aioli(path: Path, _known: bool = True) -> Iterator[Matrix]:
    """Read by `streams.files`, through all that `aioli run` does before a learner sees a row."""
    with FileStream(str(path), Reading(label="y")) as stream:
        for batch in stream:
            rows: Any = [batch.X, batch.y]
            yield np.column_stack(rows)


def by_pyarrow(path: Path, known: bool = True) -> Iterator[Matrix]:
    """Read by `pyarrow.csv.open_csv`, which keeps one block in memory."""
    csv: Any = importlib.import_module("pyarrow.csv")
    double = importlib.import_module("pyarrow").float64()
    types = csv.ConvertOptions(column_types=dict.fromkeys(NAMES, double) if known else None)
    for batch in csv.open_csv(path, read_options=csv.ReadOptions(block_size=BLOCK), convert_options=types):
        yield np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])


def by_polars(path: Path, known: bool = True) -> Iterator[Matrix]:
    """Read by `polars.scan_csv`, whose engine streams."""
    polars: Any = importlib.import_module("polars")
    frame = polars.scan_csv(path, schema=dict.fromkeys(NAMES, polars.Float64) if known else None)
    for batch in frame.collect_batches(chunk_size=ROWS, maintain_order=True):
        yield batch.to_numpy(order="c")


READERS: dict[str, Callable[..., Iterator[Matrix]]] = {"aioli": by_aioli, "pyarrow": by_pyarrow, "polars": by_polars}


def chunks(name: str, path: Path, known: bool = True) -> Iterator[Matrix]:
    """Return what a reader yields, the label last."""
    return READERS[name](path, known)


def main() -> None:
    """Write the files, let the readers take turns, and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, metavar="N", help="default: two million")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="turns that count (default: 5)")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the tables as Markdown too")
    parser.add_argument("--one", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(timed(options.one[0], Path(options.one[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        tables = [timings(Path(folder), form, options.rows, options.repeats) for form in FORMS]
        tables.append(abilities(Path(folder)))
    print("\n\n".join(map(as_text, tables)))
    if options.out is not None:
        options.out.write_text("\n\n".join(map(as_markdown, tables)))


def write_rows(path: Path, rows: int, form: str) -> None:
    """Write normal numbers with labels 0 and 1, few rows at a time."""
    rng = np.random.default_rng(0)
    text = ",".join([form] * WIDTH) + ",{}\n"
    with path.open("w") as file:
        file.write(",".join(NAMES) + "\n")
        for part in np.array_split(np.arange(rows), max(1, rows // 1000)):
            X, y = rng.normal(size=(len(part), WIDTH)).tolist(), rng.integers(2, size=len(part)).tolist()
            file.writelines(text.format(*x, label) for x, label in zip(X, y, strict=True))


def timed(name: str, path: Path) -> dict[str, float]:
    """Read a small file for what is loaded on the first call, then the file against the clock."""
    for _ in chunks(name, path.with_name("small.csv")):
        pass
    rows, begin, used = 0, time.perf_counter(), time.process_time()
    for chunk in chunks(name, path):
        rows += len(chunk)
    seconds, processor = time.perf_counter() - begin, time.process_time() - used
    return {"seconds": seconds, "processor": processor, "mebibytes": peak_mebibytes(), "rows": rows}


def peak_mebibytes() -> float:
    """Return the most memory that this process held; Linux's `getrusage` would count the parent's too."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    resource: Any = importlib.import_module("resource")
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024**2


def timings(folder: Path, form: str, rows: int, repeats: int) -> Table:
    """One line a reader: time, ratio of neighbouring turns, processor time, peak memory, cells that are not exact."""
    path = folder / "rows.csv"
    write_rows(folder / "small.csv", 1000, FORMS[form])
    write_rows(path, rows, FORMS[form])
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in READERS}
    for turn in range(repeats + 1):
        for name in READERS:
            command = [sys.executable, "-m", "benchmarks.reading", "--one", name, str(path)]
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if said["rows"] != rows:
                raise RuntimeError(f"{name} read {said['rows']} rows of {rows}")
            if turn:  # the first fills the cache of the disk
                turns[name].append(said)
    seconds = {name: np.array([said["seconds"] for said in turns[name]]) for name in READERS}
    lines = []
    for name in READERS:
        ratio = Spread.of(seconds[name] / seconds["aioli"])
        lines.append(
            (
                name,
                f"{np.median(seconds[name]):.2f}",
                f"{ratio.median:.2f}× ({ratio.low:.2f}–{ratio.high:.2f})",
                f"{np.median([said['processor'] for said in turns[name]]):.2f}",
                f"{max(said['mebibytes'] for said in turns[name]):.0f}",
                str(inexact(name, path)),
            )
        )
    size = path.stat().st_size / 1e6
    path.unlink()
    heading = ("reader", "s", "time / aioli's", "CPU s", "peak MiB", "cells not as Python's float")
    return Table(f"{rows:,} rows of {WIDTH} numbers of {form} and a label, {size:.0f} MB", heading, lines)


def inexact(name: str, path: Path, rows: int = 100_000) -> int:
    """Count the cells of the first rows that are not, bit for bit, what Python's `float` makes of their text."""
    wrong, done = 0, 0
    with path.open() as file:
        next(file)
        for chunk in chunks(name, path):
            texts = [next(file).split(",") for _ in range(len(chunk))]
            wrong += int(np.count_nonzero(chunk != np.array([list(map(float, cells)) for cells in texts])))
            done += len(chunk)
            if done >= rows:
                break
    return wrong


def abilities(folder: Path) -> Table:
    """One line a question, asked of each reader without telling it the types."""
    path = folder / "odd.csv"
    lines = []
    for question, odd in ODD.items():
        answers = []
        for name in READERS:
            with path.open("w") as file:
                file.write("x0,x1,y\n")
                file.writelines(f"{t % 9},{t % 7},{t % 2}\n" for t in range(LATE))
                file.write(odd)
            answers.append(answer(name, path))
        lines.append((question, *answers))
    lines.append(
        ("goes on in the middle of the file", "yes: byte and line", "no: from the beginning", "no: skips rows")
    )
    notes = [
        "the last row as each gave it, the label last; types were not told, a reader finds them out",
        "aioli puts the mean of a column so far in place of what is missing, and adds a column that says so",
        "the last line is not measured: it is what the functions of each take as arguments",
    ]
    return Table(f"What comes after {LATE:,} rows of whole numbers", ("what", *READERS), lines, notes)


ODD = {
    "a fraction: 2.5": "2.5,1,1\n",
    "missing cells: empty, NA": ",NA,1\n",
    "missing cells: ?, null": "?,null,1\n",
    "a word: abc": "abc,1,1\n",
    "a row that is too short": "1,1\n",
}


def answer(name: str, path: Path) -> str:
    """Return what a reader made of the last row, or said of it."""
    try:
        last = None
        for chunk in chunks(name, path, known=False):
            last = chunk[-1]
    except Exception as error:  # whatever it says is the answer
        return f"refused: {str(error).splitlines()[0][:110]}".replace(str(path), path.name).replace("|", "/")
    return str(np.asarray(last).tolist())


if __name__ == "__main__":
    main()
