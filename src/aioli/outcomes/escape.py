r"""The escape: the probability that the next row's class is one that nobody has seen.

After t rows, of which u brought a new class and o classes have come once only, three guesses are

- $(u + \tfrac12)/(t + 1)$: classes go on coming as they came (Krichevsky and Trofimov);
- $(o + \tfrac12t^{-1/2})/(t + 1)$: what has come once is as likely as what has not come at all (Good and Turing);
- $(u + \tfrac12)/(t + 1)^{3/2}$: classes come ever more rarely.

Their mixture, each weighed by how likely it made what has come so far, costs at most ln 3 nats more in all than the
best of them. Before the first row every class is new, and the escape is 1. The classes seen so far share the rest.

>>> escape = Escape()
>>> escape.probability
1.0
>>> escape.play(np.array([0, 0, 0, 1])).round(3)
array([1.   , 0.677, 0.299, 0.185])
>>> round(escape.probability, 3), escape.new
(0.33, 2)
"""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Vector, compiled
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Escape"]

GUESSES = 3
COUNTS = 3
ROWS, NEW, ONCE = range(COUNTS)
MANY = 2  # rows of a class beyond which it is not asked how many


class Escape:
    """Holds how often each class has come, up to twice, and the shares of the three guesses."""

    def __init__(self) -> None:
        self.counts: Codes = np.zeros(COUNTS, np.int64)
        self.seen: Codes = np.zeros(0, np.int64)
        self.shares: Vector = np.full(GUESSES, 1.0 / GUESSES)

    @classmethod
    def after(cls, rows: int, classes: int) -> Self:
        """Return the escape after so many rows of so many classes, each of which has come more than once."""
        made = cls()
        made.counts[ROWS], made.counts[NEW] = rows, classes
        made.seen = np.full(classes, MANY)
        return made

    @property
    def probability(self) -> float:
        """The probability that the next row's class is new. O(1)."""
        return escape_probability(self.counts, self.shares)

    @property
    def new(self) -> int:
        """How many rows brought a new class."""
        return int(self.counts[NEW])

    def play(self, codes: Codes) -> Vector:
        """Return the probability of a new class before each row, and count the classes of the rows. O(1) a row."""
        classes = (codes.item() if codes.size == 1 else int(codes.max(initial=-1))) + 1
        if classes > self.seen.size:
            self.seen = np.append(self.seen, np.zeros(classes - self.seen.size, np.int64))
        announced = np.empty(len(codes))
        play_escapes(self.counts, self.shares, self.seen, codes, announced)
        return announced

    def code_length(self) -> float:
        r"""Return the most that the escape can have cost in all: $n\,h(u/n) + \tfrac12\log n + \log 2 + \log 3$. O(1).

        h is the entropy of a coin, in nats: the best coin in hindsight, Krichevsky and Trofimov's regret against it,
        and what the mixture of three guesses costs.
        """
        rows, new = self.counts[ROWS].item(), self.new
        if rows == 0:
            return 0.0
        shares = [share for share in (new / rows, 1.0 - new / rows) if share > 0.0]
        entropy = -rows * sum(share * math.log(share) for share in shares)
        return float(entropy) + 0.5 * math.log(rows) + math.log(2.0) + math.log(GUESSES)

    def merge(self, other: Self, places: Codes) -> None:
        """Take in what another counted from other rows; class k of the other is class `places[k]` here."""
        seen = np.zeros(max(self.seen.size, int(places.max(initial=-1)) + 1), np.int64)
        seen[: self.seen.size] = self.seen
        seen[places[: other.seen.size]] += other.seen
        self.seen = np.minimum(seen, MANY)
        self.counts = self.counts + other.counts
        self.counts[ONCE] = np.count_nonzero(self.seen == 1)
        product = self.shares * other.shares
        self.shares = product / product.sum() if product.sum() > 0.0 else np.full(GUESSES, 1.0 / GUESSES)

    def snapshot(self) -> Snapshot:
        """Return the counts and the shares of the guesses."""
        arrays: dict[str, Array] = {
            "counts": self.counts.copy(),
            "seen": self.seen.copy(),
            "shares": self.shares.copy(),
        }
        return Snapshot("Escape", arrays=arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal escape."""
        given = snapshot.of("Escape")
        made = cls()
        made.counts, made.seen = given.integers("counts", (COUNTS,)).copy(), given.integers("seen", (None,)).copy()
        made.shares = given.array("shares", (GUESSES,)).copy()
        counted = (made.counts >= 0).all() and ((made.seen >= 0) & (made.seen <= MANY)).all()
        if not counted or not ((made.shares >= 0.0).all() and made.shares.sum() > 0.0):
            raise SnapshotRefused("in an Escape, a count or a share is not one")
        return made


@compiled("UniTuple(f8,3)(i8[::1])", inline=True)
def guess(counts: Codes) -> tuple[float, float, float]:
    """Return the three guesses. O(1)."""
    t = float(counts[ROWS])
    return (
        (counts[NEW] + 0.5) / (t + 1.0),
        (counts[ONCE] + 0.5 / math.sqrt(t)) / (t + 1.0),
        (counts[NEW] + 0.5) / ((t + 1.0) * math.sqrt(t + 1.0)),
    )


@compiled("f8(i8[::1],f8[::1])")
def escape_probability(counts: Codes, shares: Vector) -> float:
    """Return the mixture of the guesses. O(1)."""
    if counts[ROWS] == 0:
        return 1.0
    a, b, c = guess(counts)
    return float(min(shares[0] * a + shares[1] * b + shares[2] * c, 1.0 - 1e-16))


@compiled("void(i8[::1],f8[::1],i8[::1],i8[::1],f8[::1])")
def play_escapes(counts: Codes, shares: Vector, seen: Codes, codes: Codes, out: Vector) -> None:
    """Announce the escape of each row, then count its class. O(1) a row."""
    for t in range(codes.size):
        k = codes[t]
        out[t] = escape_probability(counts, shares)
        if counts[ROWS] > 0:
            a, b, c = guess(counts)
            if seen[k] > 0:
                a, b, c = 1.0 - a, 1.0 - b, 1.0 - c
            a, b, c = a * shares[0], b * shares[1], c * shares[2]
            total = a + b + c
            shares[0], shares[1], shares[2] = a / total, b / total, c / total
        counts[ROWS] += 1
        if seen[k] == 0:
            counts[NEW] += 1
            counts[ONCE] += 1
        elif seen[k] == 1:
            counts[ONCE] -= 1
        seen[k] = min(seen[k] + 1, MANY)
