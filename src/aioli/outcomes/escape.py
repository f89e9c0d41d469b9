r"""The escape: the probability that the next row's class is one that nobody has seen.

With t rows so far, of which u brought a new class, $\varepsilon = (u + \tfrac12)/(t + 1)$ (Krichevsky and Trofimov);
before the first row every class is new, and $\varepsilon = 1$. The classes seen so far share the rest.

>>> escape_probability(rows=0, new=0), escape_probability(rows=3, new=1)
(1.0, 0.375)
"""

import math

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Vector

__all__ = ["Flags", "escape_code_length", "escape_probabilities", "escape_probability"]

Flags = NDArray[np.bool_]


def escape_probability(rows: int, new: int) -> float:
    """Return the probability of a new class after so many rows, of which so many brought a new class. O(1)."""
    return 1.0 if rows == 0 else (new + 0.5) / (rows + 1.0)


def escape_probabilities(rows: int, new: int, is_new: Flags) -> Vector:
    """Return the escape's probability before each of several rows in order; `is_new` says which bring a new class."""
    before = np.arange(rows, rows + len(is_new))
    seen = new + np.concatenate([[0], np.cumsum(is_new)[:-1]])
    return np.where(before == 0, 1.0, (seen + 0.5) / (before + 1.0))


def escape_code_length(rows: int, new: int) -> float:
    r"""Return the most that the escape can have cost in all: $n\,h(u/n) + \tfrac12\log n + \log 2$ nats. O(1).

    h is the entropy of a coin, in nats: the best coin in hindsight, and Krichevsky and Trofimov's regret against it.
    """
    if rows == 0:
        return 0.0
    shares = [share for share in (new / rows, 1.0 - new / rows) if share > 0.0]
    return -rows * sum(share * math.log(share) for share in shares) + 0.5 * math.log(rows) + math.log(2.0)
