"""When the rows of a table came: a column of dates or of seconds, as seconds."""

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.files.table import SparseTable, Table
from aioli.streams.files.where import row_refused

__all__ = ["times_of"]

DAY = 86400.0  # seconds


def times_of(table: Table | SparseTable, column: str) -> Vector:
    """Return the seconds at which the rows came, or refuse a row whose time is missing."""
    times: Vector = np.full(len(table), np.nan)
    if isinstance(table, Table) and column in table.days:
        times = DAY * table.days[column]
    elif isinstance(table, Table) and column in table.names:
        times = table.numbers[:, table.names.index(column)].astype(np.float64)
    missing = np.flatnonzero(~np.isfinite(times))
    if missing.size:
        raise row_refused(table.where, int(missing[0]), "the time of the row is missing; fill it first", column)
    return times
