r"""Two mixtures that went on from a third become one: losses add, and so does what stackers have learned.

Shares follow what the experts lost, and losses add: $w_i \propto w_i^{(0)} e^{-\text{lost by } i \text{ since}}$ over
the rows of both games, of which a part goes back to the prior, as in one game. The upper mixture does not know what its
members lost; its shares are the geometric mean of both, by their rows since the ancestor. A stacker is online Bayes,
$Q^{-1}$ and $Q^{-1}u$, which add beyond the ancestor's; the one that forgets takes the mean of both, as states that
forget do (`states.merging`). Each shard's stackers heard the mixture of their own shard, so that the sum is not what
one game would have given: the upper mixture takes them or leaves them. The memory of the last labels is the mean of
both.
"""

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.mixture_loops import MEMORIES, RETURN, RETURN_START, TIME

__all__ = ["merged_mixtures"]

LEAST = 1e-300  # a share of which there is still a logarithm


def merged_mixtures(first: Mixture, second: Mixture, since: Mixture, lost: Vector) -> Mixture:
    """Return the mixture of two games that went on from a third, all over the same experts. O(K³).

    `lost` is what each expert lost in both games since.
    """
    games = first, second, since
    merged = Mixture(since.prior, since.alone, min(first.heard, second.heard))
    merged.prior[:] = since.prior
    rows = [float(game.memory[TIME] - since.memory[TIME]) for game in (first, second)]
    part = rows[0] / sum(rows) if sum(rows) > 0.0 else 0.5
    merged.memory[:MEMORIES] = part * first.memory[:MEMORIES] + (1.0 - part) * second.memory[:MEMORIES]
    merged.memory[TIME] = since.memory[TIME] + sum(rows)
    returned = RETURN / (merged.memory[TIME] + RETURN_START)
    shares = _normalised(np.log(np.maximum(since.shares, LEAST)) - lost)
    merged.shares[:] = (1.0 - returned) * shares + returned * merged.prior
    heard = slice(0, 1 + merged.heard)
    upper = [np.log(np.maximum(game.upper[heard], LEAST)) for game in (first, second)]
    merged.upper[heard] = _normalised(part * upper[0] + (1.0 - part) * upper[1])
    remembering, forgetting = (1.0, 1.0, -1.0), (part, 1.0 - part, 0.0)
    for i, weights in enumerate((remembering, forgetting, remembering)):
        u, k, s, Q = merged.stackers[i]
        u[:], Q[:] = _combined([_information(game, i) for game in games], weights)
        k[:] = s[:] = 0.0
    return merged


def _normalised(logs: Vector) -> Vector:
    """Return the shares whose logarithms, up to a constant, these are."""
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def _information(mixture: Mixture, stacker: int) -> tuple[Matrix, Vector]:
    """Return the precision of a stacker and its product with u; s is the step that Q has still to take."""
    u, _, s, Q = mixture.stackers[stacker]
    precision: Matrix = np.asarray(np.linalg.inv(Q - np.outer(s, s)), np.float64)
    return precision, precision @ u


def _combined(parts: list[tuple[Matrix, Vector]], weights: tuple[float, float, float]) -> tuple[Vector, Matrix]:
    """Return u and Q of a weighted sum of what stackers know."""
    precision, known = np.zeros_like(parts[0][0]), np.zeros_like(parts[0][1])
    for c, (A, b) in zip(weights, parts, strict=True):
        precision += c * A
        known += c * b
    Q: Matrix = np.asarray(np.linalg.inv(precision), np.float64)
    Q = 0.5 * (Q + Q.T)  # bitwise symmetric, as the loops leave it
    return np.asarray(Q @ known, np.float64), Q
