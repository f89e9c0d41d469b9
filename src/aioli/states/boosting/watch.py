r"""Says when a boosted model no longer fits the stream: when its newest losses are far above those so far.

Between two fits leaves learn on (`states.boosting.learning`), but splits stay as they are long after the world has
changed, and a fit to rows of before and after is a model of neither. So the loss ℓ of each row, before its label, is
watched from the first model on, at most one nat of it: its mean $\bar\ell$ and variance $s^2$ over all n rows, and a
mean f of the newest, $f \leftarrow f + (\ell - f)/64$. Of independent losses f has the variance $s^2/127$, and by
Bernstein's inequality a chance of at most $e^{-12}$ a row to pass

$$\bar\ell + \sqrt{2 \cdot 12\,\tfrac{s^2}{127}} + \tfrac{12}{3}\cdot\tfrac1{64}.$$

Where it does, the world has changed; from 512 rows on. A row of a weight below 1 is that part of a row. While a model
learns its losses fall, and the mean is above what it is now: a change is then found later, and none is found where
there is none.
"""

import math

from aioli.numerics.compiling import Vector, compiled

__all__ = ["RECENT", "WATCHED", "watch_loss"]

RECENT = 64  # rows that f is a mean of, about, and that are kept where the world has changed
PROVEN = 8 * RECENT  # rows before which nothing is said
SURE = 12.0  # nats: at most $e^{-12}$ is the chance of an alarm where nothing has changed
MOST_LOSS = 1.0  # nats of a row that count: about what a mistake is worth, however bold it was

WATCHED = 4  # numbers that are kept
COUNT, MEAN, SQUARES, NOW = range(WATCHED)  # n, the mean, the sum of squared deviations from it, and f


@compiled("b1(f8,f8,f8[::1])", uncounted=True)
def watch_loss(loss: float, weight: float, watched: Vector) -> bool:
    """Watch the loss of a row, which counts as at most one row; return whether the world has changed. O(1)."""
    counted, part = min(loss, MOST_LOSS), min(weight, 1.0)
    watched[COUNT] += part
    n, off = watched[COUNT], counted - watched[MEAN]
    watched[MEAN] += part / n * off
    watched[SQUARES] += part * off * (counted - watched[MEAN])
    watched[NOW] += (counted - watched[NOW]) * max(part / RECENT, part / n)
    variance = watched[SQUARES] / (n * (2.0 * RECENT - 1.0))
    by_chance = math.sqrt(2.0 * SURE * variance) + SURE / 3.0 * MOST_LOSS / RECENT
    changed: bool = n >= PROVEN and watched[NOW] > watched[MEAN] + by_chance
    return changed
