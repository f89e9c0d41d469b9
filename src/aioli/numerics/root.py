"""The scalar equation that AIOLI's prediction is: the paper's d-dimensional argmin, collapsed."""

import math

from aioli.numerics.compiling import compiled, elementwise

__all__ = ["root", "root_many"]

LOG_2 = math.log(2.0)


@compiled("f8(f8,f8)")
def root(m: float, a: float) -> float:
    r"""Solve $z + a\tanh(z/2) = m$ for $z$, $a \ge 0$. O(1), two to eight Newton steps.

    By symmetry take m ≥ 0. The left side is concave there, so Newton from a point left of the root climbs to it and
    never passes it; both candidates for the start lie left, since tanh(z/2) ≤ min(1, z/2).
    """
    target = abs(m)
    excess = target - a
    z = max(excess, target / (1.0 + 0.5 * a))
    if 8.0 < a < math.inf and target < math.inf:
        # Where m is near a and both are large, z is about log(2a), and Newton would climb there by 1 a step.
        near = math.log(a / max(math.log(a) + LOG_2 - excess, 1.0))
        if near > 1.0:
            z = max(z, near * (1.0 - 1e-15))
    for _ in range(100):
        if z < 1.0:
            fall = math.expm1(-z)
            e = 1.0 + fall
            missing = (target - z) + a * (fall / (1.0 + e))
        else:  # a tanh(z/2) = a - 2aσ(-z): where m is close to a, only their exact difference keeps the digits
            e = math.exp(-z)
            missing = (excess - z) + a * (2.0 * e / (1.0 + e))
        step = missing / (1.0 + a * (2.0 * e / ((1.0 + e) * (1.0 + e))))
        if not step > 0.0:
            break
        z += step
        if step * step * min(a, 5.0) <= 4e-16 * z:  # |f''/f'| ≤ min(1, a/5), so step² min(1, a/5)/2 is left
            break
    return math.copysign(z, m)


root_many = elementwise(root, "f8(f8,f8)")
