"""Online gradient descent: the cheapest learner with a proven bound."""

import math

import numpy as np

from aioli.learners.baselines.row_by_row import RowByRow
from aioli.learners.parameters import require_positive
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid

__all__ = ["OGD"]


class OGD(RowByRow):
    r"""A gradient step after each label, back into the ball (Zinkevich 2003). O(d) a round.

    $$z = \theta_t^\top x, \qquad g_t = (\sigma(z) - y)\,x, \qquad
      \theta_{t+1} = \Pi_B\Bigl(\theta_t - \frac{B}{R\sqrt t}\,g_t\Bigr)$$

    For every fixed θ with ‖θ‖ ≤ B, on any stream, with steps $\eta_t = B/(R\sqrt t)$ that never grow, ‖g‖ ≤ R, and
    points of the ball at most 2B apart:

    $$\sum_t \ell_t - \sum_t \ell_t(\theta) \le \frac{(2B)^2}{2\eta_n} + \sum_t \frac{\eta_t}{2}\|g_t\|^2
      \le 2BR\sqrt n + BR\sqrt n = 3BR\sqrt n$$

    (Hazan 2016, theorem 3.1, whose step is twice as long and divides the same 3 into 1 + 2.)

    Parameters
    ----------
    radius, intercept
        B: θ stays in the ball of this radius, and the regret is bounded against all of it. And whether every row has a
        further column of ones.
    widest
        R: the largest ‖x‖ there will be, the intercept's 1 counted in. None, or a longer row, takes the largest so far.
        The bound is the same, with the R of the last round: the label's row is known when its step is taken, so
        ‖g‖ ≤ R in every round, and an R that grows makes the steps shorter still.

    Examples
    --------
    >>> from aioli.learners.baselines.ogd import OGD
    >>> learner = OGD(radius=2.0, intercept=False)
    >>> learner.learn_many([[1.2, -1.6], [-2.0, 0.0], [0.0, 2.0]], [1, 0, 1]).round(6)
    array([0.5     , 0.231475, 0.167982])
    >>> learner
    OGD(radius=2.0, widest=None, intercept=False)  # 3 rows, 0.9134 nats a row
    >>> round(learner.regret_bound(), 3)  # 3·2·2·√3
    20.785

    References
    ----------
    Zinkevich. Online convex programming and generalized infinitesimal gradient ascent. ICML 2003.
    Hazan. Introduction to online convex optimization. 2016, section 3.1.
    """

    numbers = ("_R",)
    vectors = ("_theta",)

    def __init__(self, radius: float = 1.0, widest: float | None = None, intercept: bool = True) -> None:
        super().__init__(intercept=intercept)
        require_positive(radius=radius)
        if widest is not None:
            require_positive(widest=widest)
        self.radius = radius
        self.widest = widest
        self._R = 0.0 if widest is None else float(widest)

    def regret_bound(self) -> float:
        r"""Return $3BR\sqrt n$: nats by which no θ of the ball can be better over the rows so far. O(1)."""
        return 3.0 * self.radius * self._R * math.sqrt(self.rounds)

    def _begin(self, width: int) -> None:
        self._theta: Vector = np.zeros(width)

    def _announce(self, x: Vector) -> float:
        return float(self._theta @ x)

    def _answer(self, x: Vector, y: float, z: float) -> None:
        self._R = max(self._R, float(np.linalg.norm(x)))
        if self._R == 0.0:  # nothing but rows of zeros so far
            return
        slope = -sigmoid(-z) if y else sigmoid(z)
        step = self.radius / math.sqrt(self.rounds + 1)
        theta = self._theta - (step * slope / self._R) * x
        norm = float(np.linalg.norm(theta))
        self._theta = theta * (self.radius / norm) if norm > self.radius else theta
