"""The rows that every contender plays: synthetic, and the same in every run."""

import numpy as np

from aioli.numerics.compiling import Matrix, Vector

__all__ = ["SEED", "normal_stream"]

SEED = 20200707


def normal_stream(rows: int, width: int) -> tuple[Matrix, Vector]:
    r"""$x \sim N(0, I_d)$ and $y = 1$ with probability $\sigma(\theta^\top x)$, $\theta \sim N(0, 4I/d)$."""
    rng = np.random.default_rng(SEED)
    theta = rng.normal(scale=2.0 / np.sqrt(width), size=width)
    X = rng.normal(size=(rows, width))
    y: Vector = (X @ theta + rng.logistic(size=rows) > 0.0).astype(np.float64)
    return X, y
