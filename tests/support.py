"""Streams to test on, and the definition of the learner written down independently of it."""

import math

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.curvature import paper_curvature_many, tight_curvature_many
from aioli.numerics.logistic import sigmoid_many
from aioli.outcomes.spec import Curvature, GameSpec

KINDS = ["random", "collinear", "ill-scaled", "repeated", "sparse"]


def make_rows(kind: str, n: int, d: int, seed: int) -> Matrix:
    """Rows of a kind that is known to be hard for somebody."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "collinear":  # every column a copy or a multiple of the first two
        X = X[:, rng.integers(0, min(2, d), size=d)] * rng.choice([1.0, -2.0, 0.5], size=d)
    elif kind == "ill-scaled":
        X *= 10.0 ** rng.uniform(-4, 4, size=d)
    elif kind == "repeated":
        X = X[rng.integers(0, min(3, n), size=n)]
    elif kind == "sparse":  # most entries, some rows and one column are 0
        X *= rng.random(size=(n, d)) < 0.3
        X[:, 0] = 0.0
    return np.ascontiguousarray(X)


def make_labels(X: Matrix, seed: int) -> Vector:
    """Labels that a linear model explains in part."""
    rng = np.random.default_rng(seed + 1)
    scale = np.linalg.norm(X, axis=0) / math.sqrt(len(X)) + 1e-300
    said = X @ (rng.normal(size=X.shape[1]) / scale) + rng.logistic(size=len(X))
    return np.where(said > 0.0, 1.0, 0.0)


def game(
    radius: float = 3.0,
    ridge: float = 0.1,
    regulariser: float = 0.5,
    curvature: Curvature = "tight",
    forgetting: float = 1.0,
) -> GameSpec:
    """A game without an intercept: its rows are the state's rows."""
    return GameSpec(radius, ridge, regulariser, curvature, forgetting, intercept=False)


def curvatures(rules: GameSpec, X: Matrix, z: Vector) -> Vector:
    """h of each row, from its definition."""
    C = rules.radius * np.linalg.norm(X, axis=1)
    return tight_curvature_many(z, C) if rules.curvature == "tight" else paper_curvature_many(z, C)


def sums_of_surrogates(
    rules: GameSpec, X: Matrix, y: Vector, z: Vector, weights: Vector | float = 1.0
) -> tuple[Matrix, Vector]:
    """A and b of the definition, added up afresh from what was announced."""
    h = weights * curvatures(rules, X, z)
    A = rules.ridge * np.eye(X.shape[1]) + (X * (0.5 * h)[:, None]).T @ X
    b = X.T @ (0.5 * (h * z + weights * (y - sigmoid_many(z))))
    return A, b


def announce_by_minimising(rules: GameSpec, A: Matrix, b: Vector, x: Vector) -> float:
    """The paper's argmin by SciPy: θᵀAθ - 2bᵀθ + c[ℓ(θᵀx, 1) + ℓ(θᵀx, 0)], over r = Lᵀθ with A = LLᵀ."""
    L = cholesky(A, lower=True)
    u, v = np.linalg.solve(L, b), np.linalg.solve(L, x)
    c = rules.regulariser

    def objective(r: Vector) -> float:
        s = float(v @ r)
        return float(r @ r - 2.0 * u @ r + c * (np.logaddexp(0.0, s) + np.logaddexp(0.0, -s)))

    def gradient(r: Vector) -> Vector:
        return np.asarray(2.0 * r - 2.0 * u + c * math.tanh(0.5 * float(v @ r)) * v)

    def hessian(r: Vector) -> Matrix:
        return 2.0 * np.eye(r.size) + 0.5 * c * (1.0 - math.tanh(0.5 * float(v @ r)) ** 2) * np.outer(v, v)

    found = minimize(
        objective, u / (1.0 + v @ v), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-9}
    )
    return float(v @ found.x)


def state_by_definition(A: Matrix, b: Vector) -> tuple[Matrix, Vector]:
    """P and w, by Cholesky, from A and b scaled to a unit diagonal."""
    scale = 1.0 / np.sqrt(np.diag(A))
    factor = cholesky(A * np.outer(scale, scale), lower=True)
    P = scale[:, None] * np.asarray(cho_solve((factor, True), np.diag(scale)))
    return P, scale * np.asarray(cho_solve((factor, True), scale * b))
