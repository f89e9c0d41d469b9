r"""A round with an offset: log-odds that somebody else has said, to which the model adds its own.

The model says $z$ for the log-odds $o + \theta^\top x$, the offset o being known. Minimising the same objective gives
$z + \tfrac{cv}{2}\tanh\tfrac z2 = m + o$, and the surrogate is a quadratic in $o + \theta^\top x$, whose curvature must
hold for the whole ball: there $|o + \theta^\top x| \le |o| + B\|x\|$. So a round with an offset is the usual one at
m + o, with $\|x\| + |o|/B$ for the norm in the curvature; $\delta = m + o - z$, and all that follows from it, is the
same (docs/fleet.md).
"""

import math

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import count_round, keeps_its_digits, play_round
from aioli.states.dense import factored, fused

__all__ = ["centre_and_spread", "play_row_with_offset"]

IN_TIME = math.nan
IRREGULAR = 0.0  # in place of log-odds announced earlier: the paper's theorem knows no offset
multiply, downdate, forget = fused.multiply, fused.downdate, fused.forget
whiten, factored_step = factored.whiten, factored.step


@compiled("UniTuple(f8,3)(f8[:,::1],f8[::1],f8[::1],f8[::1],b1)", reassociate=True)
def centre_and_spread(P: Matrix, w: Vector, x: Vector, k: Vector, is_factored: bool) -> tuple[float, float, float]:
    r"""Return m, v and $\sum_i x_i^2 P_{ii}$, 0 where the state is factored; leave Px or $S^\top x$ in k. O(d²)."""
    v = 0.0
    m = 0.0
    spread = 0.0
    if is_factored:
        v = whiten(P, x, k)
    else:
        spread = multiply(P, x, k)
        for i in range(x.size):
            v += x[i] * k[i]
    for i in range(x.size):
        m += x[i] * w[i]
    return m, v, spread


@compiled(
    "UniTuple(f8,2)(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[::1],f8,f8,f8,b1)",
    reassociate=True,
)
def play_row_with_offset(
    P: Matrix,
    w: Vector,
    tally: Vector,
    rules: Vector,
    workspace: Matrix,
    x: Vector,
    y: float,
    weight: float,
    offset: float,
    is_factored: bool,
) -> tuple[float, float]:
    """Play one row; return the log-odds announced and the loss, NaN where P would lose its digits. O(d²).

    Nothing has been changed where NaN is returned: factor the state, then play the row.
    """
    k, s = workspace[1], workspace[2]
    rho, ridge = rules[Rule.FORGETTING], rules[Rule.RIDGE]
    m, v, spread = centre_and_spread(P, w, x, k, is_factored)
    norm2 = 0.0
    for i in range(x.size):
        norm2 += x[i] * x[i]
    norm = math.sqrt(norm2)
    reach = norm + abs(offset) / rules[Rule.RADIUS]
    z, gamma, alpha, inst, loss, v_after = play_round(rules, m + offset, v, reach, y, weight, IN_TIME)
    if is_factored:
        factored_step(P, w, k, v, v_after, gamma, alpha)
    else:
        if rho == 1.0 and not keeps_its_digits(spread, v_after):
            return math.nan, math.nan
        root_gamma = math.sqrt(gamma)
        for i in range(x.size):
            s[i] = root_gamma * k[i]
            w[i] += alpha * k[i]
        downdate(P, s)
        if rho < 1.0:
            forget(P, rho, ridge)
    count_round(tally, weight, loss, inst, norm, IRREGULAR)
    return z, loss
