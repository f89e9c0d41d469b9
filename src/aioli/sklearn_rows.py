"""A scikit-learn estimator that takes rows of numbers, or of any columns, which it encodes as files are."""

import numpy as np
from numpy.typing import NDArray

from aioli.sklearn_parts import (
    BaseEstimator,
    Labels,
    check_classification_targets,
    check_consistent_length,
    column_or_1d,
    validate_data,
)
from aioli.streams.files.table import Features
from aioli.streams.raw_columns import is_raw
from aioli.streams.table_encoder import TableEncoder

__all__ = ["RowsEstimator"]


class RowsEstimator(BaseEstimator):
    """Checks rows and labels, and remembers the columns of the first call: `table_` encodes those that are no numbers.

    A subclass that goes on learning after the first call copies `table_` before, if a refused call must leave it.
    """

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    table_: TableEncoder | None = None

    def _rows(self, X: object) -> Features:
        """Return rows that are to be predicted as features."""
        if self.table_ is not None:
            return self.table_.transform(X)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64, order="C")

    def _validated(self, X: object, y: object, reset: bool) -> tuple[Features, Labels]:
        """Return rows that are to be learned as features, and their labels; `reset` takes their columns for new."""
        if reset:
            self.table_ = TableEncoder() if is_raw(X) else None
        if self.table_ is not None:
            return self._encoded(self.table_, X, y, reset)
        rows, labels = validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(labels)
        return rows, labels

    def _encoded(self, table: TableEncoder, X: object, y: object, reset: bool) -> tuple[Features, Labels]:
        """Return rows that are not all numbers as features, and their labels."""
        rows, labels = table.encode(X), column_or_1d(y, warn=True)
        check_consistent_length(rows, labels)
        check_classification_targets(labels)
        if reset:
            self.feature_names_in_ = np.array(list(table.kinds), dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        return rows, labels

    def _names_of_features(self) -> list[str] | None:
        """Return the names of the features, where the columns have names."""
        if "feature_names_in_" not in vars(self):
            return None
        names: list[str] = self.feature_names_in_.tolist() if self.table_ is None else list(self.table_.features)
        return names
