"""What every reader of files yields: tables of rows with named columns, or of sparse rows with named features."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Plain
from aioli.streams.files.where import Where

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "AS_PROGRAMS_WRITE",
    "CATEGORY",
    "DATE",
    "NUMBER",
    "SKIPPED",
    "TEXT",
    "Csr",
    "Features",
    "Position",
    "ReadAs",
    "Reader",
    "Skipped",
    "SparseTable",
    "Table",
    "Tables",
    "Texts",
]

NUMBER, CATEGORY, DATE, TEXT, SKIPPED = "number", "category", "date", "text", "skipped"  # what a column may be

Csr: TypeAlias = "csr_array[np.float64, tuple[int, int]]"
Features: TypeAlias = "Matrix | Csr"  # rows of features
Texts = list[str | None]  # None is missing
Skipped: TypeAlias = Sequence[tuple[int, str]]  # of a row that was left out: the row behind it, and what was wrong
AS_PROGRAMS_WRITE: Mapping[str, str] = {}  # no column is written in another way
Position: TypeAlias = Mapping[str, Plain]  # where a reader goes on, as it can be kept in a snapshot


class ReadAs(NamedTuple):
    """What columns are read as: the kind of each, which is the label, and how values are written, if not plainly."""

    kinds: dict[str, str]
    label: str | None = None
    notations: Mapping[str, str] = AS_PROGRAMS_WRITE


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
        Says where a row is to be found.
    after
        Where reading goes on after these rows.
    days
        The columns of dates, by name: in days since 1970, NaN where one is missing.
    new, notations
        Columns that no table before had, what each is, and how its values are written where not as programs do.
    weights
        How much each row counts; None where every row counts 1.
    unreadable
        Cells of columns of numbers and dates that hold neither, by column and row; NaN stands in their place.
    skipped
        Rows of the file that could not be read and were left out: before which row of the table each stood, and why.
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
    unreadable: dict[str, dict[int, str]] = field(default_factory=dict)
    notations: dict[str, str] = field(default_factory=dict)
    skipped: Skipped = ()

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class SparseTable:
    """Sparse rows: row t has `values[starts[t]:starts[t+1]]` in the features `features[starts[t]:starts[t+1]]`.

    Attributes
    ----------
    features
        Features by number: places in `names` where there are any (which are this table's alone), or else numbers
        that mean the same in every table, the one called `first` being 0.
    weights
        How much each row counts; None where every one counts 1.
    """

    starts: NDArray[np.int64]
    features: NDArray[np.int64]
    values: Vector
    labels: Vector | Texts | None
    where: Where
    after: Position
    weights: Vector | None = None
    names: list[str] = field(default_factory=list)
    first: int = 0
    skipped: Skipped = ()

    def __len__(self) -> int:
        return len(self.starts) - 1


Tables: TypeAlias = Generator[Table | SparseTable, None, None]


class Reader(Protocol):
    """Reads a file table by table, once, from its beginning or from the position behind any table."""

    @property
    def sparse(self) -> bool:
        """Whether the file's tables are sparse."""

    @property
    def grows(self) -> bool:
        """Whether columns may come that the first rows do not have."""

    @property
    def sample(self) -> Mapping[str, Sequence[str | None] | str]:
        """The first values of each column, the label among them, or what its type says it is; empty if sparse."""

    def tables(self, read_as: ReadAs, position: Position | None) -> Tables:
        """Yield the rows, each column read as is said, and close the file behind the last."""

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""

    @property
    def guessed(self) -> str | None:
        """The encoding that text was taken for so far, where it is not UTF-8 and none was given."""

    def close(self) -> None:
        """Close the file; a second time does nothing."""
