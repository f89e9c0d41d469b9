"""A scikit-learn estimator that takes rows of numbers, or of any columns, which it encodes as files are."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
from aioli.streams.matrices import is_sparse
from aioli.streams.raw_columns import is_raw
from aioli.streams.table_encoder import TableEncoder

__all__ = ["RowsEstimator"]


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

    `table_` encodes columns that are no numbers, and `gaps_` fills and marks what is missing where all are. A subclass
    that goes on learning after the first call copies both before, if a refused call must leave them.
    """

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    table_: TableEncoder | None = None
    gaps_: TableEncoder | None = None
    _sums: Vector  # of each column, while none of its numbers is missing
    _summed: int  # rows

    def _rows(self, X: object) -> Features:
        """Return rows that are to be predicted as features."""
        if self.table_ is not None:
            return self.table_.transform(X)
        rows = validate_data(self, X, reset=False, **self._wanted(X))
        if not isinstance(rows, np.ndarray) or (self.gaps_ is None and not np.isnan(rows).any()):
            return rows
        return (self.gaps_ or self._gaps_so_far()).transform(self._named(rows))

    def _validated(self, X: object, y: object, reset: bool) -> tuple[Features, Labels]:
        """Return rows that are to be learned as features, and their labels; `reset` takes their columns for new."""
        if reset:
            self.table_ = TableEncoder() if is_raw(X) else None
        if self.table_ is not None:
            return self._encoded(self.table_, X, y, reset)
        rows, labels = validate_data(self, X, y, reset=reset, **self._wanted(X))
        check_classification_targets(labels)
        return self._filled(rows, reset) if isinstance(rows, np.ndarray) else rows, labels

    def _may_widen(self, X: object) -> bool:
        """Return whether rows to be learned after the first call may bring new features."""
        if self.table_ is not None or self.gaps_ is not None:
            return True
        rows = None if is_sparse(X) else np.asarray(X)
        return rows is not None and (rows.dtype.kind not in "biuf" or bool(np.isnan(rows).any()))

    def _encoded(self, table: TableEncoder, X: object, y: object, reset: bool) -> tuple[Features, Labels]:
        """Return rows that are not all numbers as features, and their labels."""
        rows, labels = _learned(table, X, reset), column_or_1d(y, warn=True)
        check_consistent_length(rows, labels)
        check_classification_targets(labels)
        if reset:
            self.feature_names_in_ = np.array(list(table.kinds), dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        return rows, labels

    def _filled(self, rows: Matrix, reset: bool) -> Features:
        """Return rows of numbers that are to be learned without gaps: filled, and marked in columns of their own."""
        if reset:
            self.gaps_, self._sums, self._summed = None, np.zeros(rows.shape[1]), 0
        if self.gaps_ is None and not np.isnan(rows).any():
            self._sums, self._summed = self._sums + rows.sum(axis=0), self._summed + len(rows)
            return rows
        self.gaps_ = self.gaps_ or self._gaps_so_far()
        return _learned(self.gaps_, self._named(rows), reset)

    def _gaps_so_far(self) -> TableEncoder:
        return TableEncoder.of_numbers(self._column_names(), self._sums, self._summed)

    def _named(self, rows: Matrix) -> NamedMatrix:
        return NamedMatrix(self._column_names(), rows)

    def _column_names(self) -> list[str]:
        named: NDArray[np.object_] | None = vars(self).get("feature_names_in_")
        return [f"x{j}" for j in range(self.n_features_in_)] if named is None else [str(name) for name in named]

    def _wanted(self, X: object) -> dict[str, object]:
        finite = True if is_sparse(X) else "allow-nan"
        return {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "ensure_all_finite": finite}

    def _names_of_features(self) -> list[str] | None:
        """Return the names of the features, where the columns have names."""
        if (encoder := self.table_ or self.gaps_) is not None:
            return list(encoder.features)
        return self._column_names() if "feature_names_in_" in vars(self) else None


def _learned(encoder: TableEncoder, X: object, first: bool) -> Features:
    """Return rows that are to be learned as features; what is missing in the first is filled with the mean of all."""
    rows = encoder.encode(X)
    return encoder.transform(X) if first else rows
