"""Where a row of a file is to be found, as its reader says it, and the error that names the place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from aioli.errors import FileRefused

__all__ = ["Numbered", "SomeRows", "Where", "row_refused"]


class Where(Protocol):
    """Says where a row of a table is to be found."""

    @property
    def path(self) -> str:
        """The file."""

    def __call__(self, row: int) -> str:
        """Return the row's place, such as "clicks.csv, line 12"."""


@dataclass(frozen=True)
class Numbered:
    """Says where a row is by the numbers of the rows or lines, which begin with 1.

    >>> Numbered("clicks.csv", "line", [2, 3, 7])(2)
    'clicks.csv, line 7'
    """

    path: str
    unit: str
    numbers: Sequence[int]

    def __call__(self, row: int) -> str:
        """Return the row's place."""
        return f"{self.path}, {self.unit} {self.numbers[row]}"


@dataclass(frozen=True)
class SomeRows:
    """Names some rows of a table by their places in the file."""

    where: Where
    rows: Sequence[int]

    @property
    def path(self) -> str:
        """The file."""
        return self.where.path

    def __call__(self, row: int) -> str:
        """Return the row's place."""
        return self.where(self.rows[row])


def row_refused(
    where: Where, row: int, problem: str, column: str | None = None, unit: str = "column", alone: bool = False
) -> FileRefused:
    """Return the error for a row of a file, or for its cell in a column, which may also be called a key.

    `alone` says that nothing but this row is wrong: without it, the others can be read.
    """
    place = where(row) if column is None else f"{where(row)}, {unit} {column!r}"
    message, short = f"{place}: {problem}", place.removeprefix(f"{where.path}, ")
    return FileRefused(message, path=where.path, place=short, row=row if alone else None)
