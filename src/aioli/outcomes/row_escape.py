r"""The escape as the row itself tells it: the probability that a learner gives to one class which nobody has seen.

Where u classes have come, such a learner announces $q_t(x)$ for one more. Suppose that there are K classes in all,
which nobody knows: while u < K the escape is $q_t(x)$, from then on 0. With the prior $\pi(K) = 1/(K(K-1))$, K ≥ 2,
the mixture over all K needs one number, the *open share* o, the probability that more classes are to come:

$$\varepsilon = o\,q_t(x), \qquad o = \tfrac{u-1}u \text{ when class } u \text{ comes}, \qquad
  o \leftarrow \frac{o(1-q_t)}{1 - oq_t} \text{ else},$$

since $\sum_{K>u}\pi(K) = 1/u$. It costs at most $\ln(K(K-1))$ nats more than $q_t$ played until the last class has come
and nothing since. Whoever is told the K classes beforehand, and gives those not yet seen the same probability, pays
$\ln(K-u)$ nats for which of them comes, $\ln K! \ge \ln(K(K-1))$ in all. So not to know the classes costs nothing but
the share of what follows.

Beside it stands what the counts alone tell (`outcomes.escape`), with a tenth of the shares: ln(10/9) nats at most where
the rows tell well, and ln 10 more than the counts where they do not.

>>> escape = RowEscape()
>>> escape.play(np.array([1.0, 0.7, 0.3]), np.array([0.0, 0.5, 0.2]), np.array([True, True, False])).round(3)
array([1.   , 0.52 , 0.127])
>>> float(escape.announce(0.2, np.array([0.2, 0.9])).round(3)[1])
0.378
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Vector, compiled
from aioli.snapshots.tree import Snapshot

__all__ = ["RowEscape"]

NUMBERS = 3
SHARE, OPEN, CLASSES = range(NUMBERS)  # of what the rows tell; that more classes come; how many have come
FIRST_SHARE = 0.9
MOST = 1.0 - 1e-12  # of a share, and of an escape after the first row


class RowEscape:
    """Holds the open share, how many classes have come, and how far the rows are trusted beyond the counts."""

    def __init__(self) -> None:
        self.numbers: Vector = np.array([FIRST_SHARE, 1.0, 0.0])

    @classmethod
    def after(cls, classes: int) -> Self:
        """Return the escape when so many classes have come, the last of them just now."""
        made = cls()
        made.numbers[CLASSES] = classes
        made.numbers[OPEN] = (classes - 1.0) / classes if classes > 1 else 1.0
        return made

    def announce(self, counted: float, unseen: Vector) -> Vector:
        """Return the probability of a new class for rows, each as if it came next.

        `counted` is what the counts alone tell, and `unseen` what the learner says of each row.
        """
        share, open_, classes = self.numbers.tolist()
        if classes < 1.0:
            return np.ones(len(unseen))
        return np.asarray(np.minimum(share * open_ * unseen + (1.0 - share) * counted, MOST))

    def play(self, counted: Vector, unseen: Vector, is_new: NDArray[np.bool_]) -> Vector:
        """Return the probability of a new class before each row, and hear which rows brought one. O(1) a row."""
        out = np.empty(len(counted))
        play_row_escapes(self.numbers, counted, unseen, is_new, out)
        return out

    def snapshot(self) -> Snapshot:
        """Return its three numbers."""
        return Snapshot("RowEscape", arrays={"numbers": self.numbers.copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal escape."""
        given = snapshot.of("RowEscape")
        made = cls()
        made.numbers[...] = given.array("numbers", (NUMBERS,))
        share, open_, classes = made.numbers.tolist()
        if not (0.0 <= share <= 1.0 and 0.0 <= open_ <= 1.0 and classes >= 0.0):
            raise SnapshotRefused(f"in a RowEscape, the numbers are {made.numbers.tolist()}")
        return made


@compiled("void(f8[::1],f8[::1],f8[::1],b1[::1],f8[::1])")
def play_row_escapes(numbers: Vector, counted: Vector, unseen: Vector, is_new: NDArray[np.bool_], out: Vector) -> None:
    """Announce the escape of each row, then learn whether its class was new. O(1) a row."""
    for t in range(out.size):
        told = numbers[OPEN] * unseen[t]
        out[t] = 1.0  # of the first row every class is new
        if numbers[CLASSES] >= 1.0:
            share = numbers[SHARE]
            out[t] = min(share * numbers[OPEN] * unseen[t] + (1.0 - share) * counted[t], MOST)
            right = told / out[t] if is_new[t] else (1.0 - told) / (1.0 - out[t])
            numbers[SHARE] = min(share * right, MOST)
        if is_new[t]:
            numbers[CLASSES] += 1.0
            if numbers[CLASSES] > 1.0:
                numbers[OPEN] = (numbers[CLASSES] - 1.0) / numbers[CLASSES]
        elif told < 1.0:
            numbers[OPEN] *= (1.0 - unseen[t]) / (1.0 - told)
