"""The scalar equation that AIOLI's prediction is: the paper's d-dimensional argmin, collapsed."""

import math

from aioli.numerics.compiling import compiled, elementwise

__all__ = ["MOST_STEPS", "SHORT", "carried", "exponentials", "root", "root_many", "solve", "start"]

LOG_2 = math.log(2.0)
SHORT = 0.015625  # below it e^-s - 1 needs eight terms: the next is below 1e-19 of it
MOST_STEPS = 100


@compiled("UniTuple(f8,2)(f8,f8)")
def exponentials(z: float, small: float) -> tuple[float, float]:
    r"""Return $e^{-z}$ and $e^{-z} - 1$ for z ≥ 0; the second to full relative precision below `small`. O(1)."""
    if z < small:
        fall = math.expm1(-z)
        return 1.0 + fall, fall
    e = math.exp(-z)
    return e, e - 1.0


@compiled("UniTuple(f8,2)(f8,f8,f8)", reassociate=True)
def carried(e: float, fall: float, s: float) -> tuple[float, float]:
    r"""Carry $e^{-z}$ and $e^{-z} - 1$ on to z + s: $e^{-z-s} = e^{-z} + e^{-z}(e^{-s} - 1)$, s short. O(1)."""
    low = (1.0 - s / 2) + s * s * (1 / 6 - s * (1 / 24))
    high = (1 / 120 - s * (1 / 720)) + s * s * (1 / 5040 - s * (1 / 40320))
    change = -e * (s * (low + (s * s) * (s * s) * high))
    return e + change, fall + change


@compiled("UniTuple(f8,2)(f8,f8)", inline=True)
def start(m: float, a: float) -> tuple[float, float]:
    r"""Return a point left of the root, and below which z $e^{-z} - 1$ must be kept to full precision. O(1)."""
    excess = m - a
    z = m - a * min(1.0, 0.5 * m) if a < 0.125 else max(excess, m / (1.0 + 0.5 * a))
    if 8.0 < a < math.inf and m < math.inf:
        # Where m is near a and both are large, z is about log(2a), and Newton would climb there by 1 a step.
        near = math.log(a / max(math.log(a) + LOG_2 - excess, 1.0))
        if near > 1.0:
            z = max(z, near * (1.0 - 1e-15))
    # e^-z - 1 to full precision costs more, and is needed only where it is small, or times a large a
    return z, (1.0 if a > 0.125 else 0.0625)


@compiled("UniTuple(f8,3)(f8,f8)")
def solve(m: float, a: float) -> tuple[float, float, float]:
    r"""Return the z ≥ 0 with $z + a\tanh(z/2) = m$, for m, a ≥ 0; with it $e^{-z}$ and $e^{-z} - 1$. O(1).

    The left side is concave, so Newton from a point left of the root climbs to it and never passes it; all candidates
    for the start lie left, since tanh(z/2) ≤ min(1, z/2) and z ≤ m. One exponential, then two to eight steps that carry
    it along: $e^{-(z+s)} = e^{-z} + e^{-z}(e^{-s} - 1)$.
    """
    excess = m - a
    z, small = start(m, a)
    e, fall = exponentials(z, small)
    for _ in range(MOST_STEPS):
        sigma = 1.0 / (1.0 + e)
        slope = 1.0 + a * (2.0 * e * sigma * sigma)
        # a tanh(z/2) = a - 2aσ(-z): where m is close to a, only their exact difference keeps the digits
        missing = (m - z) + a * (fall * sigma) if z < small else (excess - z) + a * (2.0 * e * sigma)
        step = missing / slope
        if not step > 0.0:
            break
        bend = 0.5 * (1.0 - 1.0 / slope) * -(fall * sigma)  # |f''/2f'|, at most min(1, a/5)/2
        last = step * step * step * min(a, 1.0) <= 1e-16 * z  # and what the next term would add is below an ulp
        if last:
            step += bend * step * step
        z += step
        if step < SHORT:
            e, fall = carried(e, fall, step)
        else:
            e, fall = exponentials(z, small)
        if last:
            break
    return z, e, fall


@compiled("f8(f8,f8)")
def root(m: float, a: float) -> float:
    r"""Solve $z + a\tanh(z/2) = m$ for $z$, $a \ge 0$. O(1), two to eight Newton steps."""
    return math.copysign(solve(abs(m), a)[0], m)


root_many = elementwise(root, "f8(f8,f8)")
