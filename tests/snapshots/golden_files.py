"""Golden files: learners that an earlier commit wrote, and what each must say once it is loaded.

`python tests/snapshots/golden_files.py NAME ...` writes those of these names anew, or all without a name. That is right
only where the format has got another number, or a learner plays another game on purpose.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from aioli import AIOLI, Auto, Forest, KernelAIOLI, Nystrom, OnlineToBatch, RandomFeatures, Wide
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import read_snapshot, write_snapshot
from aioli.snapshots.tree import Remembers

__all__ = ["CASES", "GOLDEN", "golden_rows", "probabilities_of", "read_golden"]

GOLDEN = Path(__file__).parent / "golden"
ROWS = 40


def golden_rows(width: int = 2) -> tuple[Matrix, Vector]:
    """Return rows and labels by a formula, so that no generator of random numbers has to stay the same."""
    t = np.arange(1.0, ROWS + 1.0)
    X = np.column_stack([np.sin(t * (1.0 + j)) * (1.0 + j) for j in range(width)])
    return X, (np.sin(3.0 * t) + X[:, 0] > 0.0).astype(np.float64)


def golden_words(width: int = 30) -> tuple[Matrix, Vector]:
    """Return wide rows of which most entries are 0, and labels, by a formula."""
    t, j = np.arange(ROWS)[:, None], np.arange(width)[None, :]
    X = np.where((7 * t + 3 * j) % 11 == 0, 1.0 + (t + j) % 3, 0.0)
    return X, (X[:, 0] + X[:, 3] > 0.0).astype(np.float64)


# the name of a file, and: a fresh learner, and the rows of which it learns the first half
CASES: dict[str, tuple[Callable[[], Learner], Callable[[], tuple[Matrix, Vector]]]] = {
    "AIOLI": (lambda: AIOLI(radius=3.0, forgetting=0.99), golden_rows),
    "Auto": (Auto, golden_rows),  # from before there were budgets: it is not to be written anew
    "AutoUsual": (Auto, golden_rows),
    "AutoWide": (lambda: Auto(experts=3), lambda: golden_words(300)),
    "Forest": (lambda: Forest(trees=3), golden_rows),
    "KernelAIOLI": (lambda: KernelAIOLI("laplacian", radius=3.0), golden_rows),
    "Nystrom": (lambda: Nystrom(points=6), golden_rows),
    "OnlineToBatch": (lambda: OnlineToBatch(AIOLI(), states=3), golden_rows),
    "RandomFeatures": (lambda: RandomFeatures(AIOLI(radius=3.0), features=4, bandwidth=0.5), golden_rows),
    "Wide": (lambda: Wide(hashing=4), golden_words),
}


def probabilities_of(name: str, learner: Learner) -> list[float]:
    """Return what the learner says of the second half of its rows: all of them as they are, then one by one."""
    X, y = CASES[name][1]()
    rest = slice(ROWS // 2, None)
    return [
        *learner.predict_many(X[rest]).tolist(),
        *(learner.learn(x, t) for x, t in zip(X[rest], y[rest], strict=True)),
    ]


def read_golden(name: str) -> list[float]:
    """Return the probabilities that the learner of the golden file must say."""
    expected: list[float] = json.loads((GOLDEN / f"{name}.json").read_text())
    return expected


def write_golden(name: str) -> None:
    """Write the file of a learner, and beside it what the learner says from there on."""
    make, stream = CASES[name]
    X, y = stream()
    learner = make()
    learner.learn_many(X[: ROWS // 2], y[: ROWS // 2])
    assert isinstance(learner, Remembers)
    write_snapshot(GOLDEN / f"{name}.safetensors", learner.snapshot())
    assert read_snapshot(GOLDEN / f"{name}.safetensors").kind == type(learner).__name__
    (GOLDEN / f"{name}.json").write_text(json.dumps(probabilities_of(name, learner), indent=0) + "\n")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        write_golden(chosen)
