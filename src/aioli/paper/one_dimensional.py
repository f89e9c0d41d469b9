r"""Compiled loops that play one column: a million rounds in a second, where the classes take minutes.

Each plays rows $x_t$ and labels 0.0 or 1.0 in order and returns the sum of its losses in nats; tests hold every one of
them to its class. A round is O(1).
"""

import math

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid, softplus
from aioli.numerics.newton import minimise
from aioli.numerics.root import root

__all__ = ["play_ftrl", "play_listing", "play_ogd", "play_ons"]


@compiled("f8(f8[:,::1],i8[::1],f8[::1],f8)")
def play_ftrl(rows: Matrix, which: NDArray[np.int64], y: Vector, ridge: float) -> float:
    r"""Play `FTRL`: $\theta_t = \arg\min \lambda\theta^2 + \sum_{s<t}\ell_s$, over k distinct rows. O(k).

    Round t's row is `rows[which[t]]`; equal rows are counted.
    """
    counts = np.zeros((len(rows), 2))
    theta = np.zeros(1)
    loss = 0.0
    for t in range(len(y)):
        z = theta[0] * rows[which[t], 0]
        loss += softplus(-z if y[t] > 0.5 else z)
        counts[which[t], int(y[t])] += 1.0
        minimise(rows, counts, ridge, theta)
    return loss


@compiled("f8(f8[::1],f8[::1],f8,f8)")
def play_ogd(x: Vector, y: Vector, radius: float, widest: float) -> float:
    r"""Play `OGD`: $\theta \leftarrow \Pi_B(\theta - \tfrac{B}{R\sqrt t}g)$, for rows no longer than R."""
    theta, loss = 0.0, 0.0
    for t in range(len(y)):
        z = theta * x[t]
        slope = -sigmoid(-z) if y[t] > 0.5 else sigmoid(z)
        loss += softplus(-z if y[t] > 0.5 else z)
        theta -= radius / math.sqrt(t + 1.0) * slope / widest * x[t]
        theta = min(max(theta, -radius), radius)
    return loss


@compiled("f8(f8[::1],f8[::1],f8,f8)")
def play_ons(x: Vector, y: Vector, radius: float, widest: float) -> float:
    r"""Play `ONS`: $A \leftarrow A + g^2$, $\theta \leftarrow \Pi_B(\theta - g/\gamma A)$; s is $1/(\gamma^2D^2A)$."""
    BR, D = radius * widest, 2.0 * radius
    gamma = 0.5 * min(1.0 / (8.0 * BR), math.exp(-BR))
    theta, s, loss = 0.0, 1.0, 0.0
    for t in range(len(y)):
        z = theta * x[t]
        slope = -sigmoid(-z) if y[t] > 0.5 else sigmoid(z)
        loss += softplus(-z if y[t] > 0.5 else z)
        g = gamma * D * slope * x[t]
        shrunk = 1.0 + g * g * s
        theta -= D / shrunk * s * g
        s /= shrunk
        theta = min(max(theta, -radius), radius)
    return loss


@compiled("f8(f8[::1],f8[::1],f8,f8,f8,f8)")
def play_listing(x: Vector, y: Vector, radius: float, widest: float, start: float, share: float) -> float:
    r"""Play `Algorithm2`, its descent run to the end: $z + \tfrac{x^2}{2A}\tanh\tfrac z2 = \tfrac{bx}{A}$, then

    $A \leftarrow A + \tfrac12hx^2$ and $b \leftarrow b + \text{share}\,(hz + y - p)x$ with $h = p(1-p)/(1+BR)$, from
    $A_0 = \text{start}$. The paper's definition is $A_0 = \lambda$ and a share of ½; as printed it is $A_0 = 1/\lambda$
    and 1.
    """
    A, b, loss = start, 0.0, 0.0
    for t in range(len(y)):
        z = root(b * x[t] / A, 0.5 * x[t] * x[t] / A)
        missing = sigmoid(-z) if y[t] > 0.5 else -sigmoid(z)
        h = sigmoid(z) * sigmoid(-z) / (1.0 + radius * widest)
        loss += softplus(-z if y[t] > 0.5 else z)
        A += 0.5 * h * x[t] * x[t]
        b += share * (h * z + missing) * x[t]
    return loss
