r"""Computes cosines and sines of many angles at once, in vector instructions: one reduction and two polynomials each.

An angle t is reduced to $r = t - q\,\pi/2$, $|r| \le \pi/4$, q a whole number. π/2 is subtracted in three parts (Cody
and Waite): the first two have 33 bits, so that their products with $|q| \le 2^{20}$ are exact; the third is the rest.
The polynomials are those of fdlibm's `__kernel_sin` and `__kernel_cos`. By $q \bmod 4$, the cosine of t is
$\cos r, -\sin r, -\cos r, \sin r$, and its sine $\sin r, \cos r, -\sin r, -\cos r$. Absolute errors are below 4e-16.
Where any angle is larger than $10^6$, or not a number, the C library computes all of them.
"""

import math

from aioli.numerics.compiling import Vector, compiled

__all__ = ["write_waves"]

FARTHEST = 1e6  # here q is 636,620, below 2²⁰
TO_QUARTERS = 2.0 / math.pi
FIRST, SECOND, THIRD = 1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21  # of π/2
WHOLE = 6755399441055744.0  # 1.5 · 2⁵²: x + WHOLE - WHOLE is x rounded to a whole number


@compiled("void(f8[::1],f8,f8[::1],f8[::1])", uncounted=True)
def write_waves(turns: Vector, length: float, cosines: Vector, sines: Vector) -> None:
    """Write length · cos t and length · sin t for every angle t of `turns`, in radians. O(1) each."""
    far = False
    for j in range(turns.size):
        far |= not abs(turns[j]) <= FARTHEST
    if far:
        for j in range(turns.size):
            cosines[j], sines[j] = length * math.cos(turns[j]), length * math.sin(turns[j])
        return
    for j in range(turns.size):
        q = (turns[j] * TO_QUARTERS + WHOLE) - WHOLE
        r = ((turns[j] - q * FIRST) - q * SECOND) - q * THIRD
        x = r * r
        sine = r + r * x * (
            -1.66666666666666324348e-01
            + x
            * (
                8.33333333332248946124e-03
                + x
                * (
                    -1.98412698298579493134e-04
                    + x
                    * (2.75573137070700676789e-06 + x * (-2.50507602534068634195e-08 + x * 1.58969099521155010221e-10))
                )
            )
        )
        cosine = (1.0 - 0.5 * x) + x * x * (
            4.16666666666666019037e-02
            + x
            * (
                -1.38888888888741095749e-03
                + x
                * (
                    2.48015872894767294178e-05
                    + x
                    * (-2.75573143513906633035e-07 + x * (2.08757232129817482790e-09 - x * 1.13596475577881948265e-11))
                )
            )
        )
        half = (0.5 * q - 0.25 + WHOLE) - WHOLE  # q/2, rounded down
        odd = q - 2.0 * half
        turned = half - 2.0 * ((0.5 * half - 0.25 + WHOLE) - WHOLE)
        sign = length * (1.0 - 2.0 * turned)
        cosines[j] = (sign - 2.0 * odd * sign) * (sine if odd > 0.0 else cosine)
        sines[j] = sign * (cosine if odd > 0.0 else sine)
