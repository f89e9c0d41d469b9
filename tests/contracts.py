"""What every learner that plays row by row must do, whatever its formula."""

import copy
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import make_labels, make_rows

from aioli.learners.baselines.row_by_row import RowByRow
from aioli.numerics.compiling import Matrix, Vector

Make = Callable[[], RowByRow]


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


def assert_many_rows_are_one_row_at_a_time(make: Make) -> None:
    X = make_rows("random", 60, 3, seed=1)
    y = make_labels(X, seed=1)
    single, many = make(), make()
    said, announced = [], []
    for x, label in zip(X, y, strict=True):
        said.append(single.predict(x))
        announced.append(single.learn(x, label))
    assert said == announced
    assert_array_equal(many.learn_many(X, y), announced)
    assert many.rounds == single.rounds == len(X)
    assert many.loss == single.loss
    assert_array_equal(many.predict_many(X), [single.predict(x) for x in X])
    right = np.where(y == 1.0, announced, 1.0 - np.array(announced))
    np.testing.assert_allclose(many.loss, -np.log(right).sum(), rtol=1e-9)  # 1 - p has lost a few digits


def assert_what_is_refused_leaves_no_trace(make: Make) -> None:
    X = make_rows("random", 30, 3, seed=2)
    y = make_labels(X, seed=2)
    untouched = make()
    for bad, label in [
        ([math.nan, 0.0, 0.0], 1),
        ([1.0, math.inf, 0.0], 0),
        ([1e300, 0.0, 0.0], 1),
        ([1.0, 2.0, 3.0], 2),
    ]:
        with pytest.raises(ValueError, match="nothing was learned"):
            untouched.learn(bad, label)
    assert untouched.n_features_ is None
    assert untouched.predict(X[0]) == 0.5
    learner = make()
    learner.learn_many(X[:20], y[:20])
    twin = copy.deepcopy(learner)
    broken = X[20:].copy()
    broken[-1, 1] = math.nan
    with pytest.raises(ValueError, match="row 9: column 1 is nan"):
        learner.learn_many(broken, y[20:])
    with pytest.raises(ValueError, match="this learner knows 3"):
        learner.learn([1.0, 2.0], 1)
    with pytest.raises(ValueError, match="the label is"):
        learner.learn(X[20], "yes")
    assert (learner.rounds, learner.loss) == (twin.rounds, twin.loss)
    assert_array_equal(learner.learn_many(X[20:], y[20:]), twin.learn_many(X[20:], y[20:]))


def assert_parameter_must_be_positive(make: Callable[..., RowByRow], name: str) -> None:
    for bad in (0.0, -1.0, math.nan, math.inf, -math.inf, 1e-200, "1", [1.0]):
        with pytest.raises(ValueError, match=f"{name} is .*must be a finite number above 0"):
            make(**{name: bad})
