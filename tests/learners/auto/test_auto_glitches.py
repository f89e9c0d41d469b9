"""Cells that nobody can believe cost Auto next to nothing on the rows after them."""

import numpy as np
import pytest

from aioli.numerics.compiling import Matrix, Vector
from benchmarks.glitches import GLITCHES, cost_of


def mixed_stream(n: int = 3000) -> tuple[Matrix, Vector]:
    """Rows of normal, heavy-tailed, rare and ordinary binary columns, and labels of a linear model of them."""
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=(n, 2)), np.exp(rng.normal(size=(n, 1))), rng.random((n, 2)) < [0.5, 0.03]]
    X = np.column_stack(columns).astype(np.float64)
    return X, (X @ [1.5, -1.0, 0.7, 1.0, 2.0] - 1.0 + rng.logistic(size=n) > 0).astype(np.float64)


@pytest.mark.parametrize("glitch", [name for name in GLITCHES if "far" in name])
def test_glitches_cost_at_most_two_percent_on_the_other_rows(glitch: str) -> None:
    assert abs(cost_of(*mixed_stream(), glitch)) < 0.02
