r"""The surrogate of each row that the kernel form has learned from: a parabola below its loss, on the whole ball.

$\hat\ell_s(f) = L_s + g_s(f - z_s) + \tfrac12h_s(f - z_s)^2$ with f the value at the row, $g_s = \omega(p - y)$ the
slope at the point z where it touches the loss, and L the loss there. Whatever rounding does to the factor, this stays
true: it needs nothing of the state but z, and any z will do.
"""

import math

import numpy as np

from aioli.numerics.compiling import Vector, compiled
from aioli.numerics.root import solve
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import HEAVY

__all__ = ["SLOPE", "TOUCH", "losses_at", "touching_point"]

TOUCH, SLOPE = range(2)  # the columns of z and of g


@compiled("UniTuple(f8,2)(f8[::1],f8,f8,f8,f8)")
def touching_point(rules: Vector, m: float, v: float, y: float, weight: float) -> tuple[float, float]:
    """Return z and g of the surrogate that `play_round` learns from."""
    positive = y > 0.5
    a, towards = 0.5 * rules[Rule.REGULARISER] * v, m
    if weight > HEAVY:  # at the point to which the row leads
        a = 0.25 * weight * v
        towards = m + a if positive else m - a
    size, e, _ = solve(abs(towards), a)
    z = math.copysign(size, towards)
    missed = e / (1.0 + e) if positive == (z >= 0.0) else 1.0 / (1.0 + e)  # |p - y|
    return z, -weight * missed if positive else weight * missed


def losses_at(z: Vector, g: Vector) -> Vector:
    r"""Return the loss of each row at z, given its slope: $|g|\,\mathrm{softplus}(s)/\sigma(s)$, $s = \pm z$."""
    s = np.where(g > 0.0, z, -z)
    e = np.exp(-np.abs(s))
    small = np.where(e > 0.0, np.log1p(e) / np.where(e > 0.0, e, 1.0), 1.0)  # softplus(s)/e for s < 0
    return np.abs(g) * (1.0 + e) * np.where(s > 0.0, s + np.log1p(e), small)
