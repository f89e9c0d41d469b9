"""Rows, adversaries and refusals that the tests of the baselines share."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from support import make_rows

from aioli.learners.baselines.row_by_row import RowByRow
from aioli.numerics.compiling import Matrix, Vector


def rows_within(widest: float, kind: str, n: int, d: int, seed: int) -> Matrix:
    """Rows of a hard kind, the longest of them of length `widest` (none, where all are 0)."""
    X = make_rows(kind, n, d, seed)
    longest = float(np.linalg.norm(X, axis=1).max())
    return X * (widest * (1.0 - 1e-15) / longest) if longest else X


def play(learner: RowByRow, X: Matrix, y: Vector, adversarial: bool) -> Vector:
    """Play the rows; an adversary answers each prediction with the less likely label. Returns the labels."""
    labels = y.copy()
    for t, x in enumerate(X):
        if adversarial:
            labels[t] = float(learner.predict(x) <= 0.5)
        learner.learn(x, labels[t])
    return labels


def assert_parameter_must_be_positive(make: Callable[..., RowByRow], name: str) -> None:
    for bad in (0.0, -1.0, math.nan, math.inf, -math.inf, 1e-200, "1", [1.0]):
        with pytest.raises(ValueError, match=f"{name} is .*must be a finite number above 0"):
            make(**{name: bad})
