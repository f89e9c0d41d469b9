"""Makes copies of rows, dense or CSR, with some features changed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Vector
from aioli.streams.files.table import Csr, Features

__all__ = ["entries_of", "with_features_of", "with_values"]


def with_values(rows: Features, places: Sequence[int], values: Vector) -> Features:
    """Return the rows with these features at these values."""
    if isinstance(rows, np.ndarray):
        changed = rows.copy()
        changed[:, places] = values
        return changed
    from scipy.sparse import csr_array

    given = np.zeros(rows.shape[1])
    given[places] = values
    kept = _without(rows, places)
    same = csr_array(given[None, :])[np.zeros(rows.shape[0], dtype=np.int64)]
    return csr_array(kept + same)


def with_features_of(rows: Features, places: Sequence[int], order: NDArray[np.int64]) -> Features:
    """Return the rows, each with these features of another row."""
    if isinstance(rows, np.ndarray):
        changed = rows.copy()
        changed[:, places] = rows[order][:, places]
        return changed
    from scipy.sparse import csr_array

    others = rows[order]
    return csr_array(_without(rows, places) + (others - _without(others, places)))


def _without(rows: Csr, places: Sequence[int]) -> Csr:
    kept = rows.copy()
    gone = np.zeros(rows.shape[1], dtype=bool)
    gone[places] = True
    kept.data[gone[kept.indices]] = 0.0
    kept.eliminate_zeros()
    return kept


def entries_of(row: Features) -> dict[int, float]:
    """Return the features of a row, a matrix of one, that are not 0."""
    if isinstance(row, np.ndarray):
        places = np.flatnonzero(row[0])
        return dict(zip(places.tolist(), row[0, places].tolist(), strict=True))
    return dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
