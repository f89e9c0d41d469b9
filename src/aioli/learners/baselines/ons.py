"""The online Newton step: logarithmic regret, with a constant that is exponential in the radius."""

import math

import numpy as np

from aioli.errors import ParameterRefused
from aioli.learners.baselines.row_by_row import RowByRow
from aioli.learners.parameters import require_positive
from aioli.numerics.ball import ball_multiplier
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid
from aioli.numerics.square_root import add_row

__all__ = ["ONS", "project"]


class ONS(RowByRow):
    r"""A Newton step on the sum of squared gradients, back into the ball (Hazan, Agarwal, Kale 2007).

    $$A_0 = \frac{I}{\gamma^2D^2}, \qquad A_t = A_{t-1} + g_tg_t^\top, \qquad
      \theta_{t+1} = \Pi_B^{A_t}\bigl(\theta_t - \tfrac1\gamma A_t^{-1}g_t\bigr), \qquad
      \gamma = \tfrac12\min\bigl\{\tfrac{1}{4GD}, e^{-BR}\bigr\}$$

    with D = 2B and G = R. $\Pi_B^A$ is the nearest point of the ball in the norm of A, exactly. O(d²) a round, and
    O(d³), an eigendecomposition, in a round that leaves the ball.

    For every fixed θ with ‖θ‖ ≤ B, on any stream of rows with ‖x‖ ≤ R:

    $$\sum_t \ell_t - \sum_t \ell_t(\theta) \le \frac{1}{8\gamma}
      + \frac{d}{2\gamma}\log\Bigl(1 + \frac{4n\gamma^2B^2R^2}{d}\Bigr), \qquad \tfrac1\gamma = 2\max\{8BR, e^{BR}\}$$

    The losses are $e^{-BR}$-exp-concave on the ball, so with $s = g_t^\top(\theta - \theta_t)$ their lemma 3 gives
    $\ell_t(\theta) \ge \ell_t(\theta_t) + s + \frac\gamma2s^2$, and the sum telescopes (their theorem 2) into
    $\frac\gamma2\|\theta\|_{A_0}^2 + \frac{1}{2\gamma}\sum_t g_t^\top A_t^{-1}g_t$. The first is at most
    $\frac{1}{8\gamma}$, since θ starts at the centre, B and not D from the farthest point; the second is at most
    $\frac{1}{2\gamma}\log\frac{\det A_n}{\det A_0}$.

    Parameters
    ----------
    radius
        B: θ stays in the ball of this radius, and the regret is bounded against all of it.
    widest
        R: the largest ‖x‖ there will be, the intercept's 1 counted in. After a longer row there is no bound; one of
        1e8·R is refused.
    intercept
        Whether every row has a further column of ones.

    Examples
    --------
    >>> from aioli.learners.baselines.ons import ONS
    >>> learner = ONS(radius=2.0, widest=2.0, intercept=False)
    >>> learner.learn_many([[1.2, -1.6], [-2.0, 0.0], [0.0, 2.0]], [1, 0, 1]).round(6)
    array([0.5     , 0.456214, 0.441777])
    >>> round(learner.regret_bound(), 2)
    14.53

    References
    ----------
    Hazan, Agarwal, Kale. Logarithmic regret algorithms for online convex optimization. Machine Learning 69, 2007.
    Hazan. Introduction to online convex optimization. 2016, section 4.4.
    """

    numbers = ("_longest",)
    vectors = ("_theta",)
    matrices = ("_S",)

    def __init__(self, radius: float = 1.0, widest: float = 1.0, intercept: bool = True) -> None:
        super().__init__(intercept=intercept)
        require_positive(radius=radius, widest=widest)
        BR = radius * widest
        if BR > 700.0:
            message = f"radius·widest is {BR:g}; above 700 the step, e^-BR, is 0 in float64: choose a smaller ball"
            raise ParameterRefused(message, parameter="radius", value=radius)
        self.radius = radius
        self.widest = widest
        self._gamma = 0.5 * min(1.0 / (8.0 * BR), math.exp(-BR))
        self._longest = 0.0

    def regret_bound(self) -> float:
        """Return nats by which no θ of the ball can be better so far; infinity after a row longer than R. O(1)."""
        if self.n_features_ is None:
            return 0.0
        if self._longest > self.widest * (1.0 + 1e-12):  # a row scaled to R may be an ulp or two longer
            return math.inf
        d = self.n_features_ + self.intercept
        reach = 2.0 * self._gamma * self.radius * self.widest
        return (0.25 + d * math.log1p(self.rounds * reach * reach / d)) / (2.0 * self._gamma)

    def _widest(self) -> float:
        return 1e8 * self.widest  # half of the digits are left: one row shrinks S by up to √(1 + ‖x‖²/64R²)

    def _begin(self, width: int) -> None:
        self._theta: Vector = np.zeros(width)
        self._S: Matrix = np.eye(width)  # SSᵀ = A⁻¹/(γD)², which starts at I whatever γ may be

    def _announce(self, x: Vector) -> float:
        return float(self._theta @ x)

    def _answer(self, x: Vector, y: float, z: float) -> None:
        self._longest = max(self._longest, float(np.linalg.norm(x)))
        slope = -sigmoid(-z) if y else sigmoid(z)
        D = 2.0 * self.radius
        k, v = add_row(self._S, (self._gamma * D * slope) * x, 1.0)
        theta = self._theta - (D / (1.0 + v)) * k
        outside = np.linalg.norm(theta) > self.radius
        self._theta = project(theta, self._S, self.radius) if outside else theta


def project(u: Vector, S: Matrix, radius: float) -> Vector:
    r"""Return $\arg\min_{\|\theta\| \le B} (\theta-u)^\top A(\theta-u)$ where $A^{-1} = SS^\top$. O(d³).

    In the basis where A is diagonal, $A = Q\,\mathrm{diag}(a)\,Q^\top$, the minimiser is $a_iu_i/(a_i + \mu)$.
    """
    Q, s, _ = np.linalg.svd(S)
    a = (s[-1] / s) ** 2  # A = Q diag(1/s²) Qᵀ, scaled so that the largest is 1: the minimiser is the same
    b = a * (Q.T @ u)
    theta: Vector = Q @ (b / (a + ball_multiplier(a, b, radius)))
    return theta
