"""Mixed files with no option but the label, beside their prepared columns, Vowpal Wabbit and River's usual pipeline.

A folder holds `NAME.mixed.csv.gz`, rows of numbers and words with the label `y` in the last column, and beside it
`NAME.svm.gz`, the same rows prepared by somebody: one-hot encoded, missing values filled. Every learner announces each
row before its label: `aioli run` on the mixed file, on the same file with its columns shuffled, `Auto` on the prepared
columns, `vw` (as it comes, `--coin`, `-q ff`) and River (scaled numbers and one-hot words) on the mixed rows. Of more
than two labels, the most frequent one is played against the rest.
"""

import argparse
import csv
import gzip
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from aioli import Auto
from aioli.commands.learner_spec import learner_for
from aioli.commands.peers import River, VowpalWabbit
from aioli.evaluate.comparison import ClassPeer, Comparison, Peer
from aioli.evaluate.scores import LogLoss
from aioli.streams.filestream import FileStream
from aioli.streams.reading import Reading
from benchmarks.real_streams import read_stream
from benchmarks.table import Table, as_markdown

__all__ = ["main", "measure_file", "mixed_table"]

MIXED, PREPARED = ".mixed.csv.gz", ".svm.gz"
SHUFFLED = 0.005  # how far another order of columns may move the loss, of itself
HEAD = ("file", "rows", "aioli run", "shuffled", "Auto prepared", "VW", "VW --coin", "VW -q ff", "River", "met?")
COLUMNS = HEAD[2:-1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed_files", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of NAME.mixed.csv.gz and NAME.svm.gz")
    parser.add_argument("--rows", type=int, default=20_000, help="of each file, at most (default: 20000)")
    parser.add_argument("--only", help="names, with commas between")
    given = parser.parse_args(arguments)
    only = given.only.split(",") if given.only else None
    print(as_markdown(mixed_table(given.folder, given.rows, only)))


def mixed_table(folder: Path, rows: int, only: Sequence[str] | None = None) -> Table:
    """Return the log loss of everybody on every file, and whether what is promised holds."""
    names = sorted(path.name.removesuffix(MIXED) for path in folder.glob(f"*{MIXED}"))
    lines = []
    for name in names if only is None else only:
        count, losses = measure_file(folder, name, rows)
        lines.append((name, f"{count:,}", *(f"{losses[column]:.4f}" for column in COLUMNS), _met(losses)))
    notes = [
        "log loss; met: at or below Auto on the prepared columns, below every peer, and moved by less than 0.5 % where "
        "columns are shuffled"
    ]
    return Table("Mixed files with only --label", HEAD, lines, notes)


def _met(losses: dict[str, float]) -> str:
    """Return "yes", or what does not hold."""
    ours = losses["aioli run"]
    above = [name for name in COLUMNS[2:] if ours > losses[name] or (name != "Auto prepared" and ours == losses[name])]
    moved = abs(losses["shuffled"] - ours) / ours
    return (
        "; ".join([*(f"above {name}" for name in above), *([f"moved {moved:.1%}"] if moved >= SHUFFLED else [])])
        or "yes"
    )


def measure_file(folder: Path, name: str, rows: int) -> tuple[int, dict[str, float]]:
    """Return the number of rows, and everybody's log loss on one file."""
    with gzip.open(folder / f"{name}{MIXED}", "rt", encoding="utf-8", newline="") as packed:
        header, *table = islice(csv.reader(packed), rows + 1)
    labels = Counter(row[-1] for row in table)
    positive = labels.most_common(1)[0][0] if len(labels) > 2 else None
    losses: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as work:
        mixed, turned = Path(work) / "mixed.csv", Path(work) / "turned.csv"
        order = [*np.random.default_rng(0).permutation(len(header) - 1).tolist(), len(header) - 1]
        _write(mixed, [header, *table])
        _write(turned, ([row[j] for j in order] for row in [header, *table]))
        losses |= _played(mixed, positive, with_peers=True)
        losses["shuffled"] = _played(turned, positive)["aioli run"]
    losses["Auto prepared"] = _prepared(folder / f"{name}{PREPARED}", len(table), positive)
    return len(table), losses


def _write(path: Path, rows: Iterator[list[str]] | list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _played(path: Path, positive: str | None, with_peers: bool = False) -> dict[str, float]:
    """Return the losses of one pass over a file, of aioli's usual learner and of the peers if they are asked."""
    peers: dict[str, Peer | ClassPeer] = {
        "VW": VowpalWabbit(),
        "VW --coin": VowpalWabbit("--coin"),
        "VW -q ff": VowpalWabbit("-q ff"),
        "River": River("StandardScaler"),
    }
    with FileStream(str(path), Reading(label="y", positive=positive)) as stream:
        learner = learner_for("Auto", stream)
        stream.gives_raw = with_peers
        comparison = Comparison(stream, learner, peers if with_peers else {})
        for _ in comparison.tables():
            pass
        comparison.close()
    left = [entrant.left for entrant in comparison.entrants if entrant.left]
    if left:
        raise ValueError(left[0])
    return {"aioli run": comparison.scores.log_loss} | {e.name: e.scores.log_loss for e in comparison.entrants}


def _prepared(path: Path, rows: int, positive: str | None) -> float:
    """Return the loss of Auto on the columns that somebody prepared."""
    X, labels, classes = read_stream(path, rows)
    wanted = max(classes) if positive is None else float(positive)
    y = (labels == wanted).astype(np.float64)
    score = LogLoss()
    score.update(Auto().learn_many(X, y), y)
    return score.value


if __name__ == "__main__":
    main()
