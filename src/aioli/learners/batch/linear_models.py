r"""Maximum likelihood with an L2 penalty, at several strengths that rows left out have shares for.

$$\min_V\ C\sum_t \omega_t\,\ell_t(V) + \tfrac12\|V\|^2,$$

V being the K - 1 contrasts of a softmax in standardised columns, the intercepts free. Models of several C are kept,
with shares that go with the likelihood they give to rows left out: on few rows, the best C alone is a matter of luck.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.learners.batch.left_out import (
    FOLDS,
    Codes,
    ColumnScale,
    log_softmax,
    said_of_labels,
    shares_by_likelihood,
)
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.helmert import helmert

__all__ = ["LinearModels"]

# C, from the strongest penalty on: scikit-learn's ten but for the two weakest, at which a hundred rows that happen to
# be separable are believed without a doubt
STRENGTHS = np.logspace(-4.0, 4.0, 10)[:8]
RISES = 2  # strengths in a row that are worse than one before: no weaker penalty is tried
STEPS, HALVINGS, SMALL = 30, 20, 1e-8


@dataclass(frozen=True)
class LinearModels:
    """Linear models in standardised columns, each with its share.

    Attributes
    ----------
    columns
        The mean and the standard deviation of each column.
    coefficients, shares
        V and the share of each model: a row for the intercepts, one for each column; K - 1 contrasts.
    strengths
        C of each model.
    """

    columns: ColumnScale
    coefficients: list[Matrix]
    shares: Vector
    strengths: Vector

    @classmethod
    def fitted(cls, X: Matrix, codes: Codes, classes: int, omega: Vector, folds: Codes) -> tuple[Self, Vector]:
        """Return the models, and the probability that those of the other folds give to each row's label."""
        said = _left_out(X, codes, classes, omega, folds)
        shares = shares_by_likelihood(said, omega)
        columns = ColumnScale.of(X)
        E, Z = helmert(classes), _rows(X, columns)
        V, fitted = np.zeros((Z.shape[1], classes - 1)), []
        for strength in STRENGTHS[: len(shares)].tolist():  # each is a good beginning for the next
            V = _fit(Z, codes, E, omega, strength, V)
            fitted.append(V)
        kept = np.flatnonzero(shares)
        models = cls(columns, [fitted[i] for i in kept.tolist()], shares[kept], STRENGTHS[kept])
        return models, shares[kept] @ np.exp(said[kept])

    def log_probabilities(self, X: Matrix) -> Matrix:
        """Return the logarithms of the models' probabilities together, a column each class."""
        Z = _rows(X, self.columns)
        E = helmert(self.coefficients[0].shape[1] + 1)
        said = [log_softmax(Z @ V @ E.T) + np.log(q) for V, q in zip(self.coefficients, self.shares, strict=True)]
        return np.asarray(np.logaddexp.reduce(said))


def _left_out(X: Matrix, codes: Codes, classes: int, omega: Vector, folds: Codes) -> Matrix:
    """Return the log-probability of each row's label by models that had not seen it, a line for each strength tried."""
    E, trained = helmert(classes), []
    for fold in range(FOLDS):
        inside = folds != fold
        trained.append((inside, _rows(X, ColumnScale.of(X[inside])), np.zeros((X.shape[1] + 1, classes - 1))))
    said: list[Vector] = []
    losses: list[float] = []
    for strength in STRENGTHS.tolist():
        said.append(np.empty(len(codes)))
        for inside, Z, V in trained:
            V[:] = _fit(Z[inside], codes[inside], E, omega[inside], strength, V)
            outside = ~inside
            said[-1][outside] = said_of_labels(log_softmax(Z[outside] @ V @ E.T), codes[outside])
        losses.append(-float(omega @ said[-1]))
        if len(losses) > RISES and min(losses[-RISES:]) > min(losses[:-RISES]):
            break
    return np.array(said)


def _fit(Z: Matrix, codes: Codes, E: Matrix, omega: Vector, strength: float, begin: Matrix) -> Matrix:
    """Return the minimum by Newton's method, from a nearby one, with steps halved until they descend."""
    V, (d, contrasts) = begin.copy(), begin.shape
    ridge = np.full(d, 1.0)
    ridge[0] = SMALL  # of the intercepts, that there is a minimum
    target = E[codes]
    value, L = _value(Z, codes, E, omega, strength, V, ridge)
    for _ in range(STEPS):
        P = np.exp(L)
        G = strength * (Z.T @ (omega[:, None] * (P @ E - target))) + ridge[:, None] * V
        H = np.zeros((contrasts, d, contrasts, d))
        mean = P @ E
        for a in range(contrasts):
            for b in range(a + 1):
                s = strength * omega * (P @ (E[:, a] * E[:, b]) - mean[:, a] * mean[:, b])
                H[a, :, b, :] = H[b, :, a, :] = Z.T @ (s[:, None] * Z)
            H[a, np.arange(d), a, np.arange(d)] += ridge
        step = np.linalg.solve(H.reshape(contrasts * d, -1), G.T.reshape(-1)).reshape(contrasts, d).T
        decrement = float(np.vdot(step, G))
        if not decrement > SMALL * (1.0 + abs(value)):
            break
        for _ in range(HALVINGS):
            tried, logs = _value(Z, codes, E, omega, strength, V - step, ridge)
            if tried < value:
                break
            step *= 0.5
        else:
            break
        V, value, L = V - step, tried, logs
    return V


def _value(
    Z: Matrix, codes: Codes, E: Matrix, omega: Vector, strength: float, V: Matrix, ridge: Vector
) -> tuple[float, Matrix]:
    L = log_softmax(Z @ V @ E.T)
    fit = -float(omega @ said_of_labels(L, codes))
    return strength * fit + 0.5 * float(ridge @ (V * V).sum(axis=1)), L


def _rows(X: Matrix, columns: ColumnScale) -> Matrix:
    return np.column_stack([np.ones(len(X)), columns.standardised(X)])
