"""A table that is there at once, the case of batch models: held-out log loss beside scikit-learn's and LightGBM's.

    python -m benchmarks.held_out            # about two minutes; needs '.[bench]'

Each data set is divided at random, 70 % to learn from; every model is at its defaults, and sees the training rows as
often as it likes. It is the game for which boosting is made, and aioli is not.
"""

import argparse
import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from aioli.commands.peers import unchecked
from aioli.numerics.compiling import Matrix, Vector
from aioli.sklearn import AIOLIClassifier
from benchmarks.table import Table, as_markdown

__all__ = ["main"]

SHARE = 0.7  # of the rows, to learn from


def main() -> None:
    """Play the splits and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.held_out", description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    splits = parser.parse_args().splits
    lines, totals = [], dict.fromkeys(models(), 0.0)
    for name, X, y in data_sets():
        losses: dict[str, list[float]] = {model: [] for model in totals}
        for seed in range(splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = np.split(order, [round(SHARE * len(y))])
            for model, make in models().items():
                start = time.perf_counter()
                losses[model].append(loss_of(make(), X[train], y[train], X[test], y[test]))
                totals[model] += time.perf_counter() - start
        means = {model: float(np.mean(values)) for model, values in losses.items()}
        best = min(means, key=lambda model: means[model])
        shown = [f"**{loss:.4f}**" if model == best else f"{loss:.4f}" for model, loss in means.items()]
        lines.append([name, str(len(y)), str(X.shape[1]), *shown])
    notes = [
        f"mean over {splits} splits; nats a held-out row; the least is bold",
        "seconds in all: " + ", ".join(f"{model} {seconds:.0f}" for model, seconds in totals.items()),
    ]
    print(as_markdown(Table("Held-out log loss", ["data", "rows", "columns", *totals], lines, notes)))


def models() -> dict[str, Callable[[], Any]]:
    """Return the models by name, each at its defaults."""
    linear, pipeline = importlib.import_module("sklearn.linear_model"), importlib.import_module("sklearn.pipeline")
    ensemble, scaling = importlib.import_module("sklearn.ensemble"), importlib.import_module("sklearn.preprocessing")
    boosted = importlib.import_module("lightgbm")
    return {
        "AIOLIClassifier": AIOLIClassifier,
        "LogisticRegression": lambda: pipeline.make_pipeline(
            scaling.StandardScaler(), linear.LogisticRegression(max_iter=1000)
        ),
        "RandomForest": lambda: ensemble.RandomForestClassifier(random_state=0),
        "HistGradientBoosting": lambda: ensemble.HistGradientBoostingClassifier(random_state=0),
        "LightGBM": lambda: boosted.LGBMClassifier(random_state=0, n_jobs=1, verbosity=-1),
    }


def data_sets() -> Iterator[tuple[str, Matrix, Vector]]:
    """Yield the tables that scikit-learn and River ship, and two that are made: one linear, one of steps."""
    shipped, river = importlib.import_module("sklearn.datasets"), importlib.import_module("river.datasets")
    X, y = shipped.load_breast_cancer(return_X_y=True)
    yield "breast_cancer", X, y
    X, digit = shipped.load_digits(return_X_y=True)
    yield "digits, odd", X, digit % 2
    for name, stream in (("phishing", river.Phishing()), ("bananas", river.Bananas())):
        rows = [(list(x.values()), label) for x, label in stream]
        yield name, np.array([x for x, _ in rows], dtype=float), np.array([label for _, label in rows], dtype=float)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 10))
    yield "made: linear", X, (X @ rng.normal(size=10) + rng.logistic(size=6000) > 0).astype(np.float64)
    X = rng.uniform(size=(6000, 10))
    step = 3.0 * (X[:, 0] > 0.6) * (X[:, 1] > 0.3) - 2.0 * (X[:, 2] < 0.4) + 2.0 * (X[:, 3] > X[:, 4])
    yield "made: steps", X, (step - 0.5 + rng.logistic(size=6000) > 0).astype(np.float64)


def loss_of(model: Any, X: Matrix, y: Vector, new: Matrix, truth: Vector) -> float:
    """Return the mean log loss of held-out rows; a probability counts as at least 1e-15."""
    with unchecked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM names columns and misses the names
        p = model.fit(X, y).predict_proba(new)[:, 1]
    p = np.clip(p, 1e-15, 1.0 - 1e-15)
    return float(-np.log(np.where(truth, p, 1.0 - p)).mean())


if __name__ == "__main__":
    main()
