"""A stream for both faces, and the kinds of labels that it may come with."""

from collections.abc import Callable
from typing import Any

import numpy as np
from support import make_labels, make_rows

from aioli import AIOLI, Auto
from aioli.learners.batch.any_order import canonical_order
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["LABELS", "LEARNERS", "SAME", "as_fit_plays", "columns_of", "probabilities_of", "stream"]

SAME = 1e-12  # rows at once are matrix products, rows one by one are loops: a few ulp apart in a hundred rounds
LEARNERS: dict[str, Callable[[], Any]] = {"AIOLI": lambda: AIOLI(radius=2.0), "Auto": Auto}
LABELS: dict[str, tuple[Any, Any]] = {
    "bool": (False, True),
    "0/1": (0, 1),
    "±1": (-1, 1),
    "strings": ("no", "yes"),
}


def stream(n: int = 120, d: int = 4, seed: int = 5) -> tuple[Matrix, Vector]:
    """Rows and labels 0 and 1, of which the first is 0."""
    X = make_rows("random", n, d, seed)
    y = make_labels(X, seed)
    y[0] = 0.0
    return X, y


def columns_of(X: Matrix) -> list[str]:
    """Names that sort as the columns do."""
    return [f"x{j:02}" for j in range(X.shape[1])]


def probabilities_of(learner: Any, X: Matrix, y: Vector) -> Vector:
    """What the learner itself announces for each row, before its label."""
    return np.array([learner.learn(x, label) for x, label in zip(X, y, strict=True)])


def as_fit_plays(X: Any, y: Vector, weights: Vector | None = None) -> tuple[Any, Vector, Vector | None]:
    """The rows, labels and weights in the order in which a single pass of `fit` plays them."""
    order = canonical_order(X, y, weights)
    order = order[np.random.Generator(np.random.PCG64(0)).permutation(len(order))]
    return X[order], y[order], None if weights is None else weights[order]
