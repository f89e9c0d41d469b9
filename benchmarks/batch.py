"""Online to batch beside batch estimators: log loss on held-out rows, over random splits of ten binary data sets.

The rows are split at random; columns are standardised by the training rows, for every method alike. The learners see
the training rows once, in random order, at their defaults. Maximum likelihood has its penalty chosen by
cross-validation, at ten strengths and five folds: some fifty fits.
"""

import argparse
import importlib
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aioli import AIOLI, SMP, Auto, OnlineToBatch
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.threads import one_blas_thread
from benchmarks.real_streams import SkippedStreamError, load_stream, stream_names
from benchmarks.scores import log_loss
from benchmarks.table import Table, as_markdown

__all__ = ["batch_table", "choose", "load_shipped", "losses", "main", "shipped"]

LEAST_ROWS, MOST_ROWS, MOST_COLUMNS = 500, 5000, 100  # what a batch user cross-validates on, and SMP can be played on
TRAINING = 0.7
REFERENCE = "maximum likelihood"
METHODS = (
    REFERENCE,
    *("Auto, average", "Auto, last half", "Auto, last state"),
    *("AIOLI, average", "AIOLI, last half", "AIOLI, last state"),
    *("SMP", "SMP, penalty by CV"),
)

Data = dict[str, tuple[Matrix, Vector]]
Losses = dict[str, list[float]]  # by method, one entry a split; NaN where it was not played


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    folder = os.environ.get("AIOLI_STREAMS")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.batch",
        description=__doc__,
        epilog="Without a folder, ten data sets made of those that scikit-learn ships are used.",
    )
    parser.add_argument("--streams", type=Path, default=folder and Path(folder), metavar="DIR", help="of data sets")
    parser.add_argument("--splits", type=int, default=20, help="random splits of each data set")
    parser.add_argument("--smp-splits", type=int, default=3, help="of them, played by SMP: two fits a held-out row")
    parser.add_argument("--states", type=int, default=16, help="states averaged")
    options = parser.parse_args(arguments)
    data = shipped() if options.streams is None else choose(options.streams)
    found: dict[str, Losses] = {}
    with one_blas_thread():
        for name, (X, y) in data.items():
            found[name] = losses(X, y, options.splits, options.smp_splits, options.states)
            print(f"{name}: {np.mean(found[name]['Auto, average']):.4f} nats", flush=True)
    print(as_markdown(batch_table(data, found)))


# ---- data sets


def choose(folder: Path) -> Data:
    """The folder's binary streams of 500 to 5,000 rows and at most 100 columns; of those of one shape, the first."""
    data: Data = {}
    for name in stream_names(folder):
        try:
            X, y = load_stream(folder, name, MOST_ROWS + 1)
        except SkippedStreamError:
            continue
        fits = LEAST_ROWS <= len(y) <= MOST_ROWS and X.shape[1] <= MOST_COLUMNS
        if fits and X.shape not in [other.shape for other, _ in data.values()]:  # the same rows in other units
            data[name] = X, y
    return data


def shipped() -> Data:
    """Ten questions of two answers about the data sets of scikit-learn."""
    classes = {
        "breast_cancer": [("benign", 1)],
        "digits": [("one", 1), ("three", 3), ("eight", 8), ("nine", 9)],
        "iris": [("versicolor", 1), ("virginica", 2)],
        "wine": [("first", 0), ("second", 1)],
    }
    data: Data = {}
    for name, questions in classes.items():
        rows, labels = load_shipped(name)
        data |= {f"{name}, {said}": (rows, (labels == label).astype(np.float64)) for said, label in questions}
    rows, progress = load_shipped("diabetes")
    return data | {"diabetes, above the median": (rows, (progress > np.median(progress)).astype(np.float64))}


def load_shipped(name: str) -> tuple[Matrix, Any]:
    """Return the rows and labels of a data set of scikit-learn's."""
    X, labels = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")(return_X_y=True)
    return np.ascontiguousarray(X, dtype=np.float64), labels


# ---- methods


def losses(X: Matrix, y: Vector, splits: int, smp_splits: int, states: int) -> Losses:
    """Mean log loss on the held-out rows of each split, by method."""
    found: Losses = {method: [math.nan] * splits for method in METHODS}
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(y))
        train, test = np.split(order, [int(TRAINING * len(y))])
        mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
        Z = (X - mean) / np.where(deviation > 0.0, deviation, 1.0)
        for method, p in _predictions(Z[train], y[train], Z[test], split, split < smp_splits, states):
            found[method][split] = log_loss(p, y[test])
    return found


def _predictions(
    X: Matrix, y: Vector, asked: Matrix, split: int, smp: bool, states: int
) -> Iterator[tuple[str, Vector]]:
    reference = _cross_validated(X, y)
    yield REFERENCE, reference.predict_proba(asked)[:, 1]
    learners: dict[str, Callable[[], Any]] = {"Auto": Auto, "AIOLI": AIOLI}
    for name, make in learners.items():
        whole, half = (OnlineToBatch(make(), states, seed=split, share=share) for share in (1.0, 0.5))
        for model in (whole, half):
            model.learn_many(X, y)
        yield f"{name}, average", whole.predict_many(asked)
        yield f"{name}, last half", half.predict_many(asked)
        yield f"{name}, last state", whole.learner_.predict_many(asked)
    if smp:
        yield "SMP", SMP().fit(X, y).predict_many(asked)
        chosen = 1.0 / (float(reference.C_[0]) * len(y))  # scikit-learn's C, as the λ of a mean loss
        yield "SMP, penalty by CV", SMP(ridge=chosen).fit(X, y).predict_many(asked)


def _cross_validated(X: Matrix, y: Vector) -> Any:
    fit = importlib.import_module("sklearn.linear_model").LogisticRegressionCV
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of how to ask for no L1 penalty: versions differ
        return fit(Cs=10, cv=5, scoring="neg_log_loss", max_iter=5000).fit(X, y)


# ---- what was found


def batch_table(data: Data, found: dict[str, Losses]) -> Table:
    """Maximum likelihood's log loss; of the others, how much more it is, with its standard error over splits."""
    rows, beyond = [], {method: dict[str, tuple[float, float]]() for method in METHODS[1:]}
    for name, (X, y) in data.items():
        reference = np.array(found[name][REFERENCE])
        for method in METHODS[1:]:
            beyond[method][name] = _mean_and_error(np.array(found[name][method]) - reference)
        cells = [_cell(*beyond[method][name]) for method in METHODS[1:]]
        rows.append((name, str(len(y)), str(X.shape[1]), f"{reference.mean():.4f}", *cells))
    played = {method: [each for each in beyond[method].values() if not math.isnan(each[0])] for method in METHODS[1:]}
    notes = [_standing(method, differences) for method, differences in played.items() if differences]
    return Table("Held-out log loss beside maximum likelihood", ("data set", "rows", "columns", *METHODS), rows, notes)


def _cell(mean: float, error: float) -> str:
    if math.isnan(mean):
        return "–"
    return f"{mean:+.4f}" if math.isnan(error) else f"{mean:+.4f} ± {error:.4f}"


def _standing(method: str, beyond: Sequence[tuple[float, float]]) -> str:
    no_worse = sum(mean <= 0.0 for mean, _ in beyond)
    surely = [sum(sign * mean > 2.0 * error for mean, error in beyond) for sign in (-1.0, 1.0)]
    return (
        f"{method}: no worse than maximum likelihood on {no_worse} of {len(beyond)}; by more than two standard errors, "
        f"better on {surely[0]} and worse on {surely[1]}"
    )


def _mean_and_error(values: Vector) -> tuple[float, float]:
    played = values[~np.isnan(values)]
    if len(played) < 2:
        return float(np.mean(played)) if len(played) else math.nan, math.nan
    return float(played.mean()), float(played.std(ddof=1)) / math.sqrt(len(played))


if __name__ == "__main__":
    main()
