"""What every reader of files gives: rows of named columns, or rows of named features, a piece at a time."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector, compiled

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "CATEGORY",
    "DATE",
    "NUMBER",
    "SKIPPED",
    "TEXT",
    "Csr",
    "Features",
    "Position",
    "Reader",
    "SparseTable",
    "Table",
    "Tables",
    "Texts",
    "Where",
]

NUMBER, CATEGORY, DATE, TEXT, SKIPPED = "number", "category", "date", "text", "skipped"  # what a column may be

Csr: TypeAlias = "csr_array[np.float64, tuple[int, int]]"
Features: TypeAlias = "Matrix | Csr"  # rows of features
Texts = list[str | None]  # None is missing
Position = Mapping[str, Any]  # where a reader goes on: plain numbers and strings
Where = Callable[[int], str]  # where a row is to be found, such as "clicks.csv, line 12"


@dataclass(frozen=True)
class Table:
    """Rows of named columns.

    Attributes
    ----------
    names, numbers
        The columns of numbers, NaN where a value is missing; `complete` says that none is.
    texts
        The columns of categories and of free text, by name.
    labels
        The labels as they came, numbers or texts; None where no label was asked for.
    where
        Says where a row is to be found, such as "clicks.csv, line 12".
    after
        Where reading goes on after these rows.
    days
        The columns of dates, by name: in days since 1970, NaN where one is missing.
    new
        Columns that no table before had, and what each is.
    weights
        How much each row counts; None where every row counts 1.
    """

    names: list[str]
    numbers: Matrix
    texts: dict[str, Texts]
    labels: Vector | Texts | None
    where: Where
    after: Position
    complete: bool = False
    days: dict[str, Vector] = field(default_factory=dict)
    new: dict[str, str] = field(default_factory=dict)
    weights: Vector | None = None

    @cached_property
    def sums(self) -> Vector:
        """The sum of each column of numbers: known to the one who asks first, who may be reading ahead."""
        return sums_of_columns(np.ascontiguousarray(self.numbers))

    def __len__(self) -> int:
        return len(self.numbers)


@compiled("f8[::1](f8[:,::1])")
def sums_of_columns(X: Matrix) -> Vector:
    """The sum of each column, row after row: NumPy takes longer where rows are short. O(d) a row."""
    sums = np.zeros(X.shape[1])
    for t in range(len(X)):
        for j in range(X.shape[1]):
            sums[j] += X[t, j]
    return sums


@dataclass(frozen=True)
class SparseTable:
    """Rows that name only what is not 0: row t has `values[starts[t]:starts[t+1]]` in the features `features[…]`.

    Attributes
    ----------
    features
        Features by number: places in `names` where there are any (which are this table's alone), or else numbers
        that mean the same in every table, the one called `first` being 0.
    weights
        How much each row counts; None where every one counts 1.
    """

    starts: NDArray[Any]
    features: NDArray[Any]
    values: Vector
    labels: Vector | Texts | None
    where: Where
    after: Position
    weights: Vector | None = None
    names: list[str] = field(default_factory=list)
    first: int = 0

    def __len__(self) -> int:
        return len(self.starts) - 1


Tables: TypeAlias = Generator[Table | SparseTable, None, None]


class Reader(Protocol):
    """A file that can be read piece by piece, once, from any position that a table has told."""

    sparse: bool  # whether it gives sparse tables
    grows: bool  # whether columns may come that the first rows do not have

    @property
    def columns(self) -> dict[str, str]:
        """The columns, and what each seems to be, the label among them; none if it is sparse."""
        ...

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Tables:
        """The rows, with each column read as what `kinds` says it is. The file is closed behind the last."""
        ...

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""
        ...

    def close(self) -> None:
        """Let the file go."""
        ...
