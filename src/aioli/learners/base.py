"""What the learners of rows share: the border, one row or many, and names of columns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.streams.rows import Measured, as_label, as_labels

__all__ = ["ColumnLearner", "RowsLearner"]

Checked = TypeVar("Checked", bound=Measured)


class ColumnLearner(ABC):
    """A learner of rows with weights and late labels, whose columns may have names."""

    capabilities: frozenset[Capability] = frozenset(
        {
            Capability.CERTIFIES,
            Capability.LEARNS_LATE,
            Capability.NAMES_COLUMNS,
            Capability.SAVES,
            Capability.WEIGHS,
        }
    )

    @property
    @abstractmethod
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How many rows it has learned from."""

    @property
    @abstractmethod
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""

    @property
    @abstractmethod
    def feature_names_(self) -> list[str] | None:
        """Names of the columns; None until given."""

    @feature_names_.setter
    @abstractmethod
    def feature_names_(self, names: Sequence[str] | None) -> None: ...

    @abstractmethod
    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing."""

    @abstractmethod
    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`; changes nothing."""

    @abstractmethod
    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`, which keep their digits where a probability is 0 or 1."""

    @abstractmethod
    def learn(self, x: object, y: object, weight: float = 1.0, logit: float | None = None) -> float:
        """Learn from one row and its label; returns the probability announced before the label."""

    @abstractmethod
    def learn_many(self, X: object, y: object, weights: object = None, logits: object = None) -> Vector:
        """Play the rows in order; returns each row's probability before its label.

        The same game as `learn` row by row, at the speed of compiled loops, or of matrix products where rows are many
        and wide. If one row is not a row, nothing is learned from any.
        """

    @abstractmethod
    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret proven not to have been exceeded."""

    def predict_many(self, X: object) -> Vector:
        """Return each row's probability, as if it came next; changes nothing."""
        return sigmoid_many(self.predict_logit_many(X))

    def _repr_suffix(self) -> str:
        """Return how it goes, as a comment behind a repr; nothing before the first row."""
        if not self.rounds:
            return ""
        mean = self.loss / self.rounds
        return (
            f"  # {self.rounds} rows of {self.n_features_} columns, {mean:.4f} nats a row, "
            f"regret ≤ {self.certificate():.4g} nats"
        )


class RowsLearner(ColumnLearner, Generic[Checked]):
    """A learner whose rows pass the border once, single or many, and are then played as checked rows of one kind.

    A subclass writes `_rows` (the border), `_logits` and `_learn` over checked rows, and what it can tell of itself.
    """

    def __init__(self) -> None:
        self._names: list[str] | None = None

    @abstractmethod
    def _rows(self, X: object, single: bool = False) -> Checked: ...

    @abstractmethod
    def _logits(self, rows: Checked) -> Vector: ...

    @abstractmethod
    def _learn(self, rows: Checked, labels: Vector, weights: object, logits: object) -> Vector: ...

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes."""
        return float(self._logits(self._rows(x, single=True))[0])

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`, which keep their digits where a probability is 0 or 1."""
        return self._logits(self._rows(X))

    def learn(self, x: object, y: object, weight: float = 1.0, logit: float | None = None) -> float:
        """Learn from one row and its label; return the probability announced before the label.

        `weight` and `logit` as in `AIOLI.learn`.
        """
        return self._learn_one(x, y, weight, logit)

    def learn_many(self, X: object, y: object, weights: object = None, logits: object = None) -> Vector:
        """Play the rows in order; returns each row's probability before its label.

        The same game as `learn` row by row, at the speed of compiled loops, or of matrix products where rows are many
        and wide. If one row is not a row, nothing is learned from any.
        """
        rows = self._rows(X)
        return self._learn(rows, as_labels(y, len(rows)), weights, logits)

    def _learn_one(self, x: object, y: object, weight: float, logit: float | None) -> float:
        """Learn from one row of any kind, through the border."""
        late = None if logit is None else [logit]
        return float(self._learn(self._rows(x, single=True), np.array([as_label(y)]), [weight], late)[0])

    @property
    def feature_names_(self) -> list[str] | None:
        """Names of the columns; None until given."""
        return self._names

    @feature_names_.setter
    def feature_names_(self, names: Sequence[str] | None) -> None:
        if names is None:
            self._names = None
            return
        _require_strings(names)
        if self.n_features_ not in (None, len(names)):
            raise ParameterRefused(
                f"{len(names)} names came for {self.n_features_} columns; give one a column",
                parameter="feature_names_",
                value=names,
            )
        self._names = list(names)

    def _names_after_growing(self, columns: int, names: Sequence[str] | None) -> list[str] | None:
        """Return the names of all columns once new ones are there; x0, x1, … stand for those never given."""
        if columns < 0:
            raise ParameterRefused(f"{columns} new columns; give at least 0", parameter="columns", value=columns)
        if names is not None and len(names) != columns:
            raise ParameterRefused(
                f"{len(names)} names came for {columns} new columns; give one a column", parameter="names", value=names
            )
        if names is None and self._names is None:
            return None
        _require_strings(names or [])
        width = self.n_features_ or 0
        known = self._names or [f"x{j}" for j in range(width)]
        return known + list(names or [f"x{j}" for j in range(width, width + columns)])

    def _take_names(self, snapshot: Snapshot) -> None:
        """Take the names of the columns from a snapshot, once the width is known."""
        try:
            self.feature_names_ = snapshot.texts("names")
        except ParameterRefused as error:
            raise SnapshotRefused(f"in a {snapshot.kind}, {error}") from error


def _require_strings(names: Sequence[str]) -> None:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ParameterRefused(
            f"names of columns are {names!r}; give a list of strings, one a column", parameter="names", value=names
        )
