"""Rows of many keys, and the same rows played by a learner of each key's own."""

import numpy as np

from aioli import AIOLI
from aioli.fleet.keys import Key
from aioli.numerics.compiling import Matrix, Vector

Objects = dict[Key, AIOLI]


def keyed_rows(n: int, d: int, keys: int, seed: int = 0, scale: float = 1.0) -> tuple[list[Key], Matrix, Vector]:
    """Rows of keys of all kinds in any order, and labels that differ by key."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, keys, size=n)
    X = rng.normal(size=(n, d)) * scale ** rng.uniform(-1, 1, size=d)
    slopes = rng.normal(size=(keys, d)) / scale
    y = np.where((X * slopes[numbers]).sum(axis=1) + rng.logistic(size=n) > 0, 1.0, 0.0)
    kinds: list[Key] = [[k, f"user {k}", ("shop", k), f"{k}".encode()][k % 4] for k in range(keys)]  # type: ignore[misc]
    return [kinds[k] for k in numbers], X, y


def played_apart(keys: list[Key], X: Matrix, y: Vector, make: AIOLI) -> tuple[Vector, Objects]:
    """What a learner of each key's own announced for its rows, one by one, and the learners."""
    objects: Objects = {}
    p = np.empty(len(keys))
    for t, key in enumerate(keys):
        if key not in objects:
            objects[key] = make.restore(make.snapshot())
        p[t] = objects[key].learn(X[t], y[t])
    return p, objects
