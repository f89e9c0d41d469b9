r"""Columns whose missing numbers are marked, as trees see them: a missing cell lies below all others, and above them.

A number that is missing was filled with the mean of its column, and a column of 0 and 1 marks it. Linear experts need
no more: the mark has a coefficient of its own. A tree would need two splits to send the missing rows one way and divide
the others. So it reads such a column twice, missing cells at $-10^{300}$ and, in a column behind all others, at
$10^{300}$: whichever way they are better sent, one split does it. XGBoost and LightGBM learn the way in each split.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, compiled

__all__ = ["NO_GAPS", "Gaps", "show_gaps", "with_gaps"]

BEYOND = 1e300  # farther out than any cell: squares of cells are finite

Gaps: TypeAlias = NDArray[np.int64]  # a line for each such column: its place, and that of its mark
NO_GAPS: Gaps = np.zeros((0, 2), np.int64)


def with_gaps(known: Gaps, gaps: Sequence[tuple[int, int]] | Gaps, width: int) -> Gaps:
    """Return the columns that are known to have gaps, and behind them those of `gaps` that are new, in such rows."""
    pairs = [(int(number), int(mark)) for number, mark in known]
    pairs += [pair for number, mark in gaps if max(pair := (int(number), int(mark))) < width and pair not in pairs]
    return np.array(pairs, np.int64).reshape(-1, 2)


@compiled("void(f8[:,::1],i8[:,::1],f8[:,::1])")
def show_gaps(X: Matrix, gaps: Gaps, seen: Matrix) -> None:
    """Write rows as trees see them: a column more for each that has gaps. O(d) a row."""
    width = X.shape[1]
    for t in range(len(X)):
        for j in range(width):
            seen[t, j] = X[t, j]
        for i in range(len(gaps)):
            number, is_missing = gaps[i, 0], X[t, gaps[i, 1]] == 1.0
            seen[t, width + i] = BEYOND if is_missing else X[t, number]
            if is_missing:
                seen[t, number] = -BEYOND
