"""Mixes log-odds by shares that all keys have in common: compiled, in logarithms."""

import math

from aioli.numerics.compiling import Vector, compiled
from aioli.numerics.logistic import softplus

__all__ = ["mix", "update_shares"]


@compiled("f8(f8[::1])")
def log_sum(terms: Vector) -> float:
    """Return the logarithm of the sum of exponentials."""
    most = -math.inf
    for i in range(terms.size):
        most = max(most, terms[i])
    total = 0.0
    for i in range(terms.size):
        total += math.exp(terms[i] - most)
    return most + math.log(total)


@compiled("f8(f8[::1],f8[::1],f8[::1])")
def mix(log_shares: Vector, logits: Vector, room: Vector) -> float:
    r"""Return the log-odds of $\sum_i s_i\,\sigma(z_i)$, the shares s given by their logarithms."""
    for i in range(logits.size):
        room[i] = log_shares[i] - softplus(-logits[i])
    one = log_sum(room)
    for i in range(logits.size):
        room[i] = log_shares[i] - softplus(logits[i])
    return one - log_sum(room)


@compiled("void(f8[::1],f8[::1],f8,f8)")
def update_shares(log_shares: Vector, logits: Vector, y: float, weight: float) -> None:
    """Multiply each share by the probability that it gave the label, to the power of the weight; they add up to 1."""
    for i in range(logits.size):
        log_shares[i] -= weight * softplus(-logits[i] if y > 0.5 else logits[i])
    total = log_sum(log_shares)
    for i in range(logits.size):
        log_shares[i] -= total
