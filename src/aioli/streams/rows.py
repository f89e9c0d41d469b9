"""The border: rows, labels and weights of any kind become float64 arrays, or a sentence that says why not.

Nothing behind this file checks a row again. A message names the row, the column, what came, and what to do.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = ["Rows", "as_label", "as_labels", "as_logits", "as_table", "as_weights", "is_sparse", "why_refused"]

CHUNK_BYTES = 1 << 22  # rows are made ready four megabytes at a time: they stay in the cache, and memory stays flat

LABELS: dict[object, float] = {0: 0.0, 1: 1.0, -1: 0.0}  # True, 1.0 and np.int64(1) are the same key as 1


class Rows:
    """A matrix of rows of any kind, checked, handed out in chunks as the state sees them: float64, intercept first."""

    def __init__(
        self,
        X: object,
        *,
        intercept: bool,
        widest: float,
        width: int | None = None,
        names: Sequence[str] | None = None,
        single: bool = False,
    ) -> None:
        self.values = as_table(X, width=width, names=names, single=single)
        self.single = single
        self.intercept = intercept
        self.names = names
        count, columns = self.values.shape
        self.width = columns
        self._chunk = max(1, CHUNK_BYTES // (8 * (columns + 1)))
        self._ready: Matrix | None = None
        for start, chunk, bad in self._loaded(widest):
            if bad >= 0:
                self._refuse(start + bad, chunk[bad, int(intercept) :], widest)
            if count <= self._chunk:
                self._ready = chunk

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __iter__(self) -> Iterator[tuple[int, Matrix]]:
        """The chunks, each with the number of its first row."""
        if self._ready is not None:
            yield 0, self._ready
            return
        for start, chunk, _ in self._loaded(math.inf):
            yield start, chunk

    def _loaded(self, widest: float) -> Iterator[tuple[int, Matrix, int]]:
        """The chunks, each with the number of its first row, and of the first of its rows that is refused, or -1."""
        for start in range(0, len(self), self._chunk):
            part = self.values[start : start + self._chunk]
            chunk = np.empty((part.shape[0], self.width + self.intercept))
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows float64 is found as an infinity
                plain = np.require(part if isinstance(part, np.ndarray) else part.toarray(), np.float64, ["C", "W"])
            yield start, chunk, load_rows(plain, chunk, widest)

    def lengths(self) -> Iterator[tuple[int, Vector]]:
        """The norms of the rows, chunk by chunk, each with the number of its first row."""
        for start, chunk in self:
            yield start, np.linalg.norm(chunk, axis=1)

    def _refuse(self, t: int, row: Vector, widest: float) -> NoReturn:
        finite = np.isfinite(row)
        column = int(np.argmax(np.abs(row) if finite.all() else ~finite))
        where = "the row" if self.single else f"row {t}"
        raise ValueError(why_refused(where, column, row[column], self.names, widest))


class Measured(Protocol):
    """Rows of which the norms are known: dense or sparse."""

    def __len__(self) -> int: ...

    def lengths(self) -> Iterator[tuple[int, Vector]]:
        """The norms of the rows, chunk by chunk, each with the number of its first row."""
        ...


def why_refused(where: str, column: int, value: float, names: Sequence[str] | None, widest: float) -> str:
    """The sentence for a row with a value that is not finite, or one that makes it longer than `widest`."""
    name = f"column {column}" if names is None else f"column {names[column]!r}"
    if not math.isfinite(value):
        return f"{where}: {name} is {value}; drop it or fill it first (nothing was learned)"
    return (
        f"{where}: {name} is {value:g}, which makes a row longer than {widest:g}, beyond which "
        "float64 cannot keep the state exact; scale the columns first (nothing was learned)"
    )


@compiled("i8(f8[:,::1],f8[:,::1],f8)", reassociate=True)
def load_rows(rows: Matrix, chunk: Matrix, widest: float) -> int:
    """Copy the rows behind a 1, where the chunk has room for one: the first that is too long or not finite, or -1."""
    first = chunk.shape[1] - rows.shape[1]
    bad = -1
    for t in range(rows.shape[0]):
        if first:
            chunk[t, 0] = 1.0
        norm2 = float(first)
        for i in range(rows.shape[1]):
            x = rows[t, i]
            chunk[t, first + i] = x
            norm2 += x * x
        if bad < 0 and not (math.sqrt(norm2) <= widest and norm2 < math.inf):
            bad = t
    return bad


def is_sparse(X: object) -> bool:
    """Whether X is one of SciPy's sparse arrays; nobody can have one who has not loaded them, which takes a while."""
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(X))


def as_label(y: object) -> float:
    """One label, 0.0 or 1.0."""
    try:
        return LABELS[y.item() if isinstance(y, np.ndarray) and y.size == 1 else y]
    except (KeyError, TypeError):
        raise ValueError(f"the label is {y!r}; give 0 or 1, False or True, -1 or +1 (nothing was learned)") from None


def as_labels(y: object, count: int) -> Vector:
    """One label a row, 0.0 or 1.0."""
    values = _as_column("labels", y, count)
    labels: Vector = np.empty(count)
    if values.dtype == np.float64 and zeros_and_ones(np.require(values, requirements=["C", "W"]), labels):
        return labels
    labels = (values == 1).astype(np.float64)
    zero, minus = values == 0, values == -1
    wrong = ~(labels.astype(bool) | zero | minus)
    if wrong.any():
        t = int(np.argmax(wrong))
        raise ValueError(
            f"row {t}: the label is {values[t]!r}; give 0 or 1, False or True, -1 or +1 (nothing was learned)"
        )
    if zero.any() and minus.any():
        t = int(np.argmax(minus if values[np.argmax(zero | minus)] == 0 else zero))
        raise ValueError(f"row {t}: labels 0 and -1 in one stream; one of them must be the other (nothing was learned)")
    return labels


@compiled("b1(f8[::1],f8[::1])")
def zeros_and_ones(values: Vector, labels: Vector) -> bool:
    """Copy the labels; whether each is 0 or 1, as most are. O(1) a row."""
    plain = True
    for t in range(values.size):
        labels[t] = values[t]
        plain &= (values[t] == 0.0) | (values[t] == 1.0)
    return plain


def as_weights(weights: object, rows: Measured, widest: float, heaviest: float = math.inf) -> Vector:
    """One weight a row, not negative and at most `heaviest`; None means 1."""
    if weights is None:
        return np.ones(len(rows))
    wanted = "a finite weight of at least 0" + (f" and at most {heaviest:g}" if heaviest < math.inf else "")
    values = _as_floats("weights", weights, len(rows), lambda v: (v >= 0.0) & (v <= heaviest), wanted)
    heavy = values > 1.0
    if heavy.any():
        for start, norms in rows.lengths():
            with np.errstate(over="ignore"):
                load = norms * values[start : start + len(norms)]
            if (load > widest).any():
                t = start + int(np.argmax(load > widest))
                raise ValueError(
                    f"row {t}: a weight of {values[t]:g} on a row of this length is beyond what float64 can keep "
                    "exact; scale the weights down (nothing was learned)"
                )
    return values


def as_logits(logits: object, count: int) -> Vector:
    """The log-odds announced for each row; None means that they are announced now, which is NaN to the kernels."""
    if logits is None:
        return np.full(count, math.nan)
    said = _as_floats("logits", logits, count, lambda z: np.abs(z) <= 1e100, "the log-odds that predict_logit gave")
    return said.copy()


def _as_floats(what: str, given: object, count: int, holds: Callable[[Vector], Any], wanted: str) -> Vector:
    values: Vector = _as_column(what, given, count).astype(np.float64)
    wrong = ~(np.isfinite(values) & holds(values))
    if wrong.any():
        t = int(np.argmax(wrong))
        raise ValueError(f"row {t}: {what[:-1]} is {values[t]}; give {wanted} (nothing was learned)")
    return values


def _as_column(what: str, given: object, count: int) -> Any:
    try:
        values = np.asarray(_unmasked(given, "row"))
    except ValueError as error:
        raise ValueError(
            f"{what} are no plain list of numbers ({error}); give one a row (nothing was learned)"
        ) from None
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.shape != (count,):
        raise ValueError(f"{count} rows came with {what} of shape {values.shape}; give one a row (nothing was learned)")
    if values.dtype.kind not in "biuf":
        for t, value in enumerate(values.tolist()):
            if not isinstance(value, (int, float)):
                raise ValueError(f"row {t}: of the {what}, {value!r} is no number; give numbers (nothing was learned)")
        raise ValueError(f"{what} of type {values.dtype} came; give numbers or booleans (nothing was learned)")
    return values


def _unmasked(given: object, entry: str) -> object:
    """What is masked is missing, not the number behind the mask."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        *row, column = np.argwhere(np.ma.getmaskarray(given))[0].tolist()
        where = f"row {row[0]}: column {column}" if row else f"{entry} {column}"
        raise ValueError(f"{where} is masked; drop it or fill it first (nothing was learned)")
    return np.ma.getdata(given) if isinstance(given, np.ma.MaskedArray) else given


def as_table(X: object, *, width: int | None, names: Sequence[str] | None, single: bool) -> Any:
    """A two-dimensional array or CSR matrix of real numbers, as wide as it must be, not yet converted or copied."""
    values = _as_matrix(X, single=single)
    count, columns = values.shape
    if count == 0 or columns == 0:
        raise ValueError(f"an empty matrix, of shape {values.shape}, came; give at least one row and one column")
    if width is not None and columns != width:
        what = "the row has" if single else "rows have"
        advice = "grow() the learner first" if columns > width else "give 0 for what is absent"
        raise ValueError(f"{what} {columns} columns; this learner knows {width}: {advice} (nothing was learned)")
    if names is not None and len(names) != columns:
        raise ValueError(f"{len(names)} names came for {columns} columns; give one a column (nothing was learned)")
    return values


def _as_matrix(X: object, *, single: bool) -> Any:
    """A two-dimensional array or CSR matrix of real numbers, not yet converted or copied."""
    if is_sparse(X):
        values: Any = X
        if single and values.ndim == 1:
            values = values.reshape((1, -1))
        if values.ndim != 2 or (single and values.shape[0] != 1):
            wanted = "one row" if single else "many rows"
            raise ValueError(f"a sparse array of shape {values.shape} came for {wanted}; give two dimensions")
        values = values.tocsr()
        return values if values.dtype.kind in "biuf" else _refuse_type(values)
    X = _unmasked(X, "column")
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"rows of different widths, or not of numbers, came ({error}); give a rectangle") from None
    types = getattr(X, "dtypes", None)  # a data frame of several types of number comes as objects
    if values.dtype.kind == "O" and types is not None and all(getattr(t, "kind", "O") in "biuf" for t in list(types)):
        values = values.astype(np.float64)
    if single:
        if values.ndim == 2 and values.shape[0] == 1:
            values = values[0]
        if values.ndim != 1:
            raise ValueError(
                f"an array of shape {values.shape} came for one row; give one dimension, or use the _many form"
            )
        values = values[None, :]
    elif values.ndim != 2:
        raise ValueError(f"an array of shape {values.shape} came for many rows; give two dimensions: rows and columns")
    return values if values.dtype.kind in "biuf" else _refuse_type(values)


def _refuse_type(values: Any) -> Any:
    advice = f"values of type {values.dtype} came; give real numbers, e.g. with .astype(float) (nothing was learned)"
    if values.dtype.kind == "O":
        for (t, column), value in np.ndenumerate(values):
            if not isinstance(value, (int, float, np.number)):
                advice = f"row {t}: column {column} is {value!r}; give real numbers (nothing was learned)"
                break
    raise ValueError(advice)
