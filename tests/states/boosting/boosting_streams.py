"""A stream that only trees of depth two tell, and what trees say of rows."""

import numpy as np

from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.states.boosting.fitting import THOROUGH, Boosting, Numbers
from aioli.states.boosting.growing import CHILD, FEATURE, LEAF, THRESHOLD
from aioli.states.boosting.scoring import Walks

__all__ = ["crossed", "leaf_of", "scores"]


def crossed(rows: int, seed: int = 0) -> tuple[Matrix, Numbers]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    return X, ((X[:, 0] > 0.0) ^ (X[:, 1] > 0.5)).astype(np.int64)


def leaf_of(tree: Matrix, x: Vector) -> int:
    place = 0
    while tree[place, FEATURE] != LEAF:
        place = int(tree[place, CHILD]) + int(x[int(tree[place, FEATURE])] > tree[place, THRESHOLD])
    return place


def scores(base: Vector, trees: Cube, X: Matrix, how: Boosting = THOROUGH) -> Cube:
    out = np.empty((len(X), len(how.stages), base.size))
    Walks.of(trees).score(base, np.array(how.stages), X, out)
    return out
