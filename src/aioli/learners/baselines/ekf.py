"""Online Bayes with a Gaussian belief: the extended Kalman filter of logistic regression."""

import math

import numpy as np

from aioli.learners.baselines.ridge_base import RidgeBase
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid
from aioli.numerics.square_root import add_row

__all__ = ["EKF"]


class EKF(RidgeBase):
    r"""AIOLI with its two safeguards taken off: no hedge (c = 0) and the full curvature $h = p(1-p)$. O(d²) a round.

    $$p = \sigma(w^\top x), \qquad k = Px,\; v = x^\top k, \qquad
      P \leftarrow P - \frac{h/2}{1 + hv/2}\,kk^\top, \qquad w \leftarrow w + \frac{y - p}{2(1 + hv/2)}\,k$$

    This is the extended Kalman filter of a θ that stands still, with the belief $\theta \sim N(w, P/2)$ and the prior
    $N(0, I/(2\lambda))$: the logarithm of each label's likelihood is replaced by its second-order expansion at the
    mean, and then Bayes' rule is exact. It learns fast where the labels do come from a logistic model. It has no
    worst-case bound: where it is confidently wrong h is nearly 0, so it steps by nearly k/2, however far that is.

    Parameters
    ----------
    ridge, intercept
        λ: half the prior precision, as in AIOLI: the penalty is λ‖θ‖²; a row longer than 1e8·√λ is refused. And
        whether every row has a further column of ones.

    Examples
    --------
    >>> from aioli.learners.baselines.ekf import EKF
    >>> EKF(intercept=False).learn_many([[1.2, -1.6], [-2.0, 0.0], [0.0, 2.0]], [1, 0, 1]).round(6)
    array([0.5     , 0.401312, 0.391008])

    References
    ----------
    Fahrmeir. Posterior mode estimation by extended Kalman filtering for multivariate dynamic generalized linear models.
    Journal of the American Statistical Association 87, 1992.
    """

    vectors = ("_w",)
    matrices = ("_S",)
    reach = 1e8  # half of the digits are left: one row shrinks S by up to √(1 + ‖x‖²/8λ)

    def _begin(self, width: int) -> None:
        self._S: Matrix = np.eye(width) / math.sqrt(self.ridge)  # P = SSᵀ
        self._w: Vector = np.zeros(width)

    def _announce(self, x: Vector) -> float:
        return float(self._w @ x)

    def _answer(self, x: Vector, y: float, z: float) -> None:
        half = 0.5 * sigmoid(z) * sigmoid(-z)
        k, v = add_row(self._S, x, half)
        missing = sigmoid(-z) if y else -sigmoid(z)
        self._w = self._w + (0.5 * missing / (1.0 + half * v)) * k
