r"""One round in scalars: what the learner says, how it answers the label, and what is counted.

All that a round needs of the state are $v = x^\top P x$ and $m = w^\top x$; all that it does to it is
$P \leftarrow P - \gamma kk^\top$ and $w \leftarrow w + \alpha k$ with $k = Px$. Every form of the learner (single rows,
fused loop, blocks, factored, NumPy reference) shares these functions and differs only in how it keeps P.
"""

import math
from typing import NamedTuple

from aioli.numerics.compiling import Vector, compiled
from aioli.numerics.curvature import tight_curvature_at
from aioli.numerics.logistic import softplus
from aioli.numerics.root import solve
from aioli.outcomes.spec import Rule

__all__ = ["Tally", "answer_label", "count_round", "keeps_its_digits", "play_round"]

EPSILON = 2.0**-52
ERROR = 1e-10  # of z, that rounding in P may cause in one round before the state changes to its factored form
HEAVY = 32.0  # the weight beyond which a row is learned at the point to which it leads
DIGITS = 1e4  # v itself keeps its sign and six digits: ERROR·DIGITS = 1e-6


class Tallies(NamedTuple):
    """Give each running total its place in the tally: integers for Numba's sake, as in `spec.Rules`."""

    ROUNDS: int = 0
    WEIGHT: int = 1
    LOSS: int = 2
    REGRET: int = 3  # the certificate's sum
    WIDEST: int = 4  # the largest ‖x‖
    IRREGULAR: int = 5  # rows to which the paper's theorem does not speak: late, weighted or merged


Tally = Tallies()


@compiled("UniTuple(f8,6)(f8[::1],f8,f8,f8,f8,f8,f8)")
def play_round(
    rules: Vector, m: float, v: float, norm: float, y: float, weight: float, logit: float
) -> tuple[float, float, float, float, float, float]:
    r"""Announce log-odds, then answer the label; returns z, γ, α, the certificate's increment, the loss, and $v^+$.

    z is what the learner says now: $z + \tfrac{cv}{2}\tanh\tfrac z2 = m$. A label that comes late is learned from there
    too; `logit` is then what was announced when the row came, where the loss is counted, and NaN otherwise. With
    $\delta = m - z$, $g = \omega(p - y)$, h the curvature times the weight ω, and $D = 1 + hv/2$:

    $$\gamma = \frac{h}{2D},\quad \alpha = -\frac{g + h\delta}{2D},\quad
      \mathrm{inst} = \frac{\tfrac14 g^2 v - g\delta - \tfrac12 h\delta^2}{D},\quad v^+ = \frac vD.$$

    inst is $\ell(z) - (\min F_t - \min F_{t-1})$, F being the regularised sum of the surrogates: true at any z and ω,
    and wherever the surrogate touches the loss: where that is not what was announced, the difference of the two losses
    is added. Why not at the point that was announced: docs/late.md.
    """
    size, e, fall = solve(abs(m), 0.5 * rules[Rule.REGULARISER] * v)
    return answer_label(rules, m, v, norm, y, weight, logit, size, e, fall)


@compiled("UniTuple(f8,6)(f8[::1],f8,f8,f8,f8,f8,f8,f8,f8,f8)", inline=True)
def answer_label(
    rules: Vector,
    m: float,
    v: float,
    norm: float,
    y: float,
    weight: float,
    logit: float,
    size: float,
    e: float,
    fall: float,
) -> tuple[float, float, float, float, float, float]:
    r"""Return what `play_round` does, where `solve` has found $|z|$, $e^{-|z|}$ and $e^{-|z|} - 1$ already. O(1)."""
    positive = y > 0.5
    a = 0.5 * rules[Rule.REGULARISER] * v
    z = math.copysign(size, m)
    delta = math.copysign(a * -fall / (1.0 + e), m)  # m - z = a tanh(z/2), without the cancellation
    missed = math.log1p(e)  # the loss where the likelier label comes
    said = z
    loss = weight * (missed if positive == (z >= 0.0) else missed + size)
    late = not math.isnan(logit)
    if late:
        said = logit
        loss = weight * softplus(-logit if positive else logit)
    if weight > HEAVY:
        # A step from where it stands would go far beyond what the label asks for. The surrogate may touch the loss at
        # any point: take the one where the step ends, u + (ωv/2)(σ(u) - y) = m, an equation of the same form.
        b = 0.25 * weight * v
        towards = m + b if positive else m - b
        size, e, _ = solve(abs(towards), b)
        z = math.copysign(size, towards)
        missed = math.log1p(e)
        delta = m - z
    likely, unlikely = 1.0 / (1.0 + e), e / (1.0 + e)
    g = weight * (unlikely if positive == (z >= 0.0) else likely)
    g = -g if positive else g
    C = rules[Rule.RADIUS] * norm
    if rules[Rule.CURVATURE] == 1.0:
        h = weight * tight_curvature_at(size, e, missed, C)
    elif rules[Rule.CURVATURE] == 0.0:
        h = weight * likely * unlikely / (1.0 + C)
    else:  # the full curvature, p(1-p): no bound below the loss, but online Bayes
        h = weight * likely * unlikely
    D = 1.0 + 0.5 * h * v
    gamma = 0.5 * h / D
    alpha = -0.5 * (g + h * delta) / D
    inst = (0.25 * g * g * v - g * delta - 0.5 * h * delta * delta) / D
    if late or weight > HEAVY:
        inst += loss - weight * (missed if positive == (z >= 0.0) else missed + size)
    return said, gamma, alpha, inst, loss, v / D


@compiled("b1(f8,f8)")
def keeps_its_digits(spread: float, v: float) -> bool:
    r"""Return whether P still has digits enough to play on; $\mathrm{spread} = \sum_i x_i^2 P_{ii}$, v after the round.

    The terms of $x^\top P x$ are as large as spread, so rounding leaves an error of about ε·spread in v. It moves z by
    about as much when v is small, and by its share of v when v is large.
    """
    return EPSILON * spread <= ERROR * min(1.0 + v, DIGITS * v)


@compiled("void(f8[::1],f8,f8,f8,f8,f8)")
def count_round(tally: Vector, weight: float, loss: float, inst: float, norm: float, logit: float) -> None:
    """Add a round to the running totals; `logit` as it came to `play_round`."""
    tally[Tally.ROUNDS] += 1.0
    tally[Tally.WEIGHT] += weight
    tally[Tally.LOSS] += loss
    tally[Tally.REGRET] += inst
    tally[Tally.WIDEST] = max(tally[Tally.WIDEST], norm)
    if weight != 1.0 or not math.isnan(logit):
        tally[Tally.IRREGULAR] += 1.0
