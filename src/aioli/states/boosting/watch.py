r"""Says when a boosted model no longer fits the stream: when its newest losses are far above those so far.

A model that is fitted to thousands of rows goes on believing them long after the world has changed, and a fit to rows
of before and after is a model of neither. So the loss ℓ of each row, before its label, is watched from the first model
on, at most one nat of it: its mean $\bar\ell$ and variance $s^2$ over all n rows, and a mean f of the newest,
$f \leftarrow f + (\ell - f)/64$. Of independent losses f has the variance $s^2/127$, and by Bernstein's inequality a
chance of at most $e^{-12}$ a row to pass

$$\bar\ell + \sqrt{2 \cdot 12\,\tfrac{s^2}{127}} + \tfrac{12}{3}\cdot\tfrac1{64}.$$

Where it does, the world has changed; from 512 rows on. While a model learns its losses fall, and the mean is above what
it is now: a change is then found later, and none is found where there is none.
"""

import math

from aioli.numerics.compiling import Vector, compiled
from aioli.numerics.logistic import log_loss

__all__ = ["NEWEST", "WATCHED", "watch_row"]

NEWEST = 64  # rows that f is a mean of, about
PROVEN = 8 * NEWEST  # rows before which nothing is said
SURE = 12.0  # nats: at most $e^{-12}$ is the chance of an alarm where nothing has changed
MOST = 1.0  # nats of a row that count: about what a mistake is worth, however bold it was

WATCHED = 4  # numbers that are kept
COUNT, MEAN, SQUARES, NOW = range(WATCHED)  # n, the mean, the sum of squared deviations from it, and f


@compiled("f8(f8[::1],i8)", uncounted=True)
def loss_of(scores: Vector, code: int) -> float:
    """Return the loss of a row by its scores. O(K)."""
    outputs = scores.size
    if outputs == 1:
        return log_loss(scores[0], float(code))
    top = scores[0]
    for k in range(1, outputs):
        top = max(top, scores[k])
    total = 0.0
    for k in range(outputs):
        total += math.exp(scores[k] - top)
    loss: float = math.log(total) + top - scores[code]
    return loss


@compiled("b1(f8[::1],i8,f8[::1])", uncounted=True)
def watch_row(scores: Vector, code: int, watched: Vector) -> bool:
    """Watch the loss of a row by its scores; return whether the world has changed. O(K)."""
    loss = min(loss_of(scores, code), MOST)
    watched[COUNT] += 1.0
    n, off = watched[COUNT], loss - watched[MEAN]
    watched[MEAN] += off / n
    watched[SQUARES] += off * (loss - watched[MEAN])
    watched[NOW] += (loss - watched[NOW]) * max(1.0 / NEWEST, 1.0 / n)
    variance = watched[SQUARES] / (n * (2.0 * NEWEST - 1.0))
    by_chance = math.sqrt(2.0 * SURE * variance) + SURE / 3.0 * MOST / NEWEST
    changed: bool = n >= PROVEN and watched[NOW] > watched[MEAN] + by_chance
    return changed
