"""One row at a time through Auto's companions: every array and every call made ready beforehand."""

import math
from collections.abc import Sequence

import numpy as np

from aioli.learners.auto.companions import Companion
from aioli.numerics.compiling import Matrix, Vector, bound, compiled

__all__ = ["PreparedRow", "fill_abstentions"]


class PreparedRow:
    """Holds room for a row of weight 1 and for what every member says of it, and the calls by which they do.

    It does what `Members.play` or `Members.consult` does, to the last bit, and is made anew whenever a companion joins,
    leaves or grows. It is for one thread at a time.

    Parameters
    ----------
    width
        How many columns a row has.
    companions
        Those that play, None in place of one that has retired.
    parts
        The places of each companion's members; place 0 is the linear experts'.
    learned
        Whether the row is learned, or only asked about.

    Attributes
    ----------
    width
        As given: compiled code writes a row of so many columns, and checks no more.
    Z, y, weights
        What every member said of the last row, its label and its weight; the next row overwrites them.
    """

    def __init__(
        self, width: int, companions: Sequence[Companion | None], parts: Sequence[slice], learned: bool
    ) -> None:
        X, y, weights = np.empty((1, width)), np.empty(1), np.ones(1)
        Z = np.zeros((1, parts[-1].stop))
        self.width, self.Z, self.y, self.weights = width, Z, y, weights
        playing = [(part, each) for part, each in zip(parts, companions, strict=True) if each is not None]
        calls = [
            each.prepared(X, y, weights, Z[:, part]) if learned else each.prepared_consult(X, Z[:, part])
            for part, each in playing
        ]
        calls.append(bound(fill_abstentions, Z))

        def hear_all(x: Vector, linear: float, label: float) -> None:
            begin_row(x, linear, label, X, y, Z)
            for call in calls:
                call()

        # A function: whoever measures a learner's memory, as River does, goes past it; the calls hold all of Numba.
        self.hear = hear_all

    def __deepcopy__(self, _memo: dict[int, object]) -> None:
        """Return None: the calls play the companions that they were made for, and a copy makes its own."""

    def __reduce__(self) -> tuple[object, ...]:
        return type(None), ()  # as for copies


@compiled("void(f8[::1],f8,f8,f8[:,::1],f8[::1],f8[:,::1])")
def begin_row(x: Vector, linear: float, label: float, X: Matrix, y: Vector, Z: Matrix) -> None:
    """Write a row, its label, and the log-odds of the linear experts, the first member, to where they belong. O(d)."""
    for j in range(x.size):
        X[0, j] = x[j]
    y[0], Z[0, 0] = label, linear


@compiled("void(f8[:,::1])")
def fill_abstentions(Z: Matrix) -> None:
    """Replace NaN, by which a member abstains, with the log-odds of the first member. O(1) each."""
    for t in range(len(Z)):
        for i in range(1, Z.shape[1]):
            if math.isnan(Z[t, i]):
                Z[t, i] = Z[t, 0]
