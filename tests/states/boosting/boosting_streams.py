"""A stream that only trees of depth two tell."""

import numpy as np

from aioli.numerics.compiling import Matrix
from aioli.states.boosting.fitting import Numbers

__all__ = ["crossed"]


def crossed(rows: int, seed: int = 0) -> tuple[Matrix, Numbers]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    return X, ((X[:, 0] > 0.0) ^ (X[:, 1] > 0.5)).astype(np.int64)
