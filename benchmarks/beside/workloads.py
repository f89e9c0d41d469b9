"""Small workloads of the public names alone, so that they run with the sources of any commit."""

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from aioli import AIOLI, Auto, KernelAIOLI, Nystrom, RandomFeatures, Wide

__all__ = ["WORKLOADS", "Prepare", "write_rows"]

Run = Callable[[], object]
Prepare = Callable[[], Run]  # makes a fresh contender, untimed, and returns the run that is timed

WIDTH_OF_COMMAND = 10
ROWS_OF_COMMAND = {"AIOLI": 200_000, "Auto": 20_000}  # each about a second, half of it the start


@cache
def dense(rows: int, width: int) -> tuple[Any, Any]:
    """Make normal rows of length about 1 to 3, and logistic labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, width)) * min(1.0, 3.0 / np.sqrt(width))
    return X, (X @ rng.normal(size=width) + rng.logistic(size=rows) > 0.0).astype(float)


@cache
def words(rows: int, width: int, entries: int) -> tuple[Any, Any]:
    """Make CSR rows of a few out of many columns, and labels."""
    rng = np.random.default_rng(0)
    drawn = np.minimum(rng.zipf(1.3, size=(rows, entries)), width) - 1
    X = sparse.csr_array((np.ones(drawn.size), drawn.ravel(), np.arange(rows + 1) * entries), shape=(rows, width))
    X.sum_duplicates()
    return X, (rng.random(rows) < 0.5).astype(float)


def learning_single(make: Callable[[], Any], rows: int, width: int) -> Prepare:
    """Make the workload of `learn`, row by row."""

    def prepare() -> Run:
        X, y = dense(rows + 1, width)
        learner, pairs = make(), list(zip(X[1:], y[1:], strict=True))
        learner.learn(X[0], y[0])
        return lambda: [learner.learn(x, t) for x, t in pairs]

    return prepare


def predicting_single(make: Callable[[], Any], rows: int, width: int) -> Prepare:
    """Make the workload of `predict`, row by row."""

    def prepare() -> Run:
        X, y = dense(rows, width)
        learner, several = make(), list(X)
        learner.learn_many(X[:200], y[:200])
        return lambda: [learner.predict(x) for x in several]

    return prepare


def learning_many(make: Callable[[], Any], rows: int, width: int) -> Prepare:
    """Make the workload of `learn_many`."""

    def prepare() -> Run:
        X, y = dense(rows, width)
        learner = make()
        return lambda: learner.learn_many(X, y)

    return prepare


def _learning_words() -> Run:
    X, y = words(1000, 20_000, 30)
    learner = Wide()
    return lambda: learner.learn_many(X, y)


def _learning_single_words() -> Run:
    X, y = words(300, 20_000, 30)
    learner = Wide()
    learner.learn_many(X, y)
    pairs = [(X[[t]], y[t]) for t in range(X.shape[0])]
    return lambda: [learner.learn(x, t) for x, t in pairs]


@cache
def _saving() -> Run:
    X, y = dense(300, 200)
    learner = Auto()
    learner.learn_many(X, y)

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            learner.save(Path(folder) / "model")
            Auto.load(Path(folder) / "model")

    return run


def _partial_fit() -> Run:
    X, y = dense(2000, 10)
    model = importlib.import_module("aioli.sklearn").AIOLIClassifier()

    def run() -> None:
        for k in range(0, len(y), 100):
            model.partial_fit(X[k : k + 100], y[k : k + 100], classes=[0.0, 1.0])

    return run


def _learn_one() -> Run:
    X, y = dense(1000, 10)
    names = [f"x{j}" for j in range(10)]
    rows = [(dict(zip(names, x, strict=True)), bool(t)) for x, t in zip(X.tolist(), y, strict=True)]
    model = importlib.import_module("aioli.river").AIOLIClassifier(AIOLI())

    def run() -> None:
        for x, t in rows:
            model.learn_one(x, t)

    return run


def write_rows(folder: Path) -> None:
    """Write the files that the workloads of the command play."""
    for learner, rows in ROWS_OF_COMMAND.items():
        X, y = dense(rows, WIDTH_OF_COMMAND)
        with (folder / f"{learner}.csv").open("w", encoding="utf-8") as file:
            file.write(",".join(f"x{j}" for j in range(WIDTH_OF_COMMAND)) + ",y\n")
            for x, label in zip(X.tolist(), y.tolist(), strict=True):
                file.write(",".join(f"{value:.6g}" for value in x) + f",{label:.0f}\n")


def playing_file(learner: str) -> Prepare:
    """Make the workload of the command over its file, a whole process."""
    asked = ["run", f"{learner}.csv", "--label", "y", "--learner", learner, "--json"]
    command = [sys.executable, "-P", "-m", "aioli", *asked]
    return lambda: lambda: subprocess.run(command, capture_output=True, check=True)


def _workloads() -> dict[str, Prepare]:
    found: dict[str, Prepare] = {}
    for width, rows in ((10, 3000), (50, 2000), (200, 500)):
        found[f"AIOLI, learn, d = {width}"] = learning_single(AIOLI, rows, width)
        found[f"AIOLI, predict, d = {width}"] = predicting_single(AIOLI, rows, width)
    for width, rows in ((10, 20_000), (50, 8000), (200, 1000), (1000, 256)):
        found[f"AIOLI, learn_many, d = {width}"] = learning_many(AIOLI, rows, width)
    for width, rows in ((10, 1000), (50, 400)):
        found[f"Auto, learn, d = {width}"] = learning_single(Auto, rows, width)
        found[f"Auto, predict, d = {width}"] = predicting_single(Auto, rows, width)
    for width, rows in ((10, 4000), (50, 1000)):
        found[f"Auto, learn_many, d = {width}"] = learning_many(Auto, rows, width)
    return {
        **found,
        "Wide, learn_many": _learning_words,
        "Wide, learn": _learning_single_words,
        "RandomFeatures, learn_many": learning_many(lambda: RandomFeatures(features=64), 1000, 5),
        "Nystrom, learn_many": learning_many(lambda: Nystrom(points=64), 600, 5),
        "KernelAIOLI, learn_many": learning_many(KernelAIOLI, 400, 5),
        "Auto, save and load, d = 200": _saving,
        "scikit-learn, partial_fit": _partial_fit,
        "River, learn_one": _learn_one,
        "aioli run, AIOLI": playing_file("AIOLI"),
        "aioli run, Auto": playing_file("Auto"),
    }


WORKLOADS = _workloads()
