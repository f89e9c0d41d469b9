"""A fleet beside a dictionary of learners: rows a second, memory a model, and ten million keys with a spill.

Times are of the processor, so that other work on the machine weighs less; each figure is the best of three passes.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from aioli import AIOLI, Fleet
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["main"]

PARTS = ["dictionary", "sizes", "storage", "pooling", "spill"]
PASSES = 3
BATCH = 8192  # rows that come at once
GIB = 2.0**30


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--keys", type=int, default=10_000_000, help="keys of the spill")
    parser.add_argument("--memory", type=float, default=1.5, help="GiB that the fleet of the spill may take")
    parser.add_argument("--folder", help="where the spill goes")
    options = parser.parse_args(arguments)
    wanted = options.only or PARTS
    if "dictionary" in wanted:
        beside_a_dictionary()
    if "sizes" in wanted:
        sizes()
    if "storage" in wanted:
        storage()
    if "pooling" in wanted:
        pooling()
    if "spill" in wanted:
        spill(options.keys, options.memory, options.folder)


def rows_of(rng: np.random.Generator, n: int, d: int, keys: int) -> tuple[np.ndarray, Matrix, Vector]:
    """Rows of uniformly drawn keys, whose labels half follow the first column."""
    X = rng.normal(size=(n, d))
    return rng.integers(0, keys, size=n), X, np.where(X[:, 0] + rng.logistic(size=n) > 0, 1.0, 0.0)


def seconds_of(run: Callable[[], object], passes: int = PASSES) -> float:
    """The least processor time of several passes."""
    least = np.inf
    for _ in range(passes):
        begun = time.process_time()
        run()
        least = min(least, time.process_time() - begun)
    return float(least)


def learn_all(fleet: Fleet, keys: np.ndarray, X: Matrix, y: Vector) -> None:
    """Learn the rows, batch by batch."""
    for first in range(0, len(y), BATCH):
        part = slice(first, first + BATCH)
        fleet.learn_many(keys[part], X[part], y[part])


def beside_a_dictionary() -> None:
    """Print what a dictionary of learners takes for the same rows, learners that exist and new ones apart.

    The dictionary's rows are played as a program with objects would: one by one, in order, `learn` of the key's own.
    """
    print("| rows of 10 columns | keys | | dictionary, rows/s | fleet, rows/s | times |")
    print("|---|---|---|---|---|---|")
    for n, count in ((200_000, 20_000), (400_000, 100_000)):
        _beside_a_dictionary_of(n, count)


def _beside_a_dictionary_of(n: int, count: int) -> None:
    """Print both passes of one number of rows and keys."""
    keys, X, y = rows_of(np.random.default_rng(0), n, 10, count)
    learners: dict[int, AIOLI] = {}
    fleet = Fleet(AIOLI())
    AIOLI().learn(X[0], y[0])
    Fleet(AIOLI()).learn_many(keys[:100], X[:100], y[:100])
    rows = list(zip(keys.tolist(), X, y.tolist(), strict=True))

    def play() -> None:
        for key, x, label in rows:
            learner = learners.get(key)
            if learner is None:
                learner = learners[key] = AIOLI()
            learner.learn(x, label)

    def learn() -> None:
        learn_all(fleet, keys, X, y)

    first = seconds_of(play, 1), seconds_of(learn, 1)
    later = seconds_of(play), seconds_of(learn)
    for name, (slow, fast) in (("first pass: every key is new", first), ("later passes", later)):
        speeds = f"{n / slow:,.0f} | {n / fast:,.0f} | {slow / fast:.1f}"
        print(f"| {n:,} | {count:,} | {name} | {speeds} |", flush=True)


def sizes() -> None:
    """Print rows a second and memory by columns and keys."""
    print("| columns | models | form | rows/s learned | rows/s predicted | GiB |")
    print("|---|---|---|---|---|---|")
    for d, count, form in (
        (10, 100_000, "packed"),
        (10, 1_000_000, "packed"),
        (50, 100_000, "packed"),
        (50, 100_000, "full"),
        (50, 400_000, "packed"),
    ):
        rng = np.random.default_rng(0)
        fleet = Fleet(AIOLI(), form=form)  # type: ignore[arg-type]  # one of the forms
        for first in range(0, count, BATCH):  # every key once
            size = min(BATCH, count - first)
            _, X, y = rows_of(rng, size, d, count)
            fleet.learn_many(np.arange(first, first + size), X, y)
        keys, X, y = rows_of(rng, min(count, 200_000), d, count)

        def learn(fleet: Fleet = fleet, keys: np.ndarray = keys, X: Matrix = X, y: Vector = y) -> None:
            learn_all(fleet, keys, X, y)

        def predict(fleet: Fleet = fleet, keys: np.ndarray = keys, X: Matrix = X) -> None:
            fleet.predict_many(keys, X)

        cells = f"{len(y) / seconds_of(learn):,.0f} | {len(y) / seconds_of(predict):,.0f} | {fleet.nbytes / GIB:.2f}"
        print(f"| {d} | {count:,} | {form} | {cells} |", flush=True)
        del fleet


def storage() -> None:
    """Print how far float32 storage moves probabilities, by rows a key and columns."""
    print("| columns | rows a key | largest difference of a probability | of the mean loss | bytes a model |")
    print("|---|---|---|---|---|")
    for d, each in ((4, 100), (10, 100), (10, 2000), (50, 2000)):
        keys, X, y = rows_of(np.random.default_rng(0), 50 * each, d, 50)
        whole, half = Fleet(AIOLI(), form="packed"), Fleet(AIOLI(), storage="float32")
        p, q = whole.learn_many(keys, X, y), half.learn_many(keys, X, y)
        loss = abs(whole.loss - half.loss) / len(y)
        octets = [8 * fleet.snapshot().part("records").array("bodies").shape[1] for fleet in (whole, half)]
        cells = f"{np.abs(p - q).max():.1e} | {loss:.1e} | {octets[0]:,} → {octets[1] // 2:,}"
        print(f"| {d} | {each} | {cells} |", flush=True)


def pooling() -> None:
    """Print the mean loss of keys that are more or less alike: apart, all as one, and pooled."""
    print("| deviation between keys | rows a key | each alone | all as one | pooled | its shares |")
    print("|---|---|---|---|---|---|")
    for spread in (0.0, 0.1, 0.5, 1.0):
        for each in (10, 50):
            rng = np.random.default_rng(0)
            count, d = 40_000 // each, 10
            theta = rng.normal(size=d) + spread * rng.normal(size=(count, d))
            keys, X, _ = rows_of(rng, count * each, d, count)
            y = np.where((X * theta[keys]).sum(axis=1) + rng.logistic(size=len(keys)) > 0, 1.0, 0.0)
            alone, pooled = Fleet(AIOLI()), Fleet(AIOLI(), pooling="global")
            said = alone.learn_many(keys, X, y), AIOLI().learn_many(X, y), pooled.learn_many(keys, X, y)
            nats = [-np.log(np.where(y > 0.5, p, 1.0 - p)).mean() for p in said]
            shares = ", ".join(f"{name} {share:.2f}" for name, share in pooled.shares_.items() if share > 0.005)
            cells = " | ".join(f"{loss:.4f}" for loss in nats)
            print(f"| {spread:g} | {each} | {cells} | {shares} |", flush=True)


def spill(keys: int, gibibytes: float, folder: str | None) -> None:
    """Print how many keys of 4 columns are learned within a budget of memory, twice each."""
    before = peak()
    fleet = Fleet(AIOLI(), memory=int(gibibytes * GIB), spill=folder)
    rng = np.random.default_rng(0)
    print("| keys | on disk | memory of the fleet, GiB | of the process, at most | rows/s | wall, s |")
    print("|---|---|---|---|---|---|")
    begun, processed, wall = 0, time.process_time(), time.time()
    total = 2 * keys
    while begun < total:
        size = min(1 << 17, total - begun)
        numbers = np.arange(begun, begun + size) if begun + size <= keys else rng.integers(0, keys, size)
        X = rng.normal(size=(size, 4))
        fleet.learn_many(numbers, X, np.where(X[:, 0] > 0, 1.0, 0.0))
        begun += size
        if begun * 8 // total > (begun - size) * 8 // total:
            spent = time.process_time() - processed
            cells = (
                f"{fleet.nbytes / GIB:.2f} | {peak() - before:.2f} | {begun / spent:,.0f} | {time.time() - wall:.0f}"
            )
            print(f"| {len(fleet):,} | {fleet.on_disk:,} | {cells} |", flush=True)


def peak() -> float:
    """The most memory that the process has had, in GiB, anonymous pages and pages of files together."""
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text().splitlines()
        return float(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
