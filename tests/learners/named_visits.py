"""Rows with names, and their labels, for tests of learners that take such."""

from typing import Any

import numpy as np
import pytest

from aioli.numerics.compiling import Vector

ROWS = 400


def make_visits(rng: np.random.Generator) -> Any:
    """Rows of numbers with gaps, words, days and truth values; from the middle on, of one more category."""
    pd: Any = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS).astype(float),
            "fare": rng.lognormal(3.0, 1.0, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "port": rng.choice(np.array(["S", "C", None]), ROWS),
            "when": pd.date_range("2024-01-01", periods=ROWS, freq="h"),
            "vip": rng.random(ROWS) < 0.1,
        }
    )
    frame.loc[rng.random(ROWS) < 0.2, "age"] = np.nan
    frame.loc[ROWS // 2 :: 7, "port"] = "Q"
    return frame


def make_bought(visits: Any, rng: np.random.Generator) -> Vector:
    """Labels that go by words, gaps and numbers."""
    scores = 2.0 * (visits.sex == "f") + visits.age.isna() - (visits.fare > 30.0) + rng.logistic(size=ROWS)
    return np.asarray(scores > 0.5)
