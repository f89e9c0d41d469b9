"""The logistic family: softplus, sigmoid and logit, finite and accurate to a few ulp on all of float64."""

import math

import numpy as np

from aioli.numerics.compiling import Vector, compiled, elementwise

__all__ = [
    "finite_logit",
    "finite_logit_many",
    "log_loss",
    "log_loss_many",
    "logit",
    "sigmoid",
    "sigmoid_many",
    "softplus",
    "softplus_many",
]

LEAST, MOST = float(np.finfo(float).tiny), 1.0 - 2.0**-53  # probabilities whose log-odds are finite


@compiled("f8(f8)")
def softplus(z: float) -> float:
    r"""Return $\log(1 + e^z)$, the loss of saying log-odds $z$ when the label is 0. O(1)."""
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


@compiled("f8(f8)")
def sigmoid(z: float) -> float:
    r"""Return $\sigma(z) = 1/(1 + e^{-z})$; its complement is `sigmoid(-z)`, never `1 - sigmoid(z)`. O(1)."""
    e = math.exp(-abs(z))
    return 1.0 / (1.0 + e) if z >= 0.0 else e / (1.0 + e)


@compiled("f8(f8)")
def logit(p: float) -> float:
    r"""Return $\log(p / (1-p))$, the inverse of the sigmoid; ±inf at 0 and 1. O(1)."""
    if 0.25 <= p <= 0.75:
        return math.log1p((2.0 * p - 1.0) / (1.0 - p))  # 2p - 1 is exact here, log p - log(1-p) would cancel
    return math.log(p) - math.log1p(-p)


@compiled("f8(f8,f8)")
def log_loss(z: float, y: float) -> float:
    r"""Return $\log(1 + e^z) - yz$ for a label of 0 or 1, without the cancellation. O(1)."""
    return softplus(-z if y == 1.0 else z)


softplus_many = elementwise(softplus, "f8(f8)")
log_loss_many = elementwise(log_loss, "f8(f8,f8)")
sigmoid_many = elementwise(sigmoid, "f8(f8)")
logit_many = elementwise(logit, "f8(f8)")


@compiled("f8(f8)")
def finite_logit(p: float) -> float:
    """Return the log-odds of a probability, 0 and 1 being read as the normal numbers next to them. O(1)."""
    return logit(min(max(p, LEAST), MOST))


def finite_logit_many(p: Vector) -> Vector:
    """Return the log-odds of each probability, 0 and 1 being read as the normal numbers next to them. O(1) each."""
    return logit_many(np.minimum(np.maximum(p, LEAST), MOST))  # np.clip costs more on few rows
