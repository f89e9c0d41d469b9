"""Auto beside River's adaptive forest and tree where the world changes: the generators of the drift literature.

`python -m benchmarks.drift` plays 20,000 rows of each, with an abrupt change half-way, with a gradual one over 5,000
rows, or with a world that moves all the time; a run that is stopped goes on where it was.
"""

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from benchmarks.methods import METHODS
from benchmarks.progressive import one_thread
from benchmarks.results import Result, append_result, read_results
from benchmarks.scores import ROUGH_CLIP, accuracy, calibration_error, cohen_kappa, log_loss
from benchmarks.table import Table, as_markdown

__all__ = ["GENERATORS", "drifting_stream", "main"]

ROWS = 20_000
PLAYERS = ("auto", "river-arf", "river-hat", "river-sgd-0.1")
ABRUPT, GRADUAL = 100, ROWS // 4  # rows over which one concept gives way to the next

Make = Callable[[], Any]


def _synth(name: str, **settings: Any) -> Any:
    return getattr(importlib.import_module("river.datasets.synth"), name)(**settings)


def _changing(make: Callable[..., Any], settings: Sequence[dict[str, Any]], width: int) -> Make:
    """Return what makes a stream that goes from one concept to the next half-way, over so many rows."""

    def made() -> Any:
        before, after = (make(seed=seed, **given) for seed, given in enumerate(settings, 1))
        return _synth("ConceptDriftStream", stream=before, drift_stream=after, position=ROWS // 2, width=width, seed=3)

    return made


_CHANGES: dict[str, tuple[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "Agrawal": ("Agrawal", ({"classification_function": 0}, {"classification_function": 6})),
    "Sine": ("Sine", ({"classification_function": 0}, {"classification_function": 3})),
    "STAGGER": ("STAGGER", ({"classification_function": 0}, {"classification_function": 2})),
    "Mixed": ("Mixed", ({"classification_function": 0}, {"classification_function": 1})),
    "SEA": ("SEA", ({"variant": 0, "noise": 0.1}, {"variant": 3, "noise": 0.1})),
    "random tree": ("RandomTree", ({"seed_tree": 1}, {"seed_tree": 2})),
}


def _changing_synth(name: str, settings: Sequence[dict[str, Any]], width: int) -> Make:
    def make(seed: int, **given: Any) -> Any:
        seeds = {"seed_sample": seed} if name == "RandomTree" else {"seed": seed}
        return _synth(name, **seeds, **given)

    return _changing(make, settings, width)


GENERATORS: dict[str, Make] = {
    **{f"{shown}, abrupt": _changing_synth(name, given, ABRUPT) for shown, (name, given) in _CHANGES.items()},
    **{f"{shown}, gradual": _changing_synth(name, given, GRADUAL) for shown, (name, given) in _CHANGES.items()},
    "LED, abrupt": partial(
        _synth, "LEDDrift", seed=1, noise_percentage=0.1, irrelevant_features=True, n_drift_features=7
    ),
    "hyperplane": partial(_synth, "Hyperplane", seed=1, n_features=10, n_drift_features=5, mag_change=0.001),
    "moving radial bases": partial(
        _synth, "RandomRBFDrift", seed_model=1, seed_sample=1, n_features=10, n_centroids=50, change_speed=0.001
    ),
}


def drifting_stream(name: str, rows: int = ROWS) -> tuple[Matrix, Vector]:
    """Return rows and labels of a generator; classes beyond two become the lower and the upper half of them."""
    taken = list(islice(GENERATORS[name](), rows))
    columns = list(taken[0][0])
    X = np.array([[float(x[column]) for column in columns] for x, _ in taken])
    labels = np.array([int(label) for _, label in taken])
    return X, (labels > np.median(np.unique(labels)) - 0.25).astype(np.float64)


def main(arguments: Sequence[str] | None = None) -> None:
    """Play what has not been played yet, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("drift"), metavar="DIR", help="where the results go")
    parser.add_argument("--rows", type=int, default=ROWS, help="of each generator")
    parser.add_argument("--only", nargs="*", default=list(GENERATORS), metavar="NAME", help="generators, by name")
    parser.add_argument("--methods", nargs="*", default=list(PLAYERS), metavar="NAME", help="by name")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    path: Path = options.out / "results.csv"
    done = {(r.stream, r.method) for r in read_results(path) if r.rows == options.rows}
    for name in options.only:
        missing = [method for method in options.methods if (name, method) not in done]
        X, y = drifting_stream(name, options.rows) if missing else (np.empty((0, 0)), np.empty(0))
        for method in missing:
            result = _played(name, method, X, y)
            append_result(path, result)
            print(f"{name} {method}: {result.clipped_loss:.4f} nats, {result.seconds:.1f} s", flush=True)
    table = _table([r for r in read_results(path) if r.rows == options.rows])
    (options.out / "table.md").write_text(table, encoding="utf-8")
    print(table)


def _played(name: str, method: str, X: Matrix, y: Vector) -> Result:
    begin = time.perf_counter()
    with one_thread():
        p = np.array(list(METHODS[method].play(X, y).probabilities))
    seconds = round(time.perf_counter() - begin, 3)
    scores = log_loss(p, y, ROUGH_CLIP), accuracy(p, y), cohen_kappa(p, y)
    return Result(name, len(y), X.shape[1], method, log_loss(p, y), calibration_error(p, y), seconds, "", *scores)


def _table(results: Sequence[Result]) -> str:
    """Return the losses as Markdown, and on how many generators Auto is below all others."""
    losses = {(r.stream, r.method): r.clipped_loss for r in results}
    names, methods = (list(dict.fromkeys(part)) for part in ([r.stream for r in results], [r.method for r in results]))
    rows = [(name, *(f"{losses.get((name, method), np.nan):.4f}" for method in methods)) for name in names]
    whole = [name for name in names if all((name, method) in losses for method in PLAYERS)]
    won = sum(min(PLAYERS, key=lambda method: losses[name, method]) == "auto" for name in whole)
    notes = [f"Auto below every other on {won} of {len(whole)}", "log loss of probabilities within [0.001, 0.999]"]
    return as_markdown(Table("Where the world changes", ("generator", *methods), rows, notes))


if __name__ == "__main__":
    main()
