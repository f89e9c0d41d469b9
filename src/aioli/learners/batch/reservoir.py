"""Which rounds of a stream of unknown length are remembered: a uniform sample of m of them, chosen as they come."""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.snapshots.generators import restore_generator, snapshot_generator
from aioli.snapshots.tree import Plain, Snapshot

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
        """Let the round `next` in; return the slot that it takes, which is a new one while there are fewer than m."""
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
        """Draw how many rounds do not enter: 1 - random() is in (0, 1], so its logarithm is finite; W stays below 1."""
        self._W = min(self._W * (1.0 - self._rng.random()) ** (1.0 / self.size), 1.0 - 2.0**-53)
        return int(math.log(1.0 - self._rng.random()) / math.log1p(-self._W))

    def snapshot(self) -> Snapshot:
        """Return the rounds, the next one to enter, W, and the generator that draws."""
        values: dict[str, Plain] = {"size": self.size, "next": self.next, "W": self._W}
        rounds = {"rounds": np.array(self.rounds, dtype=np.int64)}
        return Snapshot("Reservoir", values, rounds, {"generator": snapshot_generator(self._rng)})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal reservoir from a snapshot: it chooses the same rounds from there."""
        given = snapshot.of("Reservoir")
        reservoir = cls(given.whole("size", least=1), seed=0)
        reservoir.rounds, reservoir.next = given.integers("rounds", (None,)).tolist(), given.whole("next", least=1)
        reservoir._W = given.number("W")
        reservoir._rng = restore_generator(given.part("generator"))
        entered = all(1 <= t < reservoir.next for t in reservoir.rounds)
        if len(reservoir.rounds) > reservoir.size or not entered or not 0.0 < reservoir._W <= 1.0:
            raise SnapshotRefused(
                f"rounds {reservoir.rounds} before round {reservoir.next} are no sample of {reservoir.size}"
            )
        return reservoir
