"""Matrices of any kind that a caller may give, such as lists, data frames and sparse arrays; others are refused."""

import copy
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from aioli.errors import UNCHANGED, ParameterRefused, RowRefused

if TYPE_CHECKING:
    from scipy.sparse import coo_array, csr_array

__all__ = ["FILL", "TypedFrame", "Values", "as_matrix", "check_shape", "is_sparse", "names_in", "unmasked"]

FILL = "fill it, or give data frames to a fresh Auto() or TableLearner(), which take gaps"
NUMBERS = "give real numbers, or data frames to a fresh Auto() or TableLearner(), which take words and dates"
NATIVE = {np.dtype(kind) for kind in ("f4", "f8", "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")}

Values: TypeAlias = "NDArray[Any] | csr_array[Any, tuple[int, int]]"  # real numbers of any type, not yet float64


def is_sparse(X: object) -> bool:
    """Return whether X is a SciPy sparse array. SciPy is not loaded for it: without SciPy nobody can have one."""
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(X))


@runtime_checkable
class _NamesColumns(Protocol):
    """A data frame, of pandas or of polars, whose columns can be taken by a list of their names."""

    @property
    def columns(self) -> Iterable[object]: ...

    def __getitem__(self, names: list[str], /) -> object: ...


def names_in(X: object) -> list[str] | None:
    """Return the names of a data frame's columns; None where X is none, or they are not strings or not distinct."""
    if type(X) is np.ndarray or not isinstance(X, _NamesColumns):  # to ask an array would take longer than a short game
        return None
    names = [name for name in X.columns if isinstance(name, str)]
    return names if names and len(set(names)) == len(list(X.columns)) else None


def in_order_of(X: object, names: Sequence[str] | None) -> object:
    """Return a data frame with its columns in this order, where it has just these; anything else as it is."""
    if names is None or type(X) is np.ndarray or not isinstance(X, _NamesColumns):
        return X
    own = names_in(X)
    return X[list(names)] if own is not None and own != list(names) and set(own) == set(names) else X


def as_matrix(X: object, *, width: int | None, names: Sequence[str] | None, single: bool) -> Values:
    """Return a two-dimensional array or CSR matrix of real numbers, as wide as it must be, not yet converted."""
    values = _two_dimensional(in_order_of(X, names), single=single)
    check_shape(values.shape, width=width, names=names, single=single)
    return values


def check_shape(shape: tuple[int, ...], *, width: int | None, names: Sequence[str] | None, single: bool) -> None:
    """Refuse a matrix that is empty, or not as wide as it must be."""
    count, columns = shape
    if count == 0 or columns == 0:
        raise _no_rows(f"an empty matrix, of shape {shape}, came; give at least one row and one column", shape)
    if width is not None and columns != width:
        what = "the row has" if single else "rows have"
        advice = "grow() the learner first" if columns > width else "give 0 for what is absent"
        raise _no_rows(f"{what} {columns} columns; this learner knows {width}: {advice}{UNCHANGED}", shape)
    if names is not None and len(names) != columns:
        raise _no_rows(f"{len(names)} names came for {columns} columns; give one a column{UNCHANGED}", shape)


def _two_dimensional(X: object, *, single: bool) -> Values:
    if is_sparse(X):
        return _as_csr(cast("coo_array[Any]", X), single)
    X = unmasked(X, "column")
    if isinstance(X, Mapping) or (isinstance(X, Sequence) and X and isinstance(X[0], Mapping)):
        raise _no_rows(
            f"{'a dictionary' if single else 'dictionaries'} came, and this learner takes numbers alone; a fresh "
            f"Auto() or TableLearner() takes dictionaries{UNCHANGED}",
            type(X),
        )
    try:
        values = np.asarray(X)
    except ValueError as error:
        message = f"rows of different widths, or not of numbers, came ({error}); give a rectangle"
        raise _no_rows(message, type(X)) from None
    if values.dtype.kind == "O" and _is_frame_of_numbers(X):
        values = _as_floats(values)
    if single:
        if values.ndim == 2 and values.shape[0] == 1:
            values = values[0]
        if values.ndim != 1:
            shape = f"an array of shape {values.shape} came for one row"
            raise _no_rows(f"{shape}; give one dimension, or use the _many form", values.shape)
        values = values[None, :]
    elif values.ndim != 2:
        shape = f"an array of shape {values.shape} came for many rows"
        raise _no_rows(f"{shape}; give two dimensions: rows and columns", values.shape)
    if values.dtype.kind not in "biuf":
        _refuse_type(values)
    return values


def _as_floats(values: "NDArray[np.object_]") -> "NDArray[np.float64]":
    """Return numbers of several types, of which pandas' NA is none, as float64."""
    try:
        return values.astype(np.float64)
    except TypeError:
        t, column = next(place for place, value in np.ndenumerate(values) if type(value).__name__ == "NAType")
        raise RowRefused("is missing", row=t, column=column, remedy=FILL) from None


def _as_csr(X: "coo_array[Any]", single: bool) -> Values:
    if single and X.ndim == 1:
        X = X.reshape((1, -1))
    if X.ndim != 2 or (single and X.shape[0] != 1):
        wanted = "one row" if single else "many rows"
        raise _no_rows(f"a sparse array of shape {X.shape} came for {wanted}; give two dimensions", X.shape)
    _check_entries(X)
    if X.dtype.kind not in "biuf":
        _refuse_type(X.tocsr())
    if X.dtype not in NATIVE:  # SciPy knows neither half a float nor the other order of bytes
        X = X.copy() if X.format not in ("csr", "csc", "coo", "bsr") else copy.copy(X)
        X.data = X.data.astype(np.float64)
    return X.tocsr()


def _check_entries(X: "coo_array[Any]") -> None:
    """Refuse a matrix whose arrays contradict each other: SciPy's own code would read and write beyond them. O(nnz)."""
    from scipy import sparse

    try:
        if isinstance(X, (sparse.csr_array, sparse.csc_array, sparse.bsr_array)) or X.format in ("csr", "csc", "bsr"):
            cast(Any, X).check_format(full_check=True)
        elif X.format == "coo":
            for places, size in zip(X.coords, X.shape, strict=True):
                if len(places) != len(X.data) or (len(places) and not 0 <= places.min() <= places.max() < size):
                    raise ValueError(f"an index is not from 0 to {size - 1}, or one is missing")
    except ValueError as error:
        raise _no_rows(f"a sparse matrix that contradicts itself came ({error}); build it again", X.shape) from None


@runtime_checkable
class TypedFrame(Protocol):
    """A data frame, of which only the columns' types are used."""

    @property
    def dtypes(self) -> Iterable[object]:
        """The types of the columns."""
        ...


@runtime_checkable
class _Type(Protocol):
    """The type of a column, of NumPy or of pandas; its kind is one letter."""

    @property
    def kind(self) -> str: ...


def _is_frame_of_numbers(X: object) -> bool:
    """Return whether X is a data frame of several types of number, which NumPy makes an array of objects."""
    return isinstance(X, TypedFrame) and all(isinstance(t, _Type) and t.kind in "biuf" for t in list(X.dtypes))


def _no_rows(message: str, came: object) -> ParameterRefused:
    return ParameterRefused(message, parameter="X", value=came)


def _refuse_type(values: Values) -> NoReturn:
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        for (t, column), value in np.ndenumerate(values):
            if not isinstance(value, (int, float, np.number)):
                raise RowRefused(f"is {value!r}", row=t, column=column, value=value, remedy=NUMBERS)
    advice = f"give real numbers, e.g. with .astype(float){UNCHANGED}"
    raise _no_rows(f"values of type {values.dtype} came; {advice}", values.dtype)


def unmasked(given: object, what: str) -> object:
    """Return the data of a masked array; a masked entry is refused, since it is missing."""
    if not isinstance(given, np.ma.MaskedArray):
        return given
    if np.ma.is_masked(given):
        *row, last = np.argwhere(np.ma.getmaskarray(given))[0].tolist()
        if row or what == "column":
            raise RowRefused("is masked", row=row[0] if row else None, column=last, remedy=FILL)
        raise RowRefused(f"{what} is masked", row=last, remedy=FILL)
    return np.ma.getdata(given)
