"""Rows that have passed another learner's border, kept as they were given: sparse ones stay sparse."""

from collections.abc import Iterator, Sequence

from aioli.numerics.compiling import Vector
from aioli.streams.matrices import Values
from aioli.streams.rows import CheckedRows

__all__ = ["PassedRows"]


class PassedRows(CheckedRows):
    """Holds rows as a matrix or CSR array of any real type, to be handed to learners that check them themselves.

    Parameters
    ----------
    X
        The rows as the caller gave them.
    checked
        What the border made of them: it has refused those that are not finite or too long.
    width, names
        How many columns there must be, None for any, and what they are called.
    """

    def __init__(
        self, X: object, checked: CheckedRows, *, width: int | None, names: Sequence[str] | None, single: bool
    ) -> None:
        self._checked = checked
        super().__init__(X, intercept=False, widest=float("inf"), width=width, names=names, single=single)

    def __iter__(self) -> Iterator[tuple[int, Values]]:
        """Yield all rows at once, with the number of the first."""
        yield 0, self.values

    def lengths(self) -> Iterator[tuple[int, Vector]]:
        """Yield the norms of the rows, chunk by chunk, each with the number of its first row."""
        return self._checked.lengths()

    def _check(self, widest: float) -> None:
        """Refuse nothing: the border has."""
