"""The diagonal and the mean row, against the matrices that they stand for."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid
from aioli.states.sparse.diagonal import SLOTS, fresh_totals, learn_row, measure_row

RIDGE = 0.3


class Sketch:
    """One expert alone in a records."""

    def __init__(self, width: int, forgetting: float = 1.0) -> None:
        self.records = np.zeros((width, SLOTS))
        self.totals = fresh_totals(np.array([RIDGE]), np.array([forgetting]))[0]

    def measure(self, x: Vector) -> tuple[float, float, float]:
        columns = np.flatnonzero(x)
        return measure_row(self.records, 0, self.totals, columns, x[columns])

    def learn(self, x: Vector, y: float, weight: float = 1.0) -> None:
        columns = np.flatnonzero(x)
        found = self.measure(x)
        learn_row(self.records, 0, self.totals, columns, x[columns], *found, y, weight)


class Definition:
    """The same in matrices, the intercept's column last: D is renewed where a column is met, all else is dense."""

    def __init__(self, width: int) -> None:
        self.prior = np.append(np.full(width, RIDGE), 1.0)
        self.D, self.A = self.prior.copy(), np.diag(self.prior)
        self.q, self.w, self.H = np.zeros(width + 1), np.zeros(width + 1), 0.0

    def approximation(self) -> Matrix:
        return np.diag(self.D) + (np.outer(self.q, self.q) / self.H if self.H else 0.0)

    def measure(self, x: Vector) -> tuple[float, float, Vector]:
        x = np.append(x, 1.0)
        k: Vector = np.asarray(np.linalg.solve(self.approximation(), x), dtype=np.float64)
        return float(self.w @ x), float(x @ k), k

    def learn(self, x: Vector, y: float, u: float, weight: float) -> None:
        _, _, k = self.measure(x)
        p = sigmoid(u)
        self.w += 0.5 * weight * (y - p) * k
        h = 0.5 * weight * p * (1.0 - p)
        x = np.append(x, 1.0)
        self.A += h * np.outer(x, x)
        self.q += h * x
        self.H += h
        met = x != 0.0
        self.D[met] = (np.diag(self.A) - self.q**2 / self.H)[met]


def words(rng: np.random.Generator, rows: int, width: int) -> tuple[Matrix, Vector]:
    """Rows of which most entries are 0, with a column that is always there, and labels that depend on them."""
    X = rng.normal(1.0, 1.0, size=(rows, width)) * (rng.random(size=(rows, width)) < 0.25)
    X[:, 0] = 1.0
    return X, (X @ rng.normal(size=width) + rng.logistic(size=rows) > 0.0).astype(float)


def test_the_sketch_is_the_matrix_that_it_stands_for(rng: np.random.Generator) -> None:
    X, y = words(rng, 200, 12)
    weights = rng.choice([0.5, 1.0, 40.0], size=len(y))
    sketch, definition = Sketch(12), Definition(12)
    for x, label, weight in zip(X, y, weights, strict=True):
        m, v, _ = sketch.measure(x)
        expected_m, expected_v, _ = definition.measure(x)
        # 200 solves with a condition of about 1e4: what they lose of 16 digits is the definition's own
        assert_allclose([m, v], [expected_m, expected_v], rtol=1e-9, atol=1e-9)
        sketch.learn(x, label, weight)
        u = sketch.measure(x)[0]
        definition.learn(x, label, u, weight)


def test_a_step_ends_where_the_surrogate_touches_the_loss(rng: np.random.Generator) -> None:
    X, y = words(rng, 60, 8)
    sketch = Sketch(8)
    for x, label in zip(X, y, strict=True):
        m, v, _ = sketch.measure(x)
        sketch.learn(x, label, weight=3.0)
        u = sketch.measure(x)[0]
        assert_allclose(u + 1.5 * v * (sigmoid(u) - label), m, atol=1e-10 * (1.0 + v))  # some ten operations on v


def test_the_mean_row_never_claims_more_than_the_matrix_has(rng: np.random.Generator) -> None:
    X, y = words(rng, 150, 10)
    sketch, definition = Sketch(10), Definition(10)
    for x, label in zip(X, y, strict=True):
        sketch.learn(x, label)
        definition.learn(x, label, sketch.measure(x)[0], 1.0)
    mean_row = np.outer(definition.q, definition.q) / definition.H
    left = np.linalg.eigvalsh(definition.A - np.diag(definition.prior) - mean_row)
    assert left.min() >= -1e-12 * left.max()  # Cauchy and Schwarz, up to the rounding of eigenvalues
    assert (definition.D / definition.prior).min() >= 1.0 - 1e-12


def test_one_sketched_row_costs_what_is_there_and_not_the_width() -> None:
    sketch = Sketch(1000)
    x = np.zeros(1000)
    x[[3, 500]] = 1.0
    sketch.learn(x, 1.0)
    assert np.flatnonzero(sketch.records.any(axis=1)).tolist() == [3, 500]


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_certain_labels_and_heavy_rows_leave_the_sketch_finite(rng: np.random.Generator, forgetting: float) -> None:
    X, _ = words(rng, 400, 6)
    sketch = Sketch(6, forgetting)
    for t, x in enumerate(X):
        sketch.learn(x, 1.0, weight=1e6 if t % 7 == 0 else 1.0)
        m, v, _ = sketch.measure(x)
        assert math.isfinite(m)
        assert v >= 0.0
    assert np.isfinite(sketch.records).all()
    assert np.isfinite(sketch.totals).all()


def test_a_sketch_that_forgets_follows_a_world_that_turns_round(rng: np.random.Generator) -> None:
    X, y = words(rng, 1200, 6)
    y[600:] = 1.0 - y[600:]
    losses = {}
    for forgetting in (1.0, 0.98):
        sketch = Sketch(6, forgetting)
        said = []
        for x, label in zip(X, y, strict=True):
            said.append(sketch.measure(x)[0])
            sketch.learn(x, label)
        losses[forgetting] = np.logaddexp(0.0, np.where(y == 1.0, -1.0, 1.0) * said)[600:].mean()
    assert losses[0.98] < 0.8 * losses[1.0]
