"""Streams made with NumPy alone, so that no change in aioli can change them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Stream", "Vector", "collinear", "dense", "drifting", "nearly_separable", "one_hot", "ring", "wild", "words"]

Vector = NDArray[np.float64]
Stream = tuple[Any, Vector]  # rows, dense or CSR, and labels 0.0 and 1.0


def dense(rows: int, width: int, seed: int = 0) -> Stream:
    """Normal rows of length about 1 to 3, logistic labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * min(1.0, 3.0 / np.sqrt(width))
    return X, _labels(X @ rng.normal(size=width), rng)


def wild(rows: int, width: int, decades: float, seed: int = 1) -> Stream:
    """Columns whose scales and origins differ by many powers of ten."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, width))
    scales = 10.0 ** rng.uniform(-decades, decades, size=width)
    return Z * scales + scales * rng.normal(size=width), _labels(Z @ rng.normal(size=width), rng)


def ring(rows: int, width: int = 2, seed: int = 2) -> Stream:
    """A disc inside a ring: no linear model tells them apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    return X, _labels(4.0 * (1.4 - (X[:, :2] ** 2).sum(axis=1)), rng)


def drifting(rows: int, width: int, seed: int = 3) -> Stream:
    """A model that turns slowly, and changes its sign in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    turn = np.linspace(0.0, np.pi, rows)
    theta = np.outer(np.cos(turn), rng.normal(size=width)) + np.outer(np.sin(turn), rng.normal(size=width))
    theta[rows // 2 :] *= -1.0
    return X, _labels(2.0 * (X * theta).sum(axis=1), rng)


def collinear(rows: int, width: int, length: float, seed: int = 4) -> Stream:
    """Long rows that nearly all point the same way: P loses digits unless it is kept as a factor."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=width) / np.sqrt(width)
    X = length * (np.outer(rng.normal(size=rows), direction) + 1e-7 * rng.normal(size=(rows, width)))
    X[::5] = rng.normal(size=X[::5].shape) / np.sqrt(width)
    return X, _labels(X @ rng.normal(size=width) / length, rng)


def nearly_separable(rows: int, width: int, seed: int = 5) -> Stream:
    """Labels that are hardly ever in doubt: probabilities come close to 0 and 1."""
    rng = np.random.default_rng(seed)
    X = 3.0 * rng.normal(size=(rows, width))
    return X, _labels(40.0 * X @ rng.normal(size=width), rng)


def one_hot(rows: int, levels: tuple[int, ...], seed: int = 6) -> Stream:
    """Categories as columns of 0 and 1, dense; some levels are rare."""
    rng = np.random.default_rng(seed)
    blocks = []
    for count in levels:
        drawn = np.minimum((rng.random(rows) ** 2 * count).astype(int), count - 1)
        blocks.append(np.eye(count)[drawn])
    X = np.concatenate(blocks, axis=1)
    return X, _labels(X @ rng.normal(size=X.shape[1]), rng)


def words(rows: int, width: int, entries: int, seed: int = 7) -> Stream:
    """CSR rows of a few out of many columns, some columns often, with counts for values."""
    rng = np.random.default_rng(seed)
    drawn = np.minimum(rng.zipf(1.3, size=(rows, entries)), width) - 1
    values = rng.integers(1, 4, size=drawn.size).astype(float)
    X = sparse.csr_array((values, drawn.ravel(), np.arange(rows + 1) * entries), shape=(rows, width))
    X.sum_duplicates()
    return X, _labels(X @ rng.normal(size=width) / 3.0, rng)


def _labels(logits: Vector, rng: np.random.Generator) -> Vector:
    return (logits + rng.logistic(size=len(logits)) > 0.0).astype(float)
