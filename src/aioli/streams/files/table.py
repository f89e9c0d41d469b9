"""What every reader of files gives: rows of named columns, or rows of named features, a piece at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector

__all__ = ["CATEGORY", "DATE", "NUMBER", "SKIPPED", "Position", "Reader", "SparseTable", "Table", "Texts"]

NUMBER, CATEGORY, DATE, SKIPPED = "number", "category", "date", "skipped"  # what a column may be

Texts = list[str | None]  # None is missing
Position = dict[str, Any]  # where a reader goes on: plain numbers and strings


@dataclass(frozen=True)
class Table:
    """Rows of named columns.

    Attributes
    ----------
    names, numbers
        The columns of numbers, NaN where a value is missing; `complete` says that none is.
    texts
        The other columns by name: categories, and dates as they are written.
    labels
        The labels as they came, numbers or texts; None where no label was asked for.
    where
        Says where a row is to be found, such as "clicks.csv, line 12".
    after
        Where reading goes on after these rows.
    """

    names: list[str]
    numbers: Matrix
    texts: dict[str, Texts]
    labels: Vector | Texts | None
    where: Callable[[int], str]
    after: Position
    complete: bool = False

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class SparseTable:
    """Rows that name only what is not 0: row t has `values[starts[t]:starts[t+1]]` in the features `features[…]`."""

    starts: NDArray[Any]
    features: NDArray[Any]  # numbers of features, to be looked up in `names` where there are any
    values: Vector
    labels: Vector | Texts | None
    where: Callable[[int], str]
    after: Position
    weights: Vector | None = None
    names: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts) - 1


class Reader(Protocol):
    """A file that can be read piece by piece, from any position that a table has told."""

    @property
    def columns(self) -> dict[str, str]:
        """The columns, and what each seems to be, the label among them."""
        ...

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Iterator[Any]:
        """The rows, with each column read as what `kinds` says it is."""
        ...

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""
        ...
