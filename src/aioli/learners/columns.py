"""Names of columns: the same in every learner that has them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

__all__ = ["NamedColumns"]


class NamedColumns(ABC):
    """A learner whose columns may have names, for messages, saved files and reports."""

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
        if names is None:
            self._names = None
            return
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"names of columns are {names!r}; give a list of strings, one a column")
        if self.n_features_ not in (None, len(names)):
            raise ValueError(f"{len(names)} names came for {self.n_features_} columns; give one a column")
        self._names = list(names)

    def _names_after_growing(self, columns: int, names: Sequence[str] | None) -> list[str] | None:
        """The names of all columns once `columns` new ones are there; x0, x1, … stand for those never given."""
        if columns < 0:
            raise ValueError(f"{columns} new columns; give at least 0")
        if names is not None and len(names) != columns:
            raise ValueError(f"{len(names)} names came for {columns} new columns; give one a column")
        if names is None and self._names is None:
            return None
        width = self.n_features_ or 0
        known = self._names or [f"x{j}" for j in range(width)]
        return known + list(names or [f"x{j}" for j in range(width, width + columns)])
