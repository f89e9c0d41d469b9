"""aioli against River, scikit-learn and Vowpal Wabbit: the same rows, to each in the form that it likes best."""

import importlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aioli import AIOLI, Auto
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.streams import normal_stream
from benchmarks.table import Comparison, compare
from benchmarks.timing import Prepare, Run, side_by_side

__all__ = ["compare_auto", "compare_bulk", "compare_row_by_row", "river_rows", "versions"]

VW_OPTIONS = "--loss_function logistic --quiet --no_stdin"


def versions() -> dict[str, str]:
    """The peers' versions."""
    names = ("river", "sklearn", "vowpalwabbit")
    return {name: str(importlib.import_module(name).__version__) for name in names}


def compare_row_by_row(
    width: int, rows: int, repeats: int, *, aioli: float, auto: float
) -> tuple[list[Comparison], float]:
    """Predict and learn one row at a time, against River; also the seconds that a dictionary takes to make.

    River is given its dictionaries ready made: the charitable choice, as a NumPy row would have to become one.
    """
    X, y = normal_stream(rows, width)
    vectors, labels = list(X), [bool(label) for label in y]
    times = side_by_side(
        {
            "aioli": _row_by_row(AIOLI, vectors, labels),
            "auto": _row_by_row(_fast_auto, vectors, labels),
            "river": river_rows(X, labels, _logistic_regression),
            "dicts": lambda: lambda: [dict(enumerate(x.tolist())) for x in vectors],
        },
        repeats,
    )
    peer, theirs = "River, dicts ready made", times["river"] / rows
    found = [
        compare("AIOLI: predict + learn, one row", width, times["aioli"] / rows, peer, theirs, aioli),
        compare('Auto(budget="fast"): predict + learn, one row', width, times["auto"] / rows, peer, theirs, auto),
    ]
    return found, float(np.median(times["dicts"])) / rows


def compare_bulk(width: int, rows: int, repeats: int, *, sgd: float, vw: float) -> list[Comparison]:
    """`learn_many` against scikit-learn's `partial_fit` and both of Vowpal Wabbit's ways to read the rows.

    Vowpal Wabbit reads text: lines handed to `learn` from Python, on which the goal is, since all here play in
    one process and one thread; or a file that it parses in a second thread, less what it takes to start on one row.
    """
    X, y = normal_stream(rows, width)
    lines = _vw_lines(X, y)
    with tempfile.TemporaryDirectory() as folder:
        whole, single = Path(folder, "rows.vw"), Path(folder, "row.vw")
        whole.write_text("\n".join(lines) + "\n")
        single.write_text(lines[0] + "\n")
        times = side_by_side(
            {
                "aioli": _bulk(AIOLI, X, y),
                "sgd": _sklearn_bulk(X, y),
                "vw lines": _vw_reads_lines(lines),
                "vw file": _vw_reads_file(whole),
                "vw start": _vw_reads_file(single),
            },
            repeats,
        )
    ours = times["aioli"] / rows
    by_line = times["vw lines"] / rows
    by_file = (times["vw file"] - np.min(times["vw start"])) / rows  # the least, so that a slow start takes no more off
    return [
        compare("AIOLI: learn_many", width, ours, "scikit-learn SGD partial_fit", times["sgd"] / rows, sgd),
        compare("AIOLI: learn_many", width, ours, "Vowpal Wabbit, lines", by_line, vw),
        compare("AIOLI: learn_many", width, ours, "Vowpal Wabbit, file, 2 threads", by_file, None),
    ]


def compare_auto(width: int, rows: int, repeats: int, goal: float) -> Comparison:
    """The `learn_many` of Auto's linear experts against that of a single AIOLI."""
    X, y = normal_stream(rows, width)
    times = side_by_side({"auto": _bulk(_fast_auto, X, y), "aioli": _bulk(AIOLI, X, y)}, repeats)
    ours, single = times["auto"] / rows, times["aioli"] / rows
    return compare('Auto(budget="fast"): learn_many', width, ours, "a single AIOLI", single, goal)


def _fast_auto() -> Auto:
    return Auto(budget="fast")


def _row_by_row(make: Callable[[], Learner], rows: list[Vector], labels: list[bool]) -> Prepare:
    def prepare() -> Run:
        learner = make()
        learner.learn(rows[0], labels[0])

        def run() -> None:
            for x, y in zip(rows, labels, strict=True):
                learner.predict(x)
                learner.learn(x, y)

        return run

    return prepare


def river_rows(X: Matrix, labels: Sequence[object], make: Callable[[], Any]) -> Prepare:
    """Return a contender of River's that announces and learns the rows one by one, dictionaries ready made."""
    rows = [dict(enumerate(x.tolist())) for x in X]

    def prepare() -> Run:
        learner = make()

        def run() -> None:
            for x, label in zip(rows, labels, strict=True):
                learner.predict_proba_one(x)
                learner.learn_one(x, label)

        return run

    return prepare


def _logistic_regression() -> Any:
    scaler = importlib.import_module("river.preprocessing").StandardScaler()
    return scaler | importlib.import_module("river.linear_model").LogisticRegression()


def _bulk(make: Callable[[], Learner], X: Matrix, y: Vector) -> Prepare:
    def prepare() -> Run:
        learner = make()
        learner.learn(X[0], y[0])
        return lambda: learner.learn_many(X, y)

    return prepare


def _sklearn_bulk(X: Matrix, y: Vector) -> Prepare:
    models = importlib.import_module("sklearn.linear_model")

    def prepare() -> Run:
        learner = models.SGDClassifier(loss="log_loss")
        learner.partial_fit(X[:1], y[:1], classes=[0.0, 1.0])
        return lambda: learner.partial_fit(X, y)

    return prepare


def _vw_reads_lines(lines: list[str]) -> Prepare:
    vw = importlib.import_module("vowpalwabbit")

    def prepare() -> Run:
        learner = vw.Workspace(VW_OPTIONS)

        def run() -> None:
            for line in lines:
                learner.learn(line)

        return run

    return prepare


def _vw_reads_file(path: Path) -> Prepare:
    vw = importlib.import_module("vowpalwabbit")
    arguments = [*VW_OPTIONS.split(), "--data", str(path)]
    return lambda: lambda: vw.Workspace(arg_list=arguments)


def _vw_lines(X: Matrix, y: Vector) -> list[str]:
    """The rows as its text: six digits, as few as the single precision that it computes in warrants."""
    return [
        f"{1 if label else -1} | " + " ".join(f"{j}:{value:.6g}" for j, value in enumerate(x))
        for x, label in zip(X.tolist(), y, strict=True)
    ]
