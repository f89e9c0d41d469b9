"""The definition of AIOLI for K classes, written down independently of it: sums of surrogates, minimised directly.

No inverse is updated, no factor of V is used, and the convex problem of a prediction goes to SciPy.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.curvature import tight_curvature
from aioli.numerics.helmert import helmert
from aioli.outcomes.class_curvature import DROPPED
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.many_classes import LEVEL, LONGEST, ROUNDING, SHORTEST, TRIES


def softmax(z: Vector) -> Vector:
    e = np.exp(z - z.max())
    return np.asarray(e / e.sum())


def psi(t: float) -> float:
    if abs(t) < 1e-3:
        return 0.5 - t / 6 + t * t / 24
    return (math.exp(-t) + t - 1.0) / t**2


def curvature_weights(p: Vector, C: float) -> Vector:
    if len(p) == 2:
        return np.full(2, tight_curvature(math.log(p[0] / p[1]), math.sqrt(2) * C))
    L = math.log(1.0 + (len(p) - 1) * math.exp(math.sqrt(2) * C))
    return np.array([q * psi(math.log(q) + L) for q in p])


def curvature(E: Matrix, V: Matrix, p: Vector, C: float, stake: float = 1.0) -> Matrix:
    r"""½G as it is kept: terms of the weighted variance, the smallest left out as far as that is allowed."""
    weights = curvature_weights(p, C)
    order = np.argsort(-weights, kind="stable")
    terms: list[Vector] = []
    for j in range(1, len(p)):
        before, k = order[:j], order[j]
        sum_before = weights[before].sum()
        c = np.zeros(len(p))
        c[k] = 1.0
        c[before] = -weights[before] / sum_before
        terms.append(math.sqrt(stake * weights[k] * sum_before / (sum_before + weights[k])) * (E.T @ c))
    sizes = [float(r @ V @ r) for r in terms]
    allowed = DROPPED * max(sizes) / (1.0 + max(sizes))
    kept = []
    for r, size in zip(reversed(terms), reversed(sizes), strict=True):
        if size <= allowed:
            allowed -= size
        else:
            kept.append(r)
    return sum((np.outer(r, r) for r in kept), np.zeros_like(V))


def after(V: Matrix, B: Matrix) -> Matrix:
    return np.asarray(np.linalg.inv(np.linalg.inv(V) + B))


def increments(E: Matrix, V: Matrix, B: Matrix, m: Vector, z: Vector, p: Vector) -> Vector:
    r = 2.0 * np.linalg.solve(V, m - z)
    V_after = after(V, B)
    gs = [E.T @ p - E[y] for y in range(len(p))]
    return np.array([0.25 * ((r - g) @ V_after @ (r - g) - r @ V @ r) for g in gs])


def inner(E: Matrix, V: Matrix, target: Vector) -> Vector:
    """z with z + ½V Eᵀp(z) = target, the least point of a strictly convex function."""
    inverse = np.linalg.inv(V)

    def f(z: Vector) -> float:
        a = E @ z
        return float((z - target) @ inverse @ (z - target) + a.max() + math.log(np.exp(a - a.max()).sum()))

    def gradient(z: Vector) -> Vector:
        return np.asarray(2.0 * inverse @ (z - target) + E.T @ softmax(E @ z))

    def hessian(z: Vector) -> Matrix:
        p = softmax(E @ z)
        return np.asarray(2.0 * inverse + E.T @ (np.diag(p) - np.outer(p, p)) @ E)

    z = minimize(f, target, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-9}).x
    for _ in range(3):  # polish: SciPy's last step ends where f no longer falls visibly
        z = z - np.linalg.solve(hessian(z), gradient(z))
    return np.asarray(z)


def predict(E: Matrix, V: Matrix, m: Vector, C: float) -> Vector:
    inverse = np.linalg.inv(V)
    B = curvature(E, V, softmax(E @ m), C)
    shift = 0.25 * (np.eye(len(m)) + V @ B) @ E.T @ np.diag(E @ after(V, B) @ E.T)
    best, least, step = m, math.inf, 1.0
    last: tuple[Vector, Vector] | None = None
    for tries in range(1, TRIES + 1):
        z = inner(E, V, m + shift)
        p = softmax(E @ z)
        B = curvature(E, V, p, C)
        V_after = after(V, B)
        inst = increments(E, V, B, m, z, p)
        H = E.T @ (np.diag(p) - np.outer(p, p)) @ E
        allowed = 0.25 * np.trace(V_after @ H)
        if inst.max() < least:
            best, least = z, float(inst.max())
            if least <= min(p @ inst + LEVEL * allowed, (1.0 + ROUNDING) * allowed) or len(p) == 2:
                return z
        if tries == TRIES:
            break
        away = 0.25 * (np.eye(len(m)) + V @ B) @ E.T @ np.diag(E @ V_after @ E.T) - shift
        if last is not None:
            moved, change = last[0], away - last[1]
            secant = -float(moved @ inverse @ change) / float(change @ inverse @ change)
            step = min(max(secant, SHORTEST), LONGEST)
        last = (step * away, away)
        shift = shift + step * away
    return best


@dataclass
class Reference:
    """Plays K classes by the definition: O(nD²) a row."""

    radius: float
    ridge: float
    classes: int
    width: int
    loss: float = 0.0
    regret: float = 0.0
    A: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    b: Vector = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        D = (self.classes - 1) * self.width
        self.E, self.A, self.b = helmert(self.classes), np.eye(D) * self.ridge, np.zeros(D)
        self.constant: float = 0.0

    def learn(self, x: Vector, y: int, stake: float = 1.0) -> Vector:
        """Announce, then add the surrogate; the certificate's increment comes from the minima of the sums."""
        E = self.E
        X = np.kron(np.eye(self.classes - 1), x[:, None])
        w = np.linalg.solve(self.A, self.b)
        V, m = np.asarray(X.T @ np.linalg.solve(self.A, X), np.float64), X.T @ w
        C = self.radius * float(np.linalg.norm(x))
        z = predict(E, V, m, C)
        p = softmax(E @ z)
        B, g = curvature(E, V, p, C, stake), stake * (E.T @ p - E[y])
        loss: float = -stake * math.log(p[y])
        before = self.constant - float(self.b @ w)
        self.A = self.A + X @ B @ X.T
        self.b = self.b + X @ (B @ z - 0.5 * g)
        self.constant += float(loss - g @ z + z @ B @ z)
        now = self.constant - float(self.b @ np.linalg.solve(self.A, self.b))
        self.loss += loss
        self.regret += float(loss - (now - before))
        return p

    def learn_many(self, X: Matrix, codes: Codes, stakes: Vector | None = None) -> Matrix:
        weights = np.ones(len(X)) if stakes is None else stakes
        return np.array([self.learn(x, int(y), s) for x, y, s in zip(X, codes, weights, strict=True)])
