r"""How strongly a quadratic may bend and still stay below the logistic loss on $[-C, C]$.

The surrogate $\hat\ell(u) = \ell(z) + \ell'(z)(u - z) + \tfrac12 h (u - z)^2$ must satisfy $\hat\ell \le \ell$ for
$|u| \le C$; the larger h, the faster the learner learns and the smaller its certificate.
"""

import math

from aioli.numerics.compiling import compiled, elementwise

__all__ = ["paper_curvature", "paper_curvature_many", "tight_curvature", "tight_curvature_at", "tight_curvature_many"]

_TAYLOR = tuple(1.0 / math.factorial(k + 2) for k in range(22))  # |u| < 3/2: the next term is below 1e-17
_ATANH = tuple(1.0 / (2 * k + 3) for k in range(17))  # w² < 0.1 there: the next term is below 1e-18


@compiled("f8(f8,f8)")
def paper_curvature(z: float, C: float) -> float:
    r"""Return the h of the paper's Lemma 2, $h = p(1-p)/(1+C)$ with $p = \sigma(z)$. O(1)."""
    e = math.exp(-abs(z))
    return e / ((1.0 + e) * (1.0 + e)) / (1.0 + C)


@compiled("f8(f8,f8,f8,f8)")
def tight_curvature_at(z: float, e: float, missed: float, C: float) -> float:
    r"""Return the largest h there is: $h = 2\,D(C, |z|)/(C - |z|)^2$, D the Bregman divergence of the loss. O(1).

    The loss is $g(u) = \log 2\cosh(u/2)$ plus a linear term, and g is even, so the label does not matter and z may be
    taken ≥ 0. The quotient $2D(a, z)/(a-z)^2 = 2\int_0^1 (1-s)\,g''(z + s(a-z))\,ds$ falls in a on [0, ∞), because
    g'' does; and its value at -a is no smaller than at a, which is Jaakkola and Jordan's inequality
    $g(a) - g(z) \le g'(z)(a^2 - z^2)/(2z)$. So over [-C, C] it is least at C: one evaluation instead of two.
    z ≥ 0 comes with what a round knows already: $e = e^{-z}$ and `missed` $= \log(1 + e)$.
    """
    gap = C - z
    q = e / (1.0 + e)
    if abs(gap) < 1.5:
        # D = [log1p(y) - y] + q[e^u - 1 - u], u = -gap, y = q(e^u - 1): each bracket divided by u² is a quick series,
        # and since q ≤ 1/2 their difference loses at most a factor 3. At gap = 0 it is q(1-q).
        u = -gap
        second = 0.0
        for k in range(21, -1, -1):
            second = second * u + _TAYLOR[k]  # (e^u - 1 - u)/u²
        first = 1.0 + u * second  # (e^u - 1)/u
        y = q * u * first
        w = y / (2.0 + y)  # log1p(y) = 2 atanh(w)
        tail = 0.0
        for k in range(16, -1, -1):
            tail = tail * (w * w) + _ATANH[k]
        missing = (1.0 - 2.0 * w * tail / (2.0 + y)) / (2.0 + y)  # (y - log1p(y))/y²
        return 2.0 * (q * second - (q * first) * (q * first) * missing)
    # D = f(C) - f(z) + q·gap, f(u) = log(1 + e^-u): from 1.5 on the terms are at most four times their sum
    end = math.exp(-C)
    beyond = end * (1.0 - end * (0.5 - end / 3.0)) if end < 1e-5 else math.log1p(end)
    divergence = (beyond - missed) + q * gap
    per_gap = 1.0 / gap  # known before the divergence is: a division less to wait for
    return 2.0 * (divergence * per_gap) * per_gap


@compiled("f8(f8,f8)")
def tight_curvature(z: float, C: float) -> float:
    """Return `tight_curvature_at` any log-odds z. O(1)."""
    e = math.exp(-abs(z))
    return tight_curvature_at(abs(z), e, math.log1p(e), C)


paper_curvature_many = elementwise(paper_curvature, "f8(f8,f8)")
tight_curvature_many = elementwise(tight_curvature, "f8(f8,f8)")
