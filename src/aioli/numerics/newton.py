r"""Newton's method for ridge-penalised logistic regression on distinct rows, each with its count of either label.

$F(\theta) = \lambda\|\theta\|^2 + \sum_s n_{s0}\log(1 + e^{z_s}) + n_{s1}\log(1 + e^{-z_s})$, $z = X\theta$.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid

__all__ = ["minimise"]

DECREMENT = 1e-10  # what is left of δ at the end: F is then within 1e-20 of its minimum
STEPS = 1000  # two to four are usual, and thirty the most seen with rows of up to 1e6·√λ


@compiled("void(f8[:,::1],f8[:,::1],f8,f8[::1],f8[::1],f8[::1],f8[:,::1])", reassociate=True)
def differentiate(X: Matrix, counts: Matrix, ridge: float, theta: Vector, z: Vector, g: Vector, H: Matrix) -> None:
    r"""Compute $z = X\theta$, the gradient $g = \nabla F$, and the lower triangle of $H = \nabla^2F$. O(td²)."""
    for i in range(theta.size):
        g[i] = 2.0 * ridge * theta[i]
        H[i, :] = 0.0
        H[i, i] = 2.0 * ridge
    for s in range(X.shape[0]):
        x = X[s]
        total = 0.0
        for i in range(x.size):
            total += x[i] * theta[i]
        z[s] = total
        p, q = sigmoid(total), sigmoid(-total)
        first = counts[s, 0] * p - counts[s, 1] * q
        second = (counts[s, 0] + counts[s, 1]) * p * q
        for i in range(x.size):
            g[i] += first * x[i]
            scaled = second * x[i]
            for j in range(i + 1):
                H[i, j] += scaled * x[j]


@compiled("void(f8[:,::1],f8[::1],f8,f8[::1])", reassociate=True)
def solve(H: Matrix, g: Vector, least: float, delta: Vector) -> None:
    r"""Solve $\Delta = -H^{-1}g$ by Cholesky's method, in place, where no eigenvalue of H is below `least`. O(d³).

    Then no pivot is either, so one that rounding has sent lower is put back: the factor always exists.
    """
    d = g.size
    for i in range(d):
        for j in range(i + 1):
            total = H[i, j]
            for k in range(j):
                total -= H[i, k] * H[j, k]
            H[i, j] = math.sqrt(max(total, least)) if i == j else total / H[j, j]
    for i in range(d):
        total = -g[i]
        for k in range(i):
            total -= H[i, k] * delta[k]
        delta[i] = total / H[i, i]
    for i in range(d - 1, -1, -1):
        delta[i] /= H[i, i]
        for k in range(i):
            delta[k] -= H[i, k] * delta[i]


@compiled("f8(f8[:,::1],f8,f8[::1],f8[::1],f8[::1],f8[::1],f8)", reassociate=True)
def slope(counts: Matrix, ridge: float, theta: Vector, delta: Vector, z: Vector, dz: Vector, tau: float) -> float:
    r"""Return $\frac{d}{d\tau}F(\theta + \tau\Delta)$, where $z = X\theta$ and $dz = X\Delta$. O(t + d)."""
    total = 0.0
    for i in range(theta.size):
        total += 2.0 * ridge * (theta[i] + tau * delta[i]) * delta[i]
    for s in range(z.size):
        there = z[s] + tau * dz[s]
        total += (counts[s, 0] * sigmoid(there) - counts[s, 1] * sigmoid(-there)) * dz[s]
    return total


@compiled("i8(f8[:,::1],f8[:,::1],f8,f8[::1])", reassociate=True)
def minimise(X: Matrix, counts: Matrix, ridge: float, theta: Vector) -> int:
    r"""Move θ, in place, to $\arg\min F$; return the number of Newton steps. O(td² + d³) each.

    Along a step Δ the third derivative of F is at most $r = \max_s|x_s^\top\Delta|$ times the second (Bach 2010). So
    with $\delta = \sqrt{g^\top H^{-1}g}$, Newton's decrement, the slope at $\theta + \tau\Delta$ is at most
    $\delta^2((e^{r\tau} - 1)/r - 1)$: F falls all the way to $\tau = \log(1+r)/r$, without a line search. There the
    decrement is at most $2(1-\tau)\sqrt{1+r}\,\delta$, about rδ, which tells when to stop.

    References
    ----------
    Bach. Self-concordant analysis for logistic regression. Electronic Journal of Statistics 4, 2010.
    """
    t, d = X.shape
    g, delta, z, dz, H = np.empty(d), np.empty(d), np.empty(t), np.empty(t), np.empty((d, d))
    for step in range(1, STEPS + 1):
        differentiate(X, counts, ridge, theta, z, g, H)
        solve(H, g, 2.0 * ridge, delta)
        decrement2 = 0.0
        for i in range(d):
            decrement2 -= g[i] * delta[i]
        r = 0.0
        for s in range(t):
            dz[s] = 0.0
            for i in range(d):
                dz[s] += X[s, i] * delta[i]
            r = max(r, abs(dz[s]))
        tau = math.log1p(r) / r if r > 0.0 else 1.0
        left = 2.0 * (1.0 - tau) * math.sqrt((1.0 + r) * max(decrement2, 0.0))
        if r > 1.0:  # far away the inequality is far too careful: go twice as far while F still falls there
            while slope(counts, ridge, theta, delta, z, dz, 2.0 * tau) < 0.0:
                tau *= 2.0
        for i in range(d):
            theta[i] += tau * delta[i]
        if r <= 1.0 and left <= DECREMENT:
            return step
    return STEPS
