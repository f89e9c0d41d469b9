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

from aioli.numerics.compiling import Cube, Vector, compiled
from aioli.numerics.logistic import log_loss
from aioli.states.boosting.fitting import Numbers

__all__ = ["NEWEST", "WATCHED", "watch_rows"]

NEWEST = 64  # rows that f is a mean of, about
PROVEN = 8 * NEWEST  # rows before which nothing is said
SURE = 12.0  # nats: at most $e^{-12}$ is the chance of an alarm where nothing has changed
MOST = 1.0  # nats of a row that count: about what a mistake is worth, however bold it was

WATCHED = 4  # numbers that are kept
COUNT, MEAN, SQUARES, NOW = range(WATCHED)  # n, the mean, the sum of squared deviations from it, and f


@compiled("f8(f8[:,:,::1],i8,i8,i8)")
def loss_of(scores: Cube, t: int, stage: int, code: int) -> float:
    """Return the loss of a row by its scores after a stage. O(K)."""
    outputs = scores.shape[2]
    if outputs == 1:
        return log_loss(scores[t, stage, 0], float(code))
    top = scores[t, stage, 0]
    for k in range(1, outputs):
        top = max(top, scores[t, stage, k])
    total = 0.0
    for k in range(outputs):
        total += math.exp(scores[t, stage, k] - top)
    loss: float = math.log(total) + top - scores[t, stage, code]
    return loss


@compiled("i8(f8[:,:,::1],i8[::1],f8[::1],f8[::1])", uncounted=True)
def watch_rows(scores: Cube, codes: Numbers, weights: Vector, watched: Vector) -> int:
    """Watch the losses of rows, rows × stages × outputs, in order; return after how many the world has changed, or 0.

    Rows behind those are not watched. A row of weight 0 is nothing that is learned, and not watched either. O(K) a row.
    """
    last = scores.shape[1] - 1
    for t in range(codes.size):
        if weights[t] == 0.0:
            continue
        loss = min(loss_of(scores, t, last, codes[t]), MOST)
        watched[COUNT] += 1.0
        n, off = watched[COUNT], loss - watched[MEAN]
        watched[MEAN] += off / n
        watched[SQUARES] += off * (loss - watched[MEAN])
        watched[NOW] += (loss - watched[NOW]) * max(1.0 / NEWEST, 1.0 / n)
        variance = watched[SQUARES] / (n * (2.0 * NEWEST - 1.0))
        by_chance = math.sqrt(2.0 * SURE * variance) + SURE / 3.0 * MOST / NEWEST
        if n >= PROVEN and watched[NOW] > watched[MEAN] + by_chance:
            return t + 1
    return 0
