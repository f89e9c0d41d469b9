"""Quadratics over a ball: the trust-region problem, in the basis where the quadratic is diagonal."""

import numpy as np

from aioli.numerics.compiling import Vector

__all__ = ["ball_multiplier"]


def ball_multiplier(g: Vector, b: Vector, radius: float) -> float:
    r"""Return the μ ≥ 0 of $\min_{\|\theta\| \le B} \sum_i g_i\theta_i^2 - 2b_i\theta_i$, $g_i \ge 0$. O(d) a step.

    The minimiser is $\theta_i = b_i/(g_i + \mu)$; its norm falls in μ, so μ is 0 or the only root of $\|\theta\| = B$.
    """
    needed = b != 0.0  # where b is 0, θ is 0 whatever g may be
    g, b = g[needed], np.abs(b[needed])
    if b.size == 0:
        return 0.0
    pull = float(b.max())  # in units of which nothing overflows: θ in radii, μ in pull/radius
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        b, g = b / pull, g / pull * radius
        lower = max(0.0, float(np.max(b - g)))  # below it, one coordinate alone would leave the ball
        upper = float(np.linalg.norm(b))

        def shortfall(mu: float) -> float:
            return float(1.0 / np.linalg.norm(b / (g + mu)) - 1.0)  # nearly linear in μ

        if shortfall(lower) >= 0.0:
            mu = lower
        elif shortfall(upper) <= 0.0:  # equality up to rounding: all of g is negligible
            mu = upper
        else:
            from scipy.optimize import brentq  # 0.15 s, where learning never needs it

            mu = float(brentq(shortfall, lower, upper, xtol=1e-300, rtol=1e-14, maxiter=2000))
        scaled = mu * pull
        return float(scaled / radius) if 0.0 < scaled < 1e300 else float(mu / radius * pull)
