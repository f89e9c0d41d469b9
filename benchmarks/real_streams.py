"""Binary streams in file order: from a folder of files, or those that the peers ship with themselves."""

import gzip
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aioli.numerics.compiling import Matrix, Vector

__all__ = [
    "MOST_COLUMNS",
    "SkippedStreamError",
    "load_stream",
    "read_stream",
    "stream_files",
    "stream_names",
    "stream_sizes",
]

MOST_COLUMNS = 700  # beyond it the peers that keep a d×d matrix in Python would take hours
UNENCODED = (
    ".mixed.csv.gz",
    ".text.csv.gz",
    ".features.tsv.gz",
)  # companions of an encoded stream, not streams
KINDS = (".csv.gz", ".csv", ".svm.gz", ".svm")


class SkippedStreamError(ValueError):
    """The stream is not one that binary learners of dense rows can be compared on; the message says why."""


def stream_names(folder: Path | None) -> list[str]:
    """The streams of the folder, or without one the streams that dependencies ship, by name."""
    return sorted(_SHIPPED if folder is None else stream_files(folder))


def load_stream(folder: Path | None, name: str, rows: int) -> tuple[Matrix, Vector]:
    """The first rows of a stream, raw and dense, and their labels 0.0 or 1.0: 1 is the greater of the two."""
    if folder is None:
        X, y = _SHIPPED[name]()
        return X[:rows], y[:rows]
    X, labels, classes = read_stream(stream_files(folder)[name], rows)
    if len(classes) != 2:
        raise SkippedStreamError(f"{len(classes)} labels, not two")
    if X.shape[1] > MOST_COLUMNS:
        raise SkippedStreamError(f"{X.shape[1]} columns, more than {MOST_COLUMNS}")
    return np.ascontiguousarray(X, dtype=np.float64), (labels == max(classes)).astype(np.float64)


def stream_sizes(folder: Path | None, only: Sequence[str], rows: int) -> dict[str, int]:
    """The streams that can be played, with their rows; the others are named and passed over."""
    names = [name for name in stream_names(folder) if not only or name in only]
    if missing := sorted(set(only) - set(names)):
        raise SystemExit(f"there is no stream called {', '.join(missing)}")
    sizes: dict[str, int] = {}
    for name in names:
        try:
            sizes[name] = len(load_stream(folder, name, rows)[1])
        except SkippedStreamError as reason:
            print(f"{name}: skipped, {reason}", flush=True)
    return sizes


def read_stream(path: Path, rows: int) -> tuple[Matrix, Vector, set[float]]:
    """The first rows of a file, their labels as they are, and the labels of the whole file."""
    return _read_svm(path, rows) if ".svm" in path.suffixes else _read_csv(path, rows)


def stream_files(folder: Path) -> dict[str, Path]:
    """The files of a folder that are streams, by name."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        kind = next((kind for kind in KINDS if path.name.endswith(kind)), None)
        if kind is not None and not path.name.endswith(UNENCODED):
            found.setdefault(path.name.removesuffix(kind), path)
    return found


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [line for line in file if line.strip() and not line.startswith("#")]


def _read_csv(path: Path, rows: int) -> tuple[Matrix, Vector, set[float]]:
    """Columns, labels, and the classes of the whole file: a class that comes late makes it no binary stream."""
    lines = _lines(path)[1:]
    values = np.loadtxt(lines[:rows], delimiter=",", ndmin=2)
    return values[:, :-1], values[:, -1], {float(line.rsplit(",", 1)[1]) for line in lines}


def _read_svm(path: Path, rows: int) -> tuple[Matrix, Vector, set[float]]:
    lines = _lines(path)
    labels: list[float] = []
    places: tuple[list[int], list[int], list[float]] = ([], [], [])
    for t, line in enumerate(lines[:rows]):
        label, *entries = line.split("#", 1)[0].split()
        labels.append(float(label))
        for entry in entries:
            column, value = entry.split(":")
            places[0].append(t)
            places[1].append(int(column) - 1)
            places[2].append(float(value))
    width = max(places[1], default=-1) + 1
    classes = {float(line.split(None, 1)[0]) for line in lines}
    if width > MOST_COLUMNS:  # not made dense: it may not fit into memory
        return np.empty((0, width)), np.array(labels), classes
    X = np.zeros((len(labels), width))
    X[places[0], places[1]] = places[2]
    return X, np.array(labels), classes


def _sklearn(name: str, positive: Callable[[Any], Any], shuffled: bool = False) -> tuple[Matrix, Vector]:
    data = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")()
    X, y = np.array(data.data, dtype=np.float64), np.asarray(positive(data.target), dtype=np.float64)
    # A source sorted by its classes is no stream.
    order = np.random.default_rng(0).permutation(len(y)) if shuffled else np.arange(len(y))
    return X[order], y[order]


def _river(name: str, positive: object) -> tuple[Matrix, Vector]:
    rows = list(getattr(importlib.import_module("river.datasets"), name)())
    columns = list(rows[0][0])
    X = np.array([[x.get(column, 0.0) for column in columns] for x, _ in rows], dtype=np.float64)
    return X, np.array([label == positive for _, label in rows], dtype=np.float64)


_SHIPPED: dict[str, Callable[[], tuple[Matrix, Vector]]] = {
    "bananas": lambda: _river("Bananas", True),
    "breast_cancer": lambda: _sklearn("breast_cancer", lambda label: label == 1),
    "digits_odd": lambda: _sklearn("digits", lambda label: label % 2 == 1),
    "iris_versicolor": lambda: _sklearn("iris", lambda label: label == 1, shuffled=True),
    "phishing": lambda: _river("Phishing", True),
    "segments_window": lambda: _river("ImageSegments", "window"),
    "wine_first": lambda: _sklearn("wine", lambda label: label == 0, shuffled=True),
}
