"""A scikit-learn estimator that takes rows of numbers, or of any columns, which it encodes as files are."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from aioli.numerics.compiling import Matrix, Vector
from aioli.sklearn_parts import (
    BaseEstimator,
    Labels,
    check_classification_targets,
    check_consistent_length,
    column_or_1d,
    validate_data,
)
from aioli.streams.files.table import Features
from aioli.streams.frames import is_raw
from aioli.streams.table_encoder import TableEncoder

__all__ = ["RowsEstimator"]


# how scikit-learn's `validate_data` reads rows
AS_READ = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}


class NamedMatrix:
    """Shows a matrix of numbers as a data frame, which is what encoders read."""

    def __init__(self, columns: Sequence[str], rows: Matrix) -> None:
        self.columns = columns
        self._by_name: dict[str, Vector] = dict(zip(columns, rows.T, strict=True))
        self._count = len(rows)

    def __getitem__(self, name: object) -> Vector:
        return self._by_name[str(name)]

    def __len__(self) -> int:
        return self._count


class RowsEstimator(BaseEstimator):
    """Checks rows and labels, and remembers the columns of the first call.

    `table_` encodes columns that are no numbers, and `gaps_` fills and marks what is missing where all are.
    """

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    table_: TableEncoder | None = None
    gaps_: TableEncoder | None = None
    _sums: Vector | float = 0.0  # of each column, while none of its numbers was missing
    _rows_summed = 0

    def _rows(self, X: object) -> Features:
        """Return rows that are to be predicted as features."""
        if self.table_ is not None:
            return self.table_.transform(X)
        rows = self._in_width(validate_data(self, X, reset=False, **AS_READ))
        if not isinstance(rows, np.ndarray) or (self.gaps_ is None and not np.isnan(rows).any()):
            return rows
        return (self.gaps_ or self._gaps_so_far()).transform(self._named(rows))

    def _validated(self, X: object, y: object, reset: bool) -> tuple[Features, Labels]:
        """Return rows that are to be learned as features, and their labels; `reset` takes their columns for new."""
        if reset:
            self.table_ = TableEncoder() if is_raw(X) else None
            self.gaps_, self._sums, self._rows_summed = None, 0.0, 0
        if self.table_ is not None:
            return self._encoded(self.table_, X, y, reset)
        rows, labels = validate_data(self, X, y, reset=reset, **AS_READ)
        check_classification_targets(labels)
        return self._filled(self._in_width(rows), reset), labels

    def _encoders_put_back(self) -> AbstractContextManager[None]:
        """Have whoever encodes forget what came within the block, where it raises."""
        encoder = self.table_ or self.gaps_
        return nullcontext() if encoder is None else encoder.all_or_nothing()

    def _encoded(self, table: TableEncoder, X: object, y: object, reset: bool) -> tuple[Features, Labels]:
        """Return rows that are not all numbers as features, and their labels."""
        rows, labels = table.encode(X), column_or_1d(y, warn=True)
        rows = table.transform(X) if reset else rows  # what is missing in the first is filled with the mean of all
        check_consistent_length(rows, labels)
        check_classification_targets(labels)
        if reset:
            self.feature_names_in_ = np.array(list(table.kinds), dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        return rows, labels

    def _in_width(self, rows: Features) -> Features:
        """Return dense rows as they are; sparse ones, which must have no gaps, get the columns of marks, all 0."""
        if isinstance(rows, np.ndarray):
            return rows
        if np.isnan(rows.data).any():
            raise ValueError("Input X contains NaN in sparse rows; give dense rows, in which numbers may be missing")
        width = rows.shape[1] if self.gaps_ is None else len(self.gaps_.features)
        return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))

    def _filled(self, rows: Features, reset: bool) -> Features:
        """Return rows of numbers that are to be learned without gaps: filled, and marked in columns of their own."""
        if self.gaps_ is None and (not isinstance(rows, np.ndarray) or not np.isnan(rows).any()):
            self._sums, self._rows_summed = self._sums + _sums_in_any_order(rows), self._rows_summed + rows.shape[0]
            return rows
        if not isinstance(rows, np.ndarray):
            return rows
        if not reset:
            self.gaps_ = self.gaps_ or self._gaps_so_far()
            return self.gaps_.encode(self._named(rows))
        return self._first_gaps(rows)

    def _first_gaps(self, rows: Matrix) -> Features:
        """Return the first rows, filled with the means of all, and marks in the order of the columns."""
        counts = np.count_nonzero(~np.isnan(rows), axis=0)
        self.gaps_ = TableEncoder.of_numbers(self._column_names(), _sums_in_any_order(rows), counts)
        # a row with a gap in every column that has one makes the marks, whatever the order of the rows
        every_gap = self.gaps_.table(self._named(np.where(counts == len(rows), 0.0, np.nan)[None]))
        self.gaps_.encode_table(every_gap, moving=False)
        return self.gaps_.transform(self._named(rows))

    def _gaps_so_far(self) -> TableEncoder:
        width = self.n_features_in_
        sums, counts = np.broadcast_to(self._sums, width), np.full(width, self._rows_summed)
        return TableEncoder.of_numbers(self._column_names(), sums, counts)

    def _named(self, rows: Matrix) -> NamedMatrix:
        return NamedMatrix(self._column_names(), rows)

    def _column_names(self) -> list[str]:
        named: NDArray[np.object_] | None = vars(self).get("feature_names_in_")
        return [f"x{j}" for j in range(self.n_features_in_)] if named is None else [str(name) for name in named]

    def _names_of_features(self) -> list[str] | None:
        """Return the names of the features, where the columns have names."""
        if (encoder := self.table_ or self.gaps_) is not None:
            return list(encoder.features)
        return self._column_names() if "feature_names_in_" in vars(self) else None


def _sums_in_any_order(rows: Features) -> Vector:
    """Return the sum of each column, NaN left out: the same to the last bit whatever the order of the rows."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.nansum(np.sort(rows, axis=0), axis=0))
    in_order = np.lexsort((rows.data, rows.indices))
    return np.asarray(np.bincount(rows.indices[in_order], rows.data[in_order], rows.shape[1]), np.float64)
