"""Names of a learner's columns: one a column, growing as it grows, for messages, saved files and reports."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.snapshots.tree import Snapshot

__all__ = ["NamedColumns"]


class NamedColumns(ABC):
    """Gives a learner that knows its width `feature_names_`."""

    def __init__(self) -> None:
        self._names: list[str] | None = None

    @property
    @abstractmethod
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""

    @property
    def feature_names_(self) -> list[str] | None:
        """Names of the columns; None until given."""
        return self._names

    @feature_names_.setter
    def feature_names_(self, names: Sequence[str] | None) -> None:
        self._set_names(names)

    def _set_names(self, names: Sequence[str] | None) -> None:
        """Take the names of the columns, one a text, or refuse them; None takes them away."""
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

    def _restore_names(self, snapshot: Snapshot) -> None:
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
