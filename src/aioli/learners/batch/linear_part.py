r"""Cross-validated maximum likelihood beside the learners of a batch, and its share in what they say together.

A learner of streams pays for what it did not know yet: on a hundred rows that a linear model separates, that is more
than all else. A batch has a remedy that a stream has not: fit all rows at once,

$$\min_V\ C\sum_t \omega_t\,\ell_t(V) + \tfrac12\|V\|^2,$$

V being the K - 1 contrasts of a softmax in standardised columns, the intercepts free. Models of several C are kept,
with shares that go with the likelihood they give to rows left out, $q_C \propto e^{-\sum_t\omega_t\ell_t}$: on few
rows, the best C alone is a matter of luck. The share a of them all in the mean of probabilities $(1-a)p + a\hat p$ is
what would have been best on rows that neither had seen: those left out, and what the learners announced before the
labels came.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.helmert import helmert
from aioli.streams.matrices import Values

__all__ = ["LinearPart", "as_dense", "is_affordable"]

FOLDS = 10
LEAST_ROWS = 10  # below, too few are left out to choose by
MOST_WORK = 2e7  # rows times squared coefficients: a fit takes some hundred times as many multiplications
# C, from the strongest penalty on: scikit-learn's ten but for the two weakest, at which a hundred rows that happen to
# be separable are believed without a doubt
STRENGTHS = np.logspace(-4.0, 4.0, 10)[:8]
RISES = 2  # strengths in a row that are worse than one before: no weaker penalty is tried
LEAST_SHARE = 1e-3  # of a strength that is kept
STEPS, HALVINGS, SMALL = 30, 20, 1e-8
MIXING_STEPS = 200

Codes = NDArray[np.intp]


def is_affordable(rows: int, columns: int, classes: int) -> bool:
    """Return whether maximum likelihood is fitted to a batch of this shape: where rows are few, it is worth most.

    >>> is_affordable(500, 30, 2), is_affordable(100_000, 30, 2), is_affordable(500, 3000, 2)
    (True, False, False)
    """
    return rows >= LEAST_ROWS and rows * float((classes - 1) * (columns + 1)) ** 2 <= MOST_WORK


def as_dense(rows: Values) -> Matrix:
    """Return rows that may be sparse as a dense matrix."""
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


@dataclass(frozen=True)
class LinearPart:
    """Linear models in standardised columns, each with its share, and the share of all in what is said together.

    Attributes
    ----------
    centre, scale
        The mean and the standard deviation of each column.
    coefficients, shares
        V and the share of each model: a row for the intercepts, one for each column; K - 1 contrasts.
    strengths
        C of each model.
    share
        a.
    """

    centre: Vector
    scale: Vector
    coefficients: list[Matrix]
    shares: Vector
    strengths: Vector
    share: float

    @classmethod
    def fitted(cls, X: Matrix, codes: Codes, classes: int, weights: Vector | None, announced: Vector) -> Self:
        """Return the models of rows in an order that means nothing.

        `announced` is what the learners said of each label before it came, NaN where nobody asks.
        """
        omega = np.ones(len(codes)) if weights is None else weights
        said = _left_out(X, codes, classes, omega)
        losses = -(said @ omega)
        shares = np.exp(losses.min() - losses)
        kept = shares > LEAST_SHARE * shares.sum()
        shares = shares[kept] / shares[kept].sum()
        centre, scale = _scale(X)
        E, Z = helmert(classes), _rows(X, centre, scale)
        V, fitted = np.zeros((Z.shape[1], classes - 1)), []
        for strength in STRENGTHS[: len(losses)].tolist():  # each is a good beginning for the next
            V = _fit(Z, codes, E, omega, strength, V)
            fitted.append(V)
        heard = ~np.isnan(announced)
        left_out = shares @ np.exp(said[kept])
        return cls(
            centre,
            scale,
            [V for V, wanted in zip(fitted, kept.tolist(), strict=True) if wanted],
            shares,
            STRENGTHS[: len(losses)][kept],
            _best_share(announced[heard], left_out[heard], omega[heard]),
        )

    def log_probabilities(self, X: Matrix) -> Matrix:
        """Return the logarithms of the models' own probabilities together, a column each class."""
        Z = _rows(X, self.centre, self.scale)
        E = helmert(self.coefficients[0].shape[1] + 1)
        said = [_log_softmax(Z @ V @ E.T) + np.log(q) for V, q in zip(self.coefficients, self.shares, strict=True)]
        return np.asarray(np.logaddexp.reduce(said))

    def mixed(self, said: Matrix, X: Matrix) -> Matrix:
        """Return logarithms of what is said together, of those of the learners' probabilities and the rows."""
        if not 0.0 < self.share < 1.0:
            return said if self.share == 0.0 else self.log_probabilities(X)
        mine = self.log_probabilities(X) + np.log(self.share)
        return np.asarray(np.logaddexp(said + np.log1p(-self.share), mine))


def _left_out(X: Matrix, codes: Codes, classes: int, omega: Vector) -> Matrix:
    """Return the log-probability of each row's label by models that had not seen it, a line for each strength tried."""
    folds = np.empty(len(codes), dtype=np.intp)  # every class is spread over all of them
    folds[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % FOLDS
    E, trained = helmert(classes), []
    for fold in range(FOLDS):
        inside = folds != fold
        centre, scale = _scale(X[inside])
        trained.append((inside, _rows(X, centre, scale), np.zeros((X.shape[1] + 1, classes - 1))))
    said: list[Vector] = []
    losses: list[float] = []
    for strength in STRENGTHS.tolist():
        said.append(np.empty(len(codes)))
        for inside, Z, V in trained:
            V[:] = _fit(Z[inside], codes[inside], E, omega[inside], strength, V)
            outside = ~inside
            L = _log_softmax(Z[outside] @ V @ E.T)
            said[-1][outside] = L[np.arange(len(L)), codes[outside]]
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
    L = _log_softmax(Z @ V @ E.T)
    fit = -float(omega @ L[np.arange(len(codes)), codes])
    return strength * fit + 0.5 * float(ridge @ (V * V).sum(axis=1)), L


def _best_share(announced: Vector, left_out: Vector, omega: Vector) -> float:
    r"""Return the share a that is best in $\sum\omega\log((1-a)p + a\hat p)$, by expectation and maximisation."""
    if not announced.size:
        return 0.5
    share = 0.5
    for _ in range(MIXING_STEPS):
        mine = share * left_out
        share = float(omega @ (mine / np.maximum(mine + (1.0 - share) * announced, np.finfo(np.float64).tiny)))
        share /= float(omega.sum())
    return share


def _scale(X: Matrix) -> tuple[Vector, Vector]:
    deviation = X.std(axis=0)
    return X.mean(axis=0), np.where(deviation > 0.0, deviation, 1.0)


def _rows(X: Matrix, centre: Vector, scale: Vector) -> Matrix:
    return np.column_stack([np.ones(len(X)), (X - centre) / scale])


def _log_softmax(Z: Matrix) -> Matrix:
    return np.asarray(Z - np.logaddexp.reduce(Z, axis=1)[:, None])
