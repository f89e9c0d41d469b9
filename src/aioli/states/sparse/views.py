r"""Views of a wide row whose entries are mostly 0: words, clicks, categories. Label-free and running.

From the rows so far, this one included, each column has the number of rows in which it was not 0 (its document
frequency $f_j$) and the mean size of its entries there. Three views, none of which depends on the unit of a column:

- `presence`: the sign of each entry, so that a row is the set of its words;
- `rarity`: presence times $1 + \ln\frac{n+1}{f_j+1}$, scaled to unit length: rare words say more, long rows not;
- `amount`: $\pm\ln(1 + |x_j|/\text{mean size})$, scaled to unit length.
"""

import math

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.streams.sparse_rows import Indices

__all__ = ["FREQUENCY", "SIZE", "VIEWS", "view_row"]

VIEWS = ("presence", "rarity", "amount")
FREQUENCY, SIZE = range(2)  # of a column: in how many rows it was not 0, and the sum of its sizes there


@compiled("void(f8[:,::1],f8,i8[::1],f8[::1],f8[:,::1])", reassociate=True)
def view_row(records: Matrix, rounds: float, columns: Indices, x: Vector, views: Matrix) -> None:
    """Write all views of one row, as if it came next, each at the beginning of its row of `views`. O(nnz)."""
    presence, rarity, amount = views[0], views[1], views[2]
    rare2, much2 = 0.0, 0.0
    for i in range(x.size):
        j = columns[i]
        size = abs(x[i])
        sign = 1.0 if x[i] > 0.0 else -1.0
        frequency = records[j, FREQUENCY] + 1.0
        rare = 1.0 + math.log((rounds + 2.0) / (frequency + 1.0))
        much = math.log1p(frequency * (size / (records[j, SIZE] + size)))
        presence[i] = sign
        rarity[i] = sign * rare
        amount[i] = sign * much
        rare2 += rare * rare
        much2 += much * much
    if x.size > 0:
        by_rarity, by_amount = 1.0 / math.sqrt(rare2), 1.0 / math.sqrt(much2)
        for i in range(x.size):
            rarity[i] *= by_rarity
            amount[i] *= by_amount
