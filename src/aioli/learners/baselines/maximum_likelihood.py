"""Regularised maximum likelihood: the batch estimator that everybody knows, and the proper sibling of SMP."""

import math
from typing import ClassVar, Self

import numpy as np

from aioli.errors import AioliError, ParameterRefused
from aioli.learners.baselines.row_by_row import WIDEST
from aioli.learners.parameters import plain_parameters, require_positive, with_parameters
from aioli.learners.predicting import PredictsRows
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.newton import STEPS, minimise
from aioli.snapshots.tree import Array, Plain, Snapshot
from aioli.streams.rows import Rows, as_labels

__all__ = ["MaximumLikelihood", "best_penalised"]


class MaximumLikelihood(Remembering, PredictsRows[Rows]):
    r"""Logistic regression with a ridge penalty, fitted to all rows at once by Newton's method. O(nd²) a step.

    $$\hat\theta = \arg\min_\theta \frac1n\sum_{i=1}^n \ell_i(\theta) + \frac\lambda2\|\theta\|^2, \qquad
      p(1 \mid x) = \sigma(\hat\theta^\top x)$$

    It is proper: its log-odds are linear in x. So whatever λ may be, there are laws of (x, y) on which its risk exceeds
    that of the best θ of the ball by a constant exponential in B (Hazan, Koren, Levy 2014); `SMP` has none.

    Parameters
    ----------
    ridge
        λ. None is $2R^2/(n+1)$, R being the largest ‖x‖ of the rows (or 1 if all are 0): what `SMP` takes.
    intercept
        Whether every row has a further column of ones. It is penalised like any other coordinate.

    Attributes
    ----------
    coefficients_
        θ̂, the intercept first where there is one; empty before `fit`.
    ridge_
        The λ that was used; NaN before `fit`.
    n_features_
        How many columns a row has, the intercept not counted; None before `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli.learners.baselines.maximum_likelihood import MaximumLikelihood
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    >>> model = MaximumLikelihood(ridge=0.1).fit(X, y)
    >>> print(f"{model.predict([1.5]):.4f} {model.predict([4.0]):.4f}")
    0.5501 0.7896

    References
    ----------
    Hazan, Koren, Levy. Logistic regression: tight bounds for stochastic and online optimization. COLT 2014.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.SAVES})

    def __init__(self, ridge: float | None = None, intercept: bool = True) -> None:
        if ridge is not None:
            require_positive(ridge=ridge)
        self.ridge = ridge
        self.intercept = intercept
        self.coefficients_: Vector = np.empty(0)
        self.ridge_ = math.nan
        self.n_features_: int | None = None

    def fit(self, X: object, y: object) -> Self:
        """Fit to these rows and labels alone; what was fitted before is forgotten."""
        rows = Rows(X, intercept=self.intercept, widest=WIDEST)
        labels = as_labels(y, len(rows))
        Z = np.concatenate([chunk for _, chunk in rows])
        counts = np.column_stack([1.0 - labels, labels])
        ridge = self.ridge
        if ridge is None:
            ridge = 2.0 * (float(np.linalg.norm(Z, axis=1).max()) or 1.0) ** 2 / (len(Z) + 1)
        theta = best_penalised(Z, counts, float(ridge), np.zeros(Z.shape[1]))
        self._keep(Z, counts)
        self.coefficients_, self.ridge_, self.n_features_ = theta, ridge, rows.width
        return self

    def snapshot(self) -> Snapshot:
        """Return all that the model remembers: its parameters and, once fitted, the coefficients and λ."""
        values: dict[str, Plain] = {"parameters": plain_parameters(self), "columns": self.n_features_}
        if self.n_features_ is None:
            return Snapshot(type(self).__name__, values)
        arrays: dict[str, Array] = {"coefficients": self.coefficients_.copy()}
        return Snapshot(type(self).__name__, values | {"ridge": float(self.ridge_)}, arrays | self._kept())

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal model from a snapshot."""
        snapshot = snapshot.of(cls.__name__)
        model = with_parameters(cls, snapshot)
        model.n_features_ = snapshot.optional_whole("columns")
        if model.n_features_ is not None:
            width = model.n_features_ + model.intercept
            model.coefficients_ = snapshot.array("coefficients", (width,)).copy()
            model.ridge_ = snapshot.number("ridge")
            model._recall(snapshot, width)
        return model

    def _rows(self, X: object, single: bool = False) -> Rows:
        if self.n_features_ is None:
            raise AioliError(f"this {type(self).__name__} has not seen any rows yet; call fit(X, y) before predicting")
        return Rows(X, intercept=self.intercept, widest=WIDEST, width=self.n_features_, single=single)

    def _logits(self, rows: Rows) -> Vector:
        return np.concatenate([chunk @ self.coefficients_ for _, chunk in rows])

    def _keep(self, Z: Matrix, counts: Matrix) -> None:
        """Keep what a prediction needs of the rows: here nothing."""

    def _kept(self) -> dict[str, Array]:
        """Return copies of the arrays that `_keep` kept."""
        return {}

    def _recall(self, snapshot: Snapshot, width: int) -> None:
        """Take back what `_kept` returned, from a snapshot of rows of this width."""


def best_penalised(Z: Matrix, counts: Matrix, ridge: float, start: Vector) -> Vector:
    r"""Return $\arg\min_\theta \tfrac1n\sum_i\ell_i(\theta) + \tfrac\lambda2\|\theta\|^2$, from `start`. O(nd²)."""
    theta = start.copy()
    if minimise(Z, counts, 0.5 * len(Z) * ridge, theta) == STEPS:
        raise ParameterRefused(
            f"a ridge of {ridge:g} is too small for float64 beside rows of length {np.linalg.norm(Z, axis=1).max():g}; "
            "scale the columns, or give a larger ridge",
            parameter="ridge",
            value=ridge,
        )
    return theta
