"""Which rounds of a stream of unknown length are remembered: a uniform sample of m of them, chosen as they come."""

import math
from typing import Any

import numpy as np

__all__ = ["Reservoir"]


class Reservoir:
    r"""A uniform sample of m of the rounds 1, …, n, at every n, decided ahead of each round.

    The first m rounds enter. Imagine that every round draws a key uniform on (0, 1) and the m least are kept: the
    greatest key kept, W, and the rounds until the next key below it need no keys of their own (Li 1994):

    $$W \leftarrow W\,U^{1/m}, \qquad \text{rounds passed over} = \lfloor\log U' / \log(1 - W)\rfloor,$$

    and the newcomer takes a slot at random. About $m(1 + \ln\frac nm)$ rounds enter in all, O(1) each; a round that
    does not enter costs a comparison.

    Parameters
    ----------
    size
        m.
    seed
        Of the choice: the same seed chooses the same rounds.

    Attributes
    ----------
    rounds
        The round of each slot, in no order once there have been more than m.
    next
        The round that enters next.

    Examples
    --------
    >>> reservoir = Reservoir(3, seed=0)
    >>> for t in range(1, 1001):
    ...     if t == reservoir.next:
    ...         slot = reservoir.admit()
    >>> reservoir.rounds, reservoir.next
    ([224, 497, 610], 1415)

    References
    ----------
    Li. Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n))). ACM Transactions on Mathematical Software
    20, 1994.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.rounds: list[int] = []
        self.next = 1
        self._W = 1.0
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def admit(self) -> int:
        """Let the round `next` in: the slot that it takes, which is a new one while there are fewer than m."""
        if len(self.rounds) < self.size:
            slot = len(self.rounds)
            self.rounds.append(self.next)
        else:
            slot = int(self._rng.integers(self.size))
            self.rounds[slot] = self.next
        self.next += 1
        if len(self.rounds) == self.size:
            self.next += self._passed_over()
        return slot

    def _passed_over(self) -> int:
        """1 - random() is in (0, 1]: its logarithm is finite, and W is kept below 1 where it is 0."""
        self._W = min(self._W * (1.0 - self._rng.random()) ** (1.0 / self.size), 1.0 - 2.0**-53)
        return int(math.log(1.0 - self._rng.random()) / math.log1p(-self._W))

    def to_header(self) -> dict[str, Any]:
        """What JSON can hold of it: all."""
        return {"rounds": self.rounds, "next": self.next, "W": self._W, "rng": self._rng.bit_generator.state}

    def restore(self, header: dict[str, Any]) -> None:
        """Go on where the reservoir that wrote the header was."""
        rounds = [int(t) for t in header["rounds"]]
        following, W = int(header["next"]), float(header["W"])
        if len(rounds) > self.size or not all(1 <= t < following for t in rounds) or not 0.0 < W <= 1.0:
            raise ValueError(f"rounds {rounds} before round {following} are no sample of {self.size}")
        self._rng.bit_generator.state = header["rng"]
        self.rounds, self.next, self._W = rounds, following, W
