"""Labels of rows of which some have none: what is there is encoded, and the rest is NaN."""

import numpy as np

from aioli.errors import FileRefused
from aioli.numerics.compiling import Vector
from aioli.streams.files.table import Texts
from aioli.streams.files.where import SomeRows, Where
from aioli.streams.labels import Labels

__all__ = ["encode_present"]


def encode_present(labels: Labels, values: Vector | Texts, where: Where) -> Vector:
    """Return the code of each row's label, NaN where a row has none. A label that does not fit is refused.

    >>> from aioli.streams.files.where import Numbered
    >>> encode_present(Labels(), ["no", None, "yes"], Numbered("mails.csv", "line", [2, 3, 4]))
    array([ 0., nan,  1.])
    """
    if isinstance(values, np.ndarray):
        missing = np.isnan(values)
        if not missing.any():
            return labels.encode(values, where)
        there = np.flatnonzero(~missing).tolist()
        present: Vector | Texts = values[there]
    else:
        if None not in values:
            return labels.encode(values, where)
        there = [t for t, value in enumerate(values) if value is not None]
        present = [values[t] for t in there]
    y = np.full(len(values), np.nan)
    if there:
        try:
            y[there] = labels.encode(present, SomeRows(where, there))
        except FileRefused as error:
            error.row = None if error.row is None else there[error.row]
            raise
    return y
