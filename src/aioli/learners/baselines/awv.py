"""The forecaster of Azoury, Vovk and Warmuth: the square loss's own improper learner, and AIOLI's ancestor."""

import math

import numpy as np

from aioli.learners.baselines.ridge_base import RidgeBase
from aioli.learners.parameters import require_positive
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import logit
from aioli.numerics.square_root import add_row, times_inverse

__all__ = ["AWV"]

SUREST = 0.999  # |ŷ| is cut to this before it is read as a probability: a row's log loss is at most 7.6 nats


class AWV(RidgeBase):
    r"""Ridge regression on ±1 that counts the row it is asked about as seen (Vovk 2001; Azoury, Warmuth 2001).

    With y ∈ {−1, 1}, $A = \lambda I + \sum_{s<t}x_sx_s^\top$, $w = A^{-1}\sum_{s<t}y_sx_s$ and $v = x^\top A^{-1}x$:

    $$\hat y = x^\top\Bigl(\lambda I + \sum_{s \le t} x_sx_s^\top\Bigr)^{-1}\sum_{s<t} y_sx_s = \frac{w^\top x}{1 + v}$$

    O(d²) a round, a prediction too. For every θ, on any stream, with R the largest ‖x‖:

    $$\sum_t (y_t - \hat y_t)^2 - \sum_t (y_t - \theta^\top x_t)^2
      \le \lambda\|\theta\|^2 + d\log\Bigl(1 + \frac{nR^2}{d\lambda}\Bigr)$$

    That is a bound on the square loss, whose sum is `square_loss`; on the log loss there is none. The least expected
    square loss on ±1 is at $\hat y = E[y] = 2p - 1$, so the probability that it announces is $p = (1 + \hat y)/2$, with
    ŷ cut to ±0.999 first: `loss` is the log loss of that, and `square_loss` is that of ŷ itself.

    Parameters
    ----------
    ridge, intercept
        λ: the bound pays λ‖θ‖² for it, and log(1/λ); a row longer than 1e8·√λ is refused. And whether every row has a
        further column of ones.

    Examples
    --------
    >>> from aioli.learners.baselines.awv import AWV
    >>> learner = AWV(intercept=False)
    >>> learner.learn_many([[1.2, -1.6], [-2.0, 0.0], [0.0, 2.0]], [1, 0, 1]).round(6)
    array([0.5     , 0.43763 , 0.407556])
    >>> print(f"{learner.square_loss:.4f}, at most {learner.square_regret_bound(radius=1.0):.4f} above any ‖θ‖ ≤ 1")
    3.1700, at most 4.8918 above any ‖θ‖ ≤ 1

    References
    ----------
    Vovk. Competitive on-line statistics. International Statistical Review 69, 2001.
    Azoury, Warmuth. Relative loss bounds for on-line density estimation with the exponential family of distributions.
    Machine Learning 43, 2001.
    """

    numbers = ("square_loss", "_R")
    vectors = ("_w",)
    matrices = ("_S",)
    reach = 1e8  # half of the digits are left: one row shrinks S by up to √(1 + ‖x‖²/λ)

    def __init__(self, ridge: float = 1.0, intercept: bool = True) -> None:
        super().__init__(ridge, intercept)
        self.square_loss = 0.0
        self._R = 0.0

    def square_regret_bound(self, radius: float) -> float:
        """Return by how much no θ of this norm can have a smaller square loss over the rows so far. O(1)."""
        require_positive(radius=radius)
        if self.n_features_ is None:
            return 0.0
        d = self.n_features_ + self.intercept
        return self.ridge * radius**2 + d * math.log1p(self.rounds * self._R**2 / (self.ridge * d))

    def _begin(self, width: int) -> None:
        self._S: Matrix = np.eye(width) / math.sqrt(self.ridge)
        self._w: Vector = np.zeros(width)

    def _announce(self, x: Vector) -> float:
        _, v = times_inverse(self._S, x)
        forecast = float(self._w @ x) / (1.0 + v)
        return logit(0.5 + 0.5 * min(max(forecast, -SUREST), SUREST))

    def _answer(self, x: Vector, y: float, _z: float) -> None:
        k, v = add_row(self._S, x, 1.0)
        m, sign = float(self._w @ x), 1.0 if y else -1.0
        self._w = self._w + ((sign - m) / (1.0 + v)) * k
        self.square_loss += (sign - m / (1.0 + v)) ** 2
        self._R = max(self._R, float(np.linalg.norm(x)))
