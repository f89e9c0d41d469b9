"""The border: rows, labels and weights of any kind become float64 arrays, or are refused.

Nothing behind this file checks a row again. A refusal names the row, the column, what came, and what to do
(`aioli.errors`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from aioli.errors import UNCHANGED, LabelRefused, ParameterRefused, RowRefused
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.streams.matrices import FILL, Values, as_matrix, unmasked

__all__ = ["CheckedRows", "Rows", "as_label", "as_labels", "as_logits", "as_weights", "check_weights", "is_logit"]

FARTHEST = 1e100  # log-odds that are still taken for such
CHUNK_BYTES = 1 << 22  # rows are made ready four megabytes at a time: they stay in the cache, and memory stays flat

LABELS: dict[object, float] = {0: 0.0, 1: 1.0, -1: 0.0}  # True, 1.0 and np.int64(1) are the same key as 1
GIVE_LABELS = "give 0 or 1, False or True, -1 or +1; Auto(classes=…) and AIOLI(classes=…) take other labels"


class CheckedRows(ABC):
    """A matrix of rows of any kind that has passed the border: each row is finite and not too long.

    Parameters
    ----------
    X
        The rows; one row of one dimension where `single`.
    intercept
        Whether every row is to begin with a 1.
    widest
        The greatest norm that a row may have.
    width, names
        How many columns the learner knows, None for any, and what they are called.
    device
        The device of PyTorch to which rows go (`device_rows`); None is the CPU.
    """

    def __init__(
        self,
        X: object,
        *,
        intercept: bool,
        widest: float,
        width: int | None = None,
        names: Sequence[str] | None = None,
        single: bool = False,
        device: str | None = None,
    ) -> None:
        self.single = single
        self.device = device
        self.intercept = intercept
        self.names = names
        self.values = self._as_values(X, width, names, single)
        self.width = int(self.values.shape[1])
        self._check(widest)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def _as_values(self, X: object, width: int | None, names: Sequence[str] | None, single: bool) -> Values:
        """Return the rows as a matrix of real numbers, as wide as it must be, not yet converted."""
        return as_matrix(X, width=width, names=names, single=single)

    @abstractmethod
    def lengths(self) -> Iterator[tuple[int, Vector]]:
        """Yield the norms of the rows, chunk by chunk, each with the number of its first row."""

    @abstractmethod
    def _check(self, widest: float) -> None:
        """Refuse the first row that is not finite or longer than `widest`."""

    def _refuse(self, t: int, row: Vector, columns: Sequence[int] | NDArray[np.integer], widest: float) -> NoReturn:
        """Refuse row t for its first entry that is not finite, or its largest; `columns` numbers the entries."""
        finite = np.isfinite(row)
        worst = int(np.argmax(np.abs(row) if finite.all() else ~finite))
        value, column = float(row[worst]), int(columns[worst])
        problem, remedy = f"is {value}", FILL
        if finite.all():
            problem = (
                f"is {value:g}, which makes a row longer than {widest:g}, beyond which float64 cannot keep the state "
                "exact"
            )
            remedy = "scale the columns first"
        name = column if self.names is None else self.names[column]
        raise RowRefused(problem, row=None if self.single else t, column=name, value=value, remedy=remedy)


class Rows(CheckedRows):
    """Checks rows and hands them out in chunks as a state reads them: float64, intercept first."""

    def _check(self, widest: float) -> None:
        self._chunk = max(1, CHUNK_BYTES // (8 * (self.width + 1)))
        self._ready: Matrix | None = None
        for start, chunk, bad in self._loaded(widest):
            if bad >= 0:
                self._refuse(start + bad, chunk[bad, int(self.intercept) :], range(self.width), widest)
            if len(self) <= self._chunk:
                self._ready = chunk

    def __iter__(self) -> Iterator[tuple[int, Matrix]]:
        """Yield the chunks, each with the number of its first row."""
        if self._ready is not None:
            yield 0, self._ready
            return
        for start, chunk, _ in self._loaded(math.inf):
            yield start, chunk

    def _loaded(self, widest: float) -> Iterator[tuple[int, Matrix, int]]:
        """Yield the chunks, each with the number of its first row, and of its first row that is refused, or -1."""
        for start in range(0, len(self), self._chunk):
            part = self.values[start : start + self._chunk]
            chunk = np.empty((part.shape[0], self.width + self.intercept))
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows float64 is found as an infinity
                plain = np.require(
                    part if isinstance(part, np.ndarray) else part.toarray(), np.float64, ["C", "A", "W"]
                )
            yield start, chunk, load_rows(plain, chunk, widest)

    def lengths(self) -> Iterator[tuple[int, Vector]]:
        """Yield the norms of the rows, chunk by chunk, each with the number of its first row."""
        for start, chunk in self:
            yield start, np.linalg.norm(chunk, axis=1)


@compiled("i8(f8[:,::1],f8[:,::1],f8)", reassociate=True)
def load_rows(rows: Matrix, chunk: Matrix, widest: float) -> int:
    """Copy the rows, behind a 1 where the chunk is wider; return the first that is too long or not finite, or -1."""
    first = chunk.shape[1] - rows.shape[1]
    bad = -1
    for t in range(rows.shape[0]):
        if first:
            chunk[t, 0] = 1.0
        norm2 = float(first)
        for i in range(rows.shape[1]):
            chunk[t, first + i] = rows[t, i]
        for i in range(rows.shape[1]):
            norm2 += rows[t, i] * rows[t, i]
        if bad < 0 and not (math.sqrt(norm2) <= widest and norm2 < math.inf):
            bad = t
    return bad


def as_label(y: object) -> float:
    """Return one label as 0.0 or 1.0."""
    try:
        return LABELS[y.item() if isinstance(y, np.ndarray) and y.size == 1 else y]
    except (KeyError, TypeError):
        raise LabelRefused(f"the label is {y!r}", value=y, remedy=GIVE_LABELS) from None


def as_labels(y: object, count: int) -> Vector:
    """Return one label a row, 0.0 or 1.0."""
    values = _as_column("labels", y, count)
    labels: Vector = np.empty(count)
    if values.dtype == np.float64 and zeros_and_ones(np.require(values, requirements=["C", "A", "W"]), labels):
        return labels
    labels = (values == 1).astype(np.float64)
    zero, minus = values == 0, values == -1
    wrong = ~(labels.astype(bool) | zero | minus)
    if wrong.any():
        t = int(np.argmax(wrong))
        label = values[t].item()
        raise LabelRefused(f"the label is {label!r}", row=t, value=label, remedy=GIVE_LABELS)
    if zero.any() and minus.any():
        t = int(np.argmax(minus if values[np.argmax(zero | minus)] == 0 else zero))
        remedy = "one of them must be the other"
        raise LabelRefused("labels 0 and -1 in one stream", row=t, value=values[t].item(), remedy=remedy)
    return labels


@compiled("b1(f8[::1],f8[::1])")
def zeros_and_ones(values: Vector, labels: Vector) -> bool:
    """Copy the labels and return whether each is 0 or 1. O(1) a row."""
    plain = True
    for t in range(values.size):
        labels[t] = values[t]
        plain &= (values[t] == 0.0) | (values[t] == 1.0)
    return plain


def as_weights(weights: object, rows: CheckedRows, widest: float, heaviest: float = math.inf) -> Vector:
    """Return one weight a row, at least 0 and at most `heaviest`; None means 1."""
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
                raise RowRefused(
                    f"a weight of {values[t]:g} on a row of this length is beyond what float64 can keep exact",
                    row=t,
                    value=float(values[t]),
                    remedy="scale the weights down",
                )
    return values


def check_weights(weights: object, count: int) -> None:
    """Refuse weights that are none, whatever the rows; None means 1."""
    if weights is not None:
        _as_floats("weights", weights, count, lambda v: v >= 0.0, "a finite weight of at least 0")


def is_logit(z: object) -> TypeGuard[float]:
    """Return whether these are log-odds as `as_logits` takes them, in one float: what the short ways of a row ask."""
    return isinstance(z, float) and abs(z) <= FARTHEST


def as_logits(logits: object, count: int) -> Vector:
    """Return the log-odds announced for each row; None means that they are announced now, for which NaN stands."""
    if logits is None:
        return np.full(count, math.nan)
    return _as_floats("logits", logits, count, lambda z: np.abs(z) <= FARTHEST, "the log-odds that predict_logit gave")


def _as_floats(
    what: str, given: object, count: int, holds: Callable[[Vector], NDArray[np.bool]], wanted: str
) -> Vector:
    values: Vector = _as_column(what, given, count).astype(np.float64)
    wrong = ~(np.isfinite(values) & holds(values))
    if wrong.any():
        t = int(np.argmax(wrong))
        value = float(values[t])
        raise RowRefused(f"{what[:-1]} is {value}", row=t, value=value, remedy=f"give {wanted}")
    return values


def _as_column(what: str, given: object, count: int) -> NDArray[np.generic]:
    """Return labels, weights or logits as one array of numbers, one a row."""
    parameter = "y" if what == "labels" else what
    try:
        values = np.asarray(unmasked(given, what[:-1]))
    except RowRefused:
        raise
    except ValueError as error:
        message = f"{what} are no plain list of numbers ({error}); give one a row{UNCHANGED}"
        raise ParameterRefused(message, parameter=parameter, value=type(given)) from None
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.shape != (count,):
        message = f"{count} rows came with {what} of shape {values.shape}; give one a row{UNCHANGED}"
        raise ParameterRefused(message, parameter=parameter, value=values.shape)
    if values.dtype.kind not in "biuf":
        for t, value in enumerate(values.tolist()):
            if not isinstance(value, (int, float)):
                refusal, remedy = (LabelRefused, GIVE_LABELS) if what == "labels" else (RowRefused, "give numbers")
                raise refusal(f"of the {what}, {value!r} is no number", row=t, value=value, remedy=remedy)
        message = f"{what} of type {values.dtype} came; give numbers or booleans{UNCHANGED}"
        raise ParameterRefused(message, parameter=parameter, value=values.dtype)
    return values
