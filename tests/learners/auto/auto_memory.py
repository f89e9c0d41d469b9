"""What the tests of Auto share: a stream, what the learner remembers, and a stop in between."""

from pathlib import Path

import numpy as np
from support import make_labels, make_rows

from aioli import Auto
from aioli.numerics.compiling import Matrix, Vector


def example_stream(n: int = 300, d: int = 4, seed: int = 0) -> tuple[Matrix, Vector]:
    X = make_rows("random", n, d, seed)
    return X, make_labels(X, seed)


def memory(learner: Auto) -> list[Vector]:
    return [array.copy() for array in learner._player.arrays().values()]


def assert_equal_memory(one: list[Vector], two: list[Vector]) -> None:
    for ours, theirs in zip(one, two, strict=True):
        assert np.array_equal(ours, theirs)


def resumed_from_file(learner: Auto, path: Path) -> Auto:
    learner.save(path / "model.aioli")
    return Auto.load(path / "model.aioli")
