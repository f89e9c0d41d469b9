r"""Naive Bayes over the presence of columns: counts, and so as good as it gets from the first rows on.

$$z = \ln\frac{\pi}{1-\pi} + \frac1{\sqrt{k+1}} \sum_{j \in x}
  \Bigl(\ln\frac{n_{1j} + \pi}{n_{0j} + 1 - \pi} - \ln\frac{\pi}{1-\pi}\Bigr)$$

π is the share of label 1 so far, $n_{yj}$ counts the rows with label y in which column j was not 0, and the sum runs
over the k columns that were met before. Words are no independent witnesses: the root of their number tempers the sum.
"""

import math

from aioli.numerics.compiling import Matrix, compiled
from aioli.streams.sparse_rows import Indices

__all__ = ["ONES", "ZEROS", "count_words", "naive_bayes"]

ONES, ZEROS = 2, 3  # where the counts of a column lie


@compiled("f8(f8[:,::1],f8,f8,i8[::1])")
def naive_bayes(records: Matrix, ones: float, zeros: float, columns: Indices) -> float:
    """Return the log-odds z, where so much weight of either label has come. O(nnz)."""
    share = (ones + 0.5) / (ones + zeros + 1.0)
    prior = math.log((ones + 0.5) / (zeros + 0.5))
    total, known = 0.0, 0
    for i in range(columns.size):
        one, zero = records[columns[i], ONES], records[columns[i], ZEROS]
        if one + zero > 0.0:
            total += math.log((one + share) / (zero + 1.0 - share)) - prior
            known += 1
    return prior + total / math.sqrt(known + 1.0)


@compiled("void(f8[:,::1],i8[::1],f8,f8)")
def count_words(records: Matrix, columns: Indices, y: float, weight: float) -> None:
    """Count the columns of a row for its label. O(nnz)."""
    label = ONES if y > 0.5 else ZEROS
    for i in range(columns.size):
        records[columns[i], label] += weight
