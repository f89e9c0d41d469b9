r"""Classes whose rows are normally distributed: what few rows tell best where it is nearly so.

Maximum likelihood of a linear model asks only where classes meet, and a hundred rows have few there; a model of each
class's own rows learns from all of them. In standardised columns the rows of class k have mean $\mu_k$ and covariance
$\Sigma_k$, and what is not known of these is integrated out: with $n_k$ rows of mean $\bar x_k$ and scatter $S_k$, and
a prior that knows as much as κ rows of the common mean and ν of the common covariance Σ, a row of the class has

$$x \mid k \sim t_f\Bigl(\frac{n_k\bar x_k}{n_k+\kappa},\ \frac{n_k+\kappa+1}{n_k+\kappa}\,\frac vf\,
  \frac{S_k+\nu\Sigma}{v}\Bigr),\qquad v = n_k+\nu,\quad f = v-d+1,$$

Student's distribution of f degrees of freedom in d columns. Models of several ν are kept, with shares that go with the
likelihood they give to rows left out; at ν = ∞ all classes have the covariance Σ, of v = n - K degrees, and log-odds
are all but linear. Σ has correlations shrunk by as much as they are uncertain (Schäfer and Strimmer), and one row of
deviation 1 besides, so that no column is certain.

References
----------
Geisser. Posterior odds for multivariate normal classifications. Journal of the Royal Statistical Society B 26, 1964.
Schäfer, Strimmer. A shrinkage approach to large-scale covariance matrix estimation. Statistical Applications in
Genetics and Molecular Biology 4, 2005.
"""

import math
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

__all__ = ["GaussianClasses"]

PRIOR_ROWS = (math.inf, 4.0, 1.0)  # ν, in rows a column
MEAN_ROWS = 0.1  # κ
ROUNDING = 1e-12  # of a covariance's trace: what its root can lose to rounding
UNSEEN = 0.5  # rows that every class is counted as having besides its own


@dataclass(frozen=True)
class GaussianClasses:
    """Models of the rows of each class, each with its share.

    Attributes
    ----------
    columns
        The mean and the standard deviation of each column.
    models, shares
        The distributions of all classes, for each ν that is kept, and its share.
    """

    columns: ColumnScale
    models: "list[list[_Student]]"
    shares: Vector

    @classmethod
    def fitted(cls, X: Matrix, codes: Codes, classes: int, omega: Vector, folds: Codes) -> tuple[Self, Vector]:
        """Return the models, and the probability that those of the other folds give to each row's label."""
        said = np.empty((len(PRIOR_ROWS), len(codes)))
        for fold in range(FOLDS):
            inside, outside = folds != fold, folds == fold
            columns = ColumnScale.of(X[inside])
            models = _models(columns.standardised(X[inside]), codes[inside], classes, omega[inside])
            Z = columns.standardised(X[outside])
            for line, model in zip(said, models, strict=True):
                line[outside] = said_of_labels(_log_posterior(model, Z), codes[outside])
        shares = shares_by_likelihood(said, omega)
        kept = np.flatnonzero(shares)
        columns = ColumnScale.of(X)
        models = _models(columns.standardised(X), codes, classes, omega)
        return cls(columns, [models[i] for i in kept.tolist()], shares[kept]), shares[kept] @ np.exp(said[kept])

    def log_probabilities(self, X: Matrix) -> Matrix:
        """Return the logarithms of the models' probabilities together, a column each class."""
        Z = self.columns.standardised(X)
        said = [_log_posterior(model, Z) + np.log(q) for model, q in zip(self.models, self.shares, strict=True)]
        return np.asarray(np.logaddexp.reduce(said))


@dataclass(frozen=True)
class _Student:
    """Student's distribution of the rows of one class, and how many rows there were."""

    rows: float
    mean: Vector
    whitening: Matrix  # the inverse of the scale's lower triangular root
    freedom: float

    @classmethod
    def of(cls, rows: float, mean: Vector, covariance: Matrix, degrees: float) -> Self:
        """Return the distribution, of a covariance that is known as from so many rows."""
        known, d = rows + MEAN_ROWS, len(mean)
        freedom = max(degrees - d + 1.0, 1.0)
        singular = ROUNDING * float(np.trace(covariance)) * np.eye(d)  # columns that repeat each other, many rows
        scale = (covariance + singular) * ((1.0 + 1.0 / known) * degrees / freedom)
        return cls(rows, mean * (rows / known), np.linalg.inv(np.linalg.cholesky(scale)), freedom)

    def log_density(self, Z: Matrix) -> Vector:
        """Return the logarithm of the density at each row, but for powers of π."""
        d, f = len(self.mean), self.freedom
        distances = np.square((Z - self.mean) @ self.whitening.T).sum(axis=1)
        constant = math.lgamma(0.5 * (f + d)) - math.lgamma(0.5 * f) - 0.5 * d * math.log(f)
        volume = float(np.log(np.diagonal(self.whitening)).sum())
        return np.asarray(constant + volume - 0.5 * (f + d) * np.log1p(distances / f))


def _models(Z: Matrix, codes: Codes, classes: int, omega: Vector) -> list[list[_Student]]:
    """Return, for each ν, the distributions of all classes: of rows in standardised columns."""
    d = Z.shape[1]
    rows = np.bincount(codes, omega, minlength=classes)
    members = [codes == k for k in range(classes)]
    means = np.array([omega[own] @ Z[own] / max(n, 1e-9) for own, n in zip(members, rows.tolist(), strict=True)])
    residuals = Z - means[codes]
    degrees = max(float(rows.sum()) - classes, 1.0)
    common = (_shrunk(residuals, omega) + np.eye(d)) / (degrees + 1.0)
    models = []
    for prior in PRIOR_ROWS:
        model = []
        for k, (own, n) in enumerate(zip(members, rows.tolist(), strict=True)):
            if prior == math.inf:
                model.append(_Student.of(n, means[k], common, degrees))
                continue
            scatter = (residuals[own].T * omega[own]) @ residuals[own]
            v = n + prior * d
            model.append(_Student.of(n, means[k], (scatter + prior * d * common) / v, v))
        models.append(model)
    return models


def _shrunk(residuals: Matrix, omega: Vector) -> Matrix:
    r"""Return the scatter with its correlations shrunk by $\sum\widehat{\mathrm{var}}(r_{ij})/\sum r_{ij}^2$."""
    scatter = (residuals.T * omega) @ residuals
    total = float(omega.sum())
    deviation = np.sqrt(np.maximum(np.diagonal(scatter) / total, np.finfo(np.float64).tiny))
    U = residuals / deviation
    R = (U.T * omega) @ U / total
    off = ~np.eye(len(R), dtype=bool)
    uncertain = ((np.square(U).T * omega) @ np.square(U) / total - np.square(R)) / total
    told = float(np.square(R[off]).sum())
    intensity = min(1.0, float(uncertain[off].sum()) / told) if told > 0.0 else 1.0
    return np.asarray(np.where(off, (1.0 - intensity) * scatter, scatter))


def _log_posterior(model: list[_Student], Z: Matrix) -> Matrix:
    joint = np.column_stack([student.log_density(Z) + math.log(student.rows + UNSEEN) for student in model])
    return log_softmax(joint)
