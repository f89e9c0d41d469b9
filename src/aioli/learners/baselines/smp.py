"""SMP: the batch estimator that is improper, asks what each label would teach, and escapes the exponential constant."""

import numpy as np

from aioli.learners.baselines.maximum_likelihood import MaximumLikelihood, best_penalised
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus
from aioli.snapshots.tree import Array, Snapshot
from aioli.streams.rows import Rows

__all__ = ["SMP"]


class SMP(MaximumLikelihood):
    r"""The sample minmax predictor with a ridge penalty (Mourtada, Gaïffas 2022): two fits a query.

    $$\theta_y(x) = \arg\min_\theta \frac1{n+1}\Bigl[\sum_{i=1}^n \ell_i(\theta) + \ell(\theta; x, y)\Bigr]
      + \frac\lambda2\|\theta\|^2, \qquad
      p(y \mid x) \propto \sigma(\pm\theta_y^\top x)\,e^{-\frac\lambda2\|\theta_y\|^2}$$

    *Why this weight.* If $\ell^\lambda(\theta; x, y) = \ell(\theta; x, y) + \frac\lambda2\|\theta\|^2$ is a row's loss,
    θ_y minimises its mean over n + 1 rows: so λ enters the weight undivided. As all n + 1 rows are alike, the risk of
    a prediction p exceeds that of any θ, penalty included, by at most the mean over x of
    $\max_y\,[-\log p(y \mid x) - \ell^\lambda(\theta_y(x); x, y)]$. It is least where both labels make it equal:
    $p(y \mid x) \propto e^{-\ell^\lambda(\theta_y(x); x, y)}$, as above.

    With λ of order R²/n its risk exceeds that of the best θ of the ball by $O((d + B^2R^2)/n)$ on average, whatever the
    law of (x, y): no constant is exponential in B. A query costs a few Newton steps from θ̂, O(nd²) each.

    Parameters
    ----------
    ridge
        λ. None is $2R^2/(n+1)$, R being the largest ‖x‖ of the rows (or 1 if all are 0).
    intercept
        Whether every row has a further column of ones. It is penalised like any other coordinate.

    Attributes
    ----------
    coefficients_
        θ̂ of `MaximumLikelihood` at the same λ, from which the two fits of a query begin; empty before `fit`.
    ridge_, n_features_
        As in `MaximumLikelihood`.

    Examples
    --------
    Where there are few rows, it is less sure than maximum likelihood is:

    >>> import numpy as np
    >>> from aioli.learners.baselines.maximum_likelihood import MaximumLikelihood
    >>> from aioli.learners.baselines.smp import SMP
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    >>> for model in (MaximumLikelihood(ridge=0.1).fit(X, y), SMP(ridge=0.1).fit(X, y)):
    ...     print(f"{model.predict([1.5]):.4f} {model.predict([4.0]):.4f}")
    0.5501 0.7896
    0.5412 0.5801

    References
    ----------
    Mourtada, Gaïffas. An improper estimator with optimal excess risk in misspecified density estimation and logistic
    regression. Journal of Machine Learning Research 23, 2022.
    """

    def _keep(self, Z: Matrix, counts: Matrix) -> None:
        self._Z, self._counts = Z, counts

    def _kept(self) -> dict[str, Array]:
        return {"rows": self._Z.copy(), "counts": self._counts.copy()}

    def _recall(self, snapshot: Snapshot, width: int) -> None:
        self._Z = snapshot.array("rows", (None, width)).copy()
        self._counts = snapshot.array("counts", (len(self._Z), 2)).copy()

    def _logits(self, rows: Rows) -> Vector:
        Z = np.concatenate([self._Z, np.empty((1, self._Z.shape[1]))])
        counts = np.concatenate([self._counts, np.empty((1, 2))])
        return np.array([self._logit(x, Z, counts) for _, chunk in rows for x in chunk])

    def _logit(self, x: Vector, Z: Matrix, counts: Matrix) -> float:
        r"""Return $\ell^\lambda(\theta_0; x, 0) - \ell^\lambda(\theta_1; x, 1)$; x takes the last row of Z."""
        Z[-1] = x
        losses = []
        for label, sign in ((0, 1.0), (1, -1.0)):
            counts[-1] = np.eye(2)[label]
            theta = best_penalised(Z, counts, self.ridge_, self.coefficients_)
            losses.append(softplus(sign * float(theta @ x)) + 0.5 * self.ridge_ * float(theta @ theta))
        return losses[0] - losses[1]
