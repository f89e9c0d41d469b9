"""The cells of rows in bins, so that sums over them take little time: dense columns, and lists of unusual cells.

Where most cells of a column lie in one bin, as those of one-hot columns do, only the others are listed, row by row: the
sum over the usual bin is the sum over all rows less those over the other bins.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, compiled
from aioli.numerics.pseudo_random import uniform
from aioli.states.boosting.bins import BINS, Bins, bin_rows, cuts_of

__all__ = ["BinnedRows"]

MOST_USUAL = 0.5  # part of its cells in one bin beyond which a column is listed: half of the dense ones are drawn
DRAWS = float(1 << 53)  # how many numbers a pseudo-random one may be

Numbers = NDArray[np.int64]
Listed = NDArray[np.int32]


class BinnedRows(NamedTuple):
    """Hold the bin of every cell, and how the sums over bins are found.

    Attributes
    ----------
    cuts, bin_counts
        Where each column is cut, and how many bins it has.
    bins
        The bin of every cell.
    dense, listed
        The columns of either kind that have a cut, by number, in an order that their cells alone determine: trees draw
        columns by their places here, and so it does not matter in which order a table has them.
    usual
        The usual bin of every column that is listed.
    first, unusual
        Where the list of each row begins, and behind the last where it ends; and in the lists, the bin of each unusual
        cell, 64 times the place of its column among those listed being added.
    """

    cuts: Matrix
    bin_counts: Numbers
    bins: Bins
    dense: Numbers
    listed: Numbers
    usual: Numbers
    first: Numbers
    unusual: Listed

    @classmethod
    def of(cls, X: Matrix) -> Self:
        """Put rows into bins. O(d n log n)."""
        cuts = cuts_of(X)
        bins: Bins = np.empty(X.shape, np.uint8)
        bin_rows(X, cuts, bins)
        held = np.zeros((X.shape[1], BINS), np.int64)
        count_bins(bins, held)
        varying = np.isfinite(cuts[:, 0])  # a column without a cut may come later: until then it is not there
        is_listed = varying & (held.max(axis=1) > MOST_USUAL * len(X))
        tags = np.zeros(X.shape[1], np.uint64)
        tag_columns(bins, tags)
        in_order = np.argsort(tags, kind="stable")
        dense, listed = in_order[(varying & ~is_listed)[in_order]], in_order[is_listed[in_order]]
        usual = held[listed].argmax(axis=1)
        outside = len(X) * listed.size - int(held[listed].max(axis=1, initial=0).sum())
        first, unusual = np.zeros(len(X) + 1, np.int64), np.empty(outside, np.int32)
        list_unusual(bins, listed, usual, first, unusual)
        bin_counts = 1 + np.isfinite(cuts).sum(axis=1)
        return cls(cuts, bin_counts, bins, dense, listed, usual, first, unusual)


@compiled("void(u1[:,::1],u8[::1])")
def tag_columns(bins: Bins, tags: NDArray[np.uint64]) -> None:
    """Write a number that the bins of a column's cells determine, hardly ever that of another column. O(d) a row."""
    for t in range(len(bins)):
        key = np.uint64(uniform(0, 0, t) * DRAWS)
        for j in range(bins.shape[1]):
            tags[j] += key * np.uint64(bins[t, j])


@compiled("void(u1[:,::1],i8[:,::1])")
def count_bins(bins: Bins, held: Numbers) -> None:
    """Count the cells of each column by bin. O(d) a row."""
    for t in range(len(bins)):
        for j in range(bins.shape[1]):
            held[j, bins[t, j]] += 1


@compiled("void(u1[:,::1],i8[::1],i8[::1],i8[::1],i4[::1])")
def list_unusual(bins: Bins, listed: Numbers, usual: Numbers, first: Numbers, unusual: Listed) -> None:
    """List the cells outside of their column's usual bin, row by row. O(d) a row."""
    place = 0
    for t in range(len(bins)):
        for i in range(listed.size):
            cell = bins[t, listed[i]]
            if cell != usual[i]:
                unusual[place] = BINS * i + cell
                place += 1
        first[t + 1] = place
