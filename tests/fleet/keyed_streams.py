"""Rows of many keys, and the same rows played by a learner of each key's own."""

import numpy as np

from aioli import AIOLI, Fleet
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
    kinds: list[Key] = [[k, f"user {k}", ("shop", k), f"{k}".encode()][k % 4] for k in range(keys)]  # type: ignore[misc]  # four kinds in one list
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


def learn_in_batches(fleet: Fleet, keys: list[Key], X: Matrix, y: Vector, seed: int) -> Vector:
    """What the fleet announced in batches of any size, some of one row."""
    rng = np.random.default_rng(seed)
    p: list[Vector] = []
    t = 0
    while t < len(keys):
        size = int(rng.choice([1, 2, 30, 200]))
        part = slice(t, t + size)
        if size == 1:
            p.append(np.array([fleet.learn(keys[t], X[t], y[t])]))
        else:
            p.append(fleet.learn_many(keys[part], X[part], y[part]))
        t += size
    return np.concatenate(p)


def own_learner(fleet: Fleet, key: Key) -> AIOLI:
    """The learner of a key of a fleet that is not pooled."""
    learner = fleet[key]
    assert isinstance(learner, AIOLI)
    return learner
