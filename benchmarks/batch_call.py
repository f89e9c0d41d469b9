"""`AIOLIClassifier().fit` beside `LogisticRegressionCV`: the log loss of cross-validation, on rows in unlucky orders.

Three ways to split: folds of rows as they lie in the file; the same of rows sorted by their label; and folds of groups,
a group being one of fifty ranges of the column that says least of the label. `LogisticRegressionCV` has its columns
standardised by the training rows, and chooses its penalty by the log loss, at ten strengths and five folds.
"""

import argparse
import importlib
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.threads import one_blas_thread
from aioli.sklearn import AIOLIClassifier
from benchmarks.batch import choose, load_shipped, shipped
from benchmarks.table import Table, as_markdown

__all__ = ["call_table", "main", "scores"]

FOLDS = 5
GROUPS = 50
ALLOWED = 1.02  # of maximum likelihood's log loss
SPLITS = ("as they lie", "sorted by label", "in groups")

Data = dict[str, tuple[Matrix, Vector]]
Scores = dict[str, tuple[float, float]]  # by split: the log losses of `fit` and of maximum likelihood


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    folder = os.environ.get("AIOLI_STREAMS")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch_call", description=__doc__)
    parser.add_argument("--streams", type=Path, default=folder and Path(folder), metavar="DIR", help="of data sets")
    parser.add_argument("--only", default="", metavar="NAME,…", help="some data sets, by the beginnings of their names")
    options = parser.parse_args(arguments)
    several = {name: load_shipped(name) for name in ("iris", "wine")}  # three classes
    data = shipped() | several | ({} if options.streams is None else choose(options.streams))
    asked = [name for name in data if name.startswith(tuple(options.only.split(",")))]
    found: dict[str, Scores] = {}
    seconds: dict[str, tuple[float, float]] = {}
    with one_blas_thread():
        for name in asked:
            found[name], seconds[name] = scores(*data[name])
            print(
                name, {split: f"{ours / theirs - 1:+.2%}" for split, (ours, theirs) in found[name].items()}, flush=True
            )
    print(as_markdown(call_table(data, found, seconds)))


def scores(X: Matrix, y: Vector) -> tuple[Scores, tuple[float, float]]:
    """Return the two log losses of each way to split, and the seconds of either in all."""
    selection = importlib.import_module("sklearn.model_selection")
    by_label = np.argsort(y, kind="stable")
    ways = {
        SPLITS[0]: (X, y, selection.StratifiedKFold(FOLDS), None),
        SPLITS[1]: (X[by_label], y[by_label], selection.StratifiedKFold(FOLDS), None),
        SPLITS[2]: (X, y, selection.GroupKFold(FOLDS), _groups(X, y)),
    }
    found: Scores = {}
    spent = [0.0, 0.0]
    for split, (rows, labels, folds, groups) in ways.items():
        losses = []
        for i, model in enumerate((AIOLIClassifier(), _maximum_likelihood())):
            begun = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = selection.cross_val_score(
                    model, rows, labels, cv=folds, groups=groups, scoring="neg_log_loss", error_score="raise"
                )
            spent[i] += time.perf_counter() - begun
            losses.append(-float(score.mean()))
        found[split] = losses[0], losses[1]
    return found, (spent[0], spent[1])


def call_table(data: Data, found: dict[str, Scores], seconds: dict[str, tuple[float, float]]) -> Table:
    """Return maximum likelihood's log loss in each split, and how much more or less `fit`'s is."""
    heading = ("data set", "rows", "columns", *SPLITS, "time")
    rows = []
    for name, losses in found.items():
        cells = [f"{theirs:.4f} {ours / theirs - 1:+.1%}" for ours, theirs in losses.values()]
        ours, theirs = seconds[name]
        rows.append((name, str(len(data[name][1])), str(data[name][0].shape[1]), *cells, f"{ours / theirs:.2g}×"))
    within = [sum(losses[split][0] <= ALLOWED * losses[split][1] for losses in found.values()) for split in SPLITS]
    notes = [f"within 2 % {split}: {count} of {len(found)}" for split, count in zip(SPLITS, within, strict=True)]
    return Table("`fit` beside cross-validated maximum likelihood", heading, rows, notes)


def _maximum_likelihood() -> Any:
    make = importlib.import_module("sklearn.pipeline").make_pipeline
    scaler = importlib.import_module("sklearn.preprocessing").StandardScaler()
    linear = importlib.import_module("sklearn.linear_model")
    return make(scaler, linear.LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=5000))


def _groups(X: Matrix, y: Vector) -> Any:
    """Return the group of each row: the range that a column falls in, of the column that says least of the label."""
    ranks = np.argsort(np.argsort(X + 1e-9 * np.arange(len(y))[:, None], axis=0), axis=0)
    told = np.abs(np.corrcoef(ranks, y, rowvar=False)[-1, :-1])
    return ranks[:, int(np.argmin(np.nan_to_num(told, nan=1.0)))] * GROUPS // len(y)


if __name__ == "__main__":
    main()
