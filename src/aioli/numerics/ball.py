"""Quadratics over a ball: the trust-region problem, in the basis where the quadratic is diagonal."""

import numpy as np
from scipy.optimize import brentq

from aioli.numerics.compiling import Vector

__all__ = ["ball_multiplier"]


def ball_multiplier(g: Vector, b: Vector, radius: float) -> float:
    r"""The multiplier μ ≥ 0 of $\min_{\|\theta\| \le B} \sum_i g_i\theta_i^2 - 2b_i\theta_i$, $g_i \ge 0$. O(d) a step.

    The minimiser is $\theta_i = b_i/(g_i + \mu)$; its norm falls in μ, so μ is 0 or the only root of $\|\theta\| = B$.
    """
    needed = b != 0.0  # where b is 0, θ is 0 whatever g may be
    g, b = g[needed], b[needed]

    def shortfall(mu: float) -> float:
        with np.errstate(divide="ignore", over="ignore"):
            return float(1.0 / np.linalg.norm(b / (g + mu)) - 1.0 / radius)  # nearly linear in μ

    upper = float(np.linalg.norm(b)) / radius
    if b.size == 0 or shortfall(0.0) >= 0.0:
        return 0.0
    if shortfall(upper) <= 0.0:  # equality up to rounding: all of g is negligible
        return upper
    return float(brentq(shortfall, 0.0, upper, xtol=1e-300, rtol=1e-14))
