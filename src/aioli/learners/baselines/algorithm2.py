"""The paper's Algorithm 2, to the letter: the reference that AIOLI's scalar form is compared with."""

import math

import numpy as np
from scipy.linalg import solve_triangular

from aioli.errors import ParameterRefused
from aioli.learners.baselines.row_by_row import RowByRow
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid

__all__ = ["Algorithm2"]


class Algorithm2(RowByRow):
    r"""AIOLI as printed: a Cholesky factor, triangular solves, and T gradient steps in two dimensions a round.

    With $A_{t-1} = LL^\top$: $W = L^{-1}(b, x)$; $W^\top W = U\Sigma U^\top$; $u = \Sigma^{1/2}U^\top e_1$,
    $v = \Sigma^{1/2}U^\top e_2$; then T steps $\omega \leftarrow \omega - \gamma\nabla\Omega(\omega)$ on
    $\Omega(\omega) = \|\omega\|^2 - 2u^\top\omega + \log(1 + e^{-v^\top\omega}) + \log(1 + e^{v^\top\omega})$, and
    $\hat\theta = L^{-\top}WU\Sigma^{-1/2}\omega$. O(d² + T) a round.

    The printed listing contradicts the paper's own text and proofs in four places, which are mended here:
    $L_0 = \lambda^{+1/2}I$, not $\lambda^{-1/2}I$; b is updated with the factor ½ of its definition; W and θ̂ use
    $L_{t-1}$, since $L_t$ needs the label; and the objective's $\log(1+\cosh)$ is $\log(2 + 2\cosh)$, of the same
    argmin. `verbatim=True` plays the listing as printed, and its regret then breaks the theorem's bound. (Before the
    label is seen $L_t$ does not exist; verbatim, the factor at hand is used.)

    Parameters
    ----------
    radius, ridge
        B and λ; a ridge of None is 1/B².
    widest
        R: the largest ‖x‖ there will be; in the curvature $1/(1+BR)$ and the step $\gamma = \lambda/(4\lambda+R^2)$.
    steps
        T. None goes on until a step no longer changes ω: the number of Lemma 4 grows with R²/λ.
    verbatim
        Whether to play the listing with its errata.
    intercept
        Whether every row has a further column of ones.

    Examples
    --------
    >>> from aioli import AIOLI, Algorithm2
    >>> paper = Algorithm2(radius=2.0, widest=2.0, intercept=False)
    >>> quick = AIOLI(radius=2.0, regulariser=1.0, curvature="paper", intercept=False)
    >>> for x, y in [([1.2, -1.6], 1), ([-2.0, 0.0], 0), ([0.0, 2.0], 1)]:
    ...     print(f"{paper.learn(x, y):.6f} {quick.learn(x, y):.6f}")
    0.500000 0.500000
    0.406840 0.406840
    0.382399 0.382399

    References
    ----------
    Jézéquel, Gaillard, Rudi. Efficient improper learning for online logistic regression. COLT 2020, appendix D.
    """

    vectors = ("_b",)
    matrices = ("_L",)

    def __init__(
        self,
        radius: float = 1.0,
        ridge: float | None = None,
        widest: float = 1.0,
        steps: int | None = None,
        verbatim: bool = False,
        intercept: bool = True,
    ) -> None:
        super().__init__(intercept=intercept)
        for name, value in (("radius", radius), ("ridge", ridge), ("widest", widest), ("steps", steps)):
            if value is not None and not 0 < value < math.inf:
                raise ParameterRefused.unlike(name, value, "a finite number above 0")
        self.radius = radius
        self.ridge = ridge
        self.widest = widest
        self.steps = steps
        self.verbatim = verbatim
        self._ridge = self.radius**-2 if self.ridge is None else self.ridge

    def _begin(self, width: int) -> None:
        scale = self._ridge ** (-0.5 if self.verbatim else 0.5)
        self._L: Matrix = scale * np.eye(width)
        self._b: Vector = np.zeros(width)

    def _announce(self, x: Vector) -> float:
        W = solve_triangular(self._L, np.column_stack([self._b, x]), lower=True)
        sigma, U = np.linalg.eigh(W.T @ W)
        kept = sigma > 1e-30 * sigma[-1]  # the economic decomposition: b = 0, or b along x, leaves one dimension
        root = np.sqrt(sigma[kept])
        u, v = root * U[0, kept], root * U[1, kept]
        omega = self._descend(u, v)
        theta = solve_triangular(self._L, W @ (U[:, kept] @ (omega / root)), lower=True, trans="T")
        return float(theta @ x)

    def _descend(self, u: Vector, v: Vector) -> Vector:
        step = self._ridge / (4.0 * self._ridge + self.widest**2)
        omega = np.zeros(u.size)
        for _ in range(self.steps or 1_000_000):
            a = float(v @ omega)
            change = step * (2.0 * omega - 2.0 * u + (sigmoid(a) - sigmoid(-a)) * v)
            omega = omega - change
            if self.steps is None and np.linalg.norm(change) <= 1e-14 * step * (1.0 + np.linalg.norm(omega)):
                break
        return omega

    def _answer(self, x: Vector, y: float, z: float) -> None:
        sign = 1.0 if y else -1.0
        g = -sigmoid(-sign * z) * sign * x
        eta = math.exp(min(sign * z, 700.0)) / (1.0 + self.radius * self.widest)
        gz = -sigmoid(-sign * z) * sign * z  # gᵀθ̂
        self._b = self._b + (1.0 if self.verbatim else 0.5) * (eta * gz - 1.0) * g
        self._L = cholesky_update(self._L, math.sqrt(eta / 2.0) * g)


def cholesky_update(L: Matrix, x: Vector) -> Matrix:
    r"""Return the Cholesky factor of $LL^\top + xx^\top$, by Givens rotations (Golub and Van Loan, 6.5.4). O(d²)."""
    L, x = L.copy(), x.copy()
    for k in range(x.size):
        r = math.hypot(L[k, k], x[k])
        c, s = L[k, k] / r, x[k] / r
        column = L[k:, k].copy()
        L[k:, k] = c * column + s * x[k:]
        x[k:] = c * x[k:] - s * column
    return L
