"""Exponential weights by what was announced, at a rate that falls as the announced loss falls behind their own.

What the rate and the gap are for is told and proved in `states.mixture.late`.
"""

import math

from aioli.numerics.compiling import Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.numerics.logistic import sigmoid
from aioli.states.mixture.mixture_loops import LEAST

__all__ = ["GAP", "HEDGE", "RATE", "hedge", "slow_down"]

HEDGE = 3  # numbers of one level: its rate, its gap, and the largest that the gap has been
RATE, GAP, WORST = range(HEDGE)


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8,f8,f8,f8,f8)")
def hedge(
    rates: Vector,
    prior: Vector,
    shares: Vector,
    said: Vector,
    announced: float,
    y: float,
    weight: float,
    share: float,
    slowest: float,
) -> None:
    """Move the shares by what was announced, and lower the rate where the gap has grown. O(K)."""
    power = rates[RATE] * weight
    total = 0.0
    for i in range(said.size):
        right = said[i] if y > 0.5 else -said[i]
        shares[i] *= math.exp(power * (min(right, 0.0) - math.log(1.0 + math.exp(-abs(right)))))  # σ(z)^η
        total += shares[i]
    if total > 0.0:
        lost = -weight * math.log(max(sigmoid(announced if y > 0.5 else -announced), LEAST))
        rates[GAP] += lost + math.log(total) / rates[RATE]
    else:  # every one was certain, and wrong: begin again
        copy_numbers(prior, shares)
        total = 1.0
    for i in range(said.size):
        shares[i] = (1.0 - share) * (shares[i] / total) + share * prior[i]
    if rates[GAP] > rates[WORST]:
        rates[WORST] = rates[GAP]
        slow_down(rates, prior, shares, min(1.0, max(1.0 / rates[WORST], slowest)))


@compiled("void(f8[::1],f8[::1],f8[::1],f8)")
def slow_down(rates: Vector, prior: Vector, shares: Vector, rate: float) -> None:
    r"""Lower η to `rate`, where it is above: $w_i \leftarrow \pi_i (w_i/\pi_i)^{\eta'/\eta}$, normalised. O(K)."""
    if not rate < rates[RATE]:
        return
    power = rate / rates[RATE]
    total = 0.0
    for i in range(shares.size):
        shares[i] = prior[i] * (shares[i] / prior[i]) ** power if prior[i] > 0.0 else 0.0
        total += shares[i]
    for i in range(shares.size):
        shares[i] /= total
    rates[RATE] = rate
