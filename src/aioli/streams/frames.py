"""Tells rows whose cells have names, such as data frames, dictionaries and named tuples, from rows of numbers alone."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from aioli.errors import RowRefused
from aioli.streams.matrices import is_sparse

__all__ = ["Frame", "as_mapping", "column_text", "is_categorical", "is_named", "is_raw", "names_of", "own_names"]


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas or polars, or a table of pyarrow; none of them must be installed."""

    @property
    def columns(self) -> Iterable[Hashable]:
        """The names of the columns."""
        ...

    def __getitem__(self, name: Hashable, /) -> ArrayLike: ...

    def __len__(self) -> int: ...


@runtime_checkable
class ArrowTable(Frame, Protocol):
    """A table of pyarrow, whose `columns` are arrays."""

    @property
    def column_names(self) -> list[str]: ...


@runtime_checkable
class _Typed(Protocol):
    """A column that knows the type of its cells."""

    @property
    def dtype(self) -> object: ...


@runtime_checkable
class _Series(Protocol):
    """One row of a pandas frame, whose index holds the names of the columns (`frame.iloc[0]`)."""

    @property
    def ndim(self) -> int: ...

    @property
    def index(self) -> Iterable[Hashable]: ...

    def to_dict(self) -> dict[object, object]: ...


@runtime_checkable
class _NamedTuple(Protocol):
    """One row as `itertuples` gives it."""

    def _asdict(self) -> dict[str, object]: ...


def is_named(data: object) -> bool:
    """Return whether the cells of these rows go by the names of their columns.

    >>> is_named({"colour": "red"}), is_named([{"size": 1.5}]), is_named([[1.0, 2.0]])
    (True, True, False)
    """
    if type(data) is np.ndarray or is_sparse(data):  # of sparse ones a kind is a dictionary
        return False
    if as_mapping(data) is not None:
        return True
    if isinstance(data, Sequence):
        return len(data) > 0 and as_mapping(data[0]) is not None
    if not isinstance(data, Frame) or isinstance(data, np.ndarray):
        return False
    names = [column_text(name) for name in own_names(data)]
    # two columns of one name: numbers are read by their places, all else is refused when it is read
    return len(names) == len(set(names)) or np.asarray(data).dtype.kind not in "biuf"


def as_mapping(row: object) -> Mapping[object, object] | None:
    """Return one row as a mapping of names to values; None where its cells have no names."""
    if isinstance(row, Mapping):
        return row
    if isinstance(row, _NamedTuple):
        return cast("Mapping[object, object]", row._asdict())
    if isinstance(row, _Series) and row.ndim == 1 and all(isinstance(name, str) for name in row.index):
        return row.to_dict()
    return None


def is_raw(data: object) -> bool:
    """Return whether these are rows that learners of numbers do not take: dictionaries, or a frame with other columns.

    >>> is_raw({"colour": "red"}), is_raw([[1.0, 2.0]])
    (True, False)
    """
    if is_sparse(data):  # of which one kind is a dictionary
        return False
    if isinstance(data, Mapping):
        return True
    if isinstance(data, Sequence):
        return len(data) > 0 and isinstance(data[0], Mapping)
    if not isinstance(data, Frame) or isinstance(data, np.ndarray):
        return False
    names_of(data)  # two columns of one name are refused
    columns = [data[name] for name in own_names(data)]
    return any(is_categorical(column) or np.asarray(column).dtype.kind not in "biuf" for column in columns)


def names_of(frame: Frame) -> list[str]:
    """Return the names of a frame's columns as texts, or refuse two of one name."""
    texts = [column_text(name) for name in own_names(frame)]
    if len(set(texts)) < len(texts):
        raise RowRefused("has two columns of one name", remedy="rename one", place="the data")
    return texts


def column_text(name: object) -> str:
    """Return the name of a column as a text."""
    return name if isinstance(name, str) else str(name)


def own_names(frame: Frame) -> Iterable[Hashable]:
    """Return the names of a frame's columns as the frame has them."""
    return frame.column_names if isinstance(frame, ArrowTable) else frame.columns


def is_categorical(column: ArrayLike) -> bool:
    """Return whether a column is of categories by its type."""
    kind = str(column.dtype) if isinstance(column, _Typed) else ""
    return kind.lower().startswith(("category", "categorical", "enum"))
