"""A River classifier over any learner: of dictionaries, whose keys come and go, and of mini-batches."""

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import repeat
from numbers import Real
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from aioli.errors import CapabilityMissing, LabelRefused, RowRefused
from aioli.learners.aioli import AIOLI
from aioli.learners.cloning import fresh_copy, learn_rows
from aioli.learners.protocol import Learner, grows, names_columns
from aioli.learners.wide import Wide
from aioli.numerics.compiling import Vector

try:
    import narwhals.stable.v2 as nw
    from river.base import MiniBatchClassifier
    from river.utils.dataframe import into_frame, into_series, to_native_frame, to_native_series, to_numpy
except ImportError as missing:
    raise ImportError("aioli.river needs River 0.26 or newer: pip install 'aioli-online[river]'") from missing

__all__ = ["AIOLIClassifier"]

ENCODE = "give numbers, and encode others before"
LEAST_ROOM = 1024  # columns that a learner of sparse rows begins with; doubled when keys have filled them

Columns = dict[Hashable, int]
Sides = dict[Hashable, int]


class AIOLIClassifier(MiniBatchClassifier):
    r"""Online logistic regression as a River classifier of two labels.

    A key's column is made when the key is first learned from, exactly as if it had been there, and 0, from the first
    row. A key that is absent is 0, and so is one that has not been learned from yet. `learn_many` is `learn_one` row by
    row: the same game. O(d²) a row, and as much for a new column; O(nnz) for both with `Wide`, which takes sparse rows.

    Parameters
    ----------
    learner
        A learner that has seen nothing, such as `AIOLI(radius=2.0)`: a copy of it learns. None is `Auto()`, which needs
        no scaler in front. Learners other than these two take no new keys after the first row, and no weights.

    Notes
    -----
    Columns are in the order in which their keys came, those that came together in sorted order: the order within a
    dictionary never matters. The labels False, 0 and -1 are the learner's 0, True and 1 its 1; of other labels, the
    first to come is its 0. A label that has not come yet is called by what it must be, or None where nobody can know;
    before the first, they are False and True. Values must be numbers: encode others in a pipeline. Whatever is refused
    leaves no trace.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from aioli.river import AIOLIClassifier
    >>> loss = evaluate.progressive_val_score(datasets.Phishing(), AIOLIClassifier(), metrics.LogLoss())
    >>> print(f"{loss.get():.1f} nats a row")
    0.2 nats a row
    """

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._learner: Learner = fresh_copy(learner)
        self._columns: Columns = {}
        self._sides: Sides = {}
        self._labels = _names_of_sides({})
        self._pick: Callable[[Any], Any] | None = None
        self._y_name: str | None = None

    # ---- one row

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from a row and its label; w multiplies the row's loss."""
        try:
            side = self._sides.get(y)
        except TypeError:  # not even hashable
            side = None
        if side is not None and w == 1.0 and x.keys() <= self._columns.keys():
            self._learner.learn(self._row(x), side)
        else:
            self._learn(tuple(x), _numbers(x)[None, :], [y], None if w == 1.0 else [w])

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        """Return the probability of each label."""
        p = self._learner.predict(self._row(x))
        zero, one = self._labels
        return {zero: 1.0 - p, one: p}

    def predict_one(self, x: Mapping[Any, Any], **_: Any) -> Any:
        """Return the likelier label."""
        zero, one = self._labels
        return one if self._learner.predict(self._row(x)) > 0.5 else zero

    # ---- a mini-batch: any frame that narwhals knows, and the same kind back

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from the rows in order; w is one weight, or one a row."""
        frame, labels = into_frame(X), into_series(y)
        missing = labels.is_null().to_list()
        if any(missing):
            raise LabelRefused("the label is missing", row=missing.index(True), remedy="leave it out")
        if len(frame) or len(labels):
            weights = np.full(len(frame), w) if isinstance(w, Real) else w if w is None else into_series(w).to_numpy()
            self._learn(tuple(frame.columns), _matrix(frame), labels.to_list(), weights)
        self._y_name = labels.name

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probability of each label, a column each."""
        frame = into_frame(X)
        p = self._predict(frame)
        zero, one = self._labels
        return to_native_frame({zero: 1.0 - p, one: p}, like=frame)

    def predict_many(self, X: Any) -> Any:
        """Return the likelier label of each row."""
        frame = into_frame(X)
        zero, one = self._labels
        likelier = [one if p > 0.5 else zero for p in self._predict(frame)]
        return to_native_series(likelier, name=self._y_name, like=frame)

    # ---- within

    def _row(self, x: Mapping[Any, Any]) -> object:
        """Return the row in the order of the columns, without the keys that have none."""
        if isinstance(self._learner, Wide):  # others would pay for the columns that are not there yet
            return self._as_sparse(_numbers(x)[None, :], tuple(x))
        makes_up = hasattr(type(x), "__missing__")  # a defaultdict would invent a value, and keep it
        if self._pick is not None and len(x) == len(self._columns) and not makes_up:
            try:  # the same keys as ever, in whatever order: no dictionary is searched from Python
                values = np.array(self._pick(x))
                if values.ndim == 1 and values.dtype.kind in "biuf":
                    return values.astype(np.float64, copy=False)
            except (KeyError, ValueError):
                pass
        return _spread(_numbers(x), tuple(x), self._columns)

    def _predict(self, frame: nw.DataFrame[Any]) -> Vector:
        if not len(frame):
            return np.empty(0)
        values, keys = _matrix(frame), tuple(frame.columns)
        wide = isinstance(self._learner, Wide)
        return self._learner.predict_many(
            self._as_sparse(values, keys) if wide else _spread(values, keys, self._columns)
        )

    def _learn(self, keys: tuple[Hashable, ...], values: Vector, labels: list[Any], weights: object) -> None:
        """Learn from the rows; all that may be refused happens to copies, or before anything is kept."""
        if isinstance(self._learner, Wide):
            self._learn_sparse(self._learner, keys, values, labels, weights)
            return
        new = [key for key in keys if key not in self._columns]
        columns = self._columns | {key: j for j, key in enumerate(_in_order(new), len(self._columns))}
        sides = _with_labels(self._sides, labels)
        learner = _widened(copy.deepcopy(self._learner), columns) if new else self._learner
        learn_rows(learner, _spread(values, keys, columns), [sides[y] for y in labels], weights)
        self._learner, self._columns, self._sides = learner, columns, sides
        self._labels = _names_of_sides(sides)
        self._pick = itemgetter(*columns) if len(columns) > 1 else None

    def _learn_sparse(
        self, learner: Wide, keys: tuple[Hashable, ...], values: Vector, labels: list[Any], weights: object
    ) -> None:
        """Learn from the rows in O(nnz): whatever is as long as there are columns is copied when their room doubles."""
        new = _in_order([key for key in keys if key not in self._columns])
        columns = {key: j for j, key in enumerate(new, len(self._columns))}
        rows = self._as_sparse(values, keys, columns)
        sides = _with_labels(self._sides, labels)
        room = rows.shape[1]
        if learner.n_features_ is not None and learner.n_features_ < room:
            learner = copy.deepcopy(learner).grow(room - learner.n_features_)
        if len(labels) == 1 and weights is None:
            learner.learn(rows, sides[labels[0]])  # without the overhead of many
        else:
            learn_rows(learner, rows, [sides[y] for y in labels], weights)
        self._columns.update(columns)
        self._learner, self._sides, self._labels = learner, sides, _names_of_sides(sides)

    def _as_sparse(self, values: Vector, keys: Sequence[Hashable], new: Columns | None = None) -> csr_array:
        """Return CSR rows with room for keys to come, without the keys that have no column. O(nnz)."""
        if not np.isfinite(values).all():
            row, place = np.argwhere(~np.isfinite(values))[0]
            problem, at = f"is {values[row, place]}", None if len(values) == 1 else int(row)
            raise _refused(keys[place], problem, values[row, place], "drop it or fill it first", at)
        places = np.fromiter(map(self._columns.get, keys, repeat(-1)), np.int64, len(keys))
        if new:
            places[places < 0] = [new[key] for key in keys if key in new]
        order = np.argsort(places)[np.count_nonzero(places < 0) :]
        data = values[:, order].astype(np.float64, copy=False).ravel()
        count = len(values)
        room = max(self._learner.n_features_ or LEAST_ROOM, 1 << (len(self._columns) + len(new or ())).bit_length())
        ends = np.arange(count + 1) * order.size
        columns = places[order] if count == 1 else np.tile(places[order], count)
        return csr_array((data, columns, ends), shape=(count, room))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learner": AIOLI()}


def _spread(values: Vector, keys: Sequence[Hashable], columns: Columns) -> Vector:
    """Return rows in the order of the columns, 0 where a key is absent; keys without a column are left out."""
    width = _width(columns)
    rows = np.zeros((*values.shape[:-1], width + 1))
    rows[..., [columns.get(key, width) for key in keys]] = values
    return rows[..., :width]


def _width(columns: Columns) -> int:
    return max(1, len(columns))  # a row without keys still has its label: a first column of zeros stands for its key


def _widened(learner: Learner, columns: Columns) -> Learner:
    known = learner.n_features_
    if known is not None and _width(columns) > known:
        if not grows(learner):
            raise CapabilityMissing(
                f"new keys came, {list(columns)[known:]}, but {type(learner).__name__} cannot make new columns; "
                "give all keys from the first row, or use Auto or AIOLI (nothing was learned)"
            )
        learner.grow(_width(columns) - known)
    if names_columns(learner):
        learner.feature_names_ = [str(key) for key in columns]
    return learner


def _in_order(keys: Sequence[Hashable]) -> list[Any]:
    keys_of_any_kind: list[Any] = list(keys)
    try:
        return sorted(keys_of_any_kind)
    except TypeError:  # kinds that do not compare
        return sorted(keys_of_any_kind, key=str)


def _with_labels(sides: Sides, labels: list[Any]) -> Sides:
    """Return the sides that the labels take, once these have come too."""
    try:
        distinct = dict.fromkeys(labels)
    except TypeError as error:
        raise LabelRefused(f"a label is not a single value ({error})", remedy="give one of two") from None
    sides = dict(sides)
    for y in distinct:
        if y in sides:
            continue
        row = None if len(labels) == 1 else labels.index(y)
        if y is None or y != y:
            raise LabelRefused(f"the label is {y!r}", row=row, value=y, remedy="leave out rows without one")
        if len(sides) == 2:
            raise LabelRefused(
                f"a third label, {y!r}, came after {' and '.join(map(repr, sides))}",
                row=row,
                value=y,
                remedy="this classifier knows two: put it into river.multiclass.OneVsRestClassifier",
            )
        label = y.item() if isinstance(y, np.generic) else y
        sides[label] = 1 - next(iter(sides.values())) if sides else int(label == 1)
    return sides


def _names_of_sides(sides: Sides) -> tuple[Any, Any]:
    if not sides:
        return False, True
    names: list[Any] = [None, None]
    for label, side in sides.items():
        names[side] = label
    if len(sides) == 1:
        ((label, side),) = sides.items()
        names[1 - side] = type(label)(1 - side) if type(label) in (bool, int, float) and label in (0, 1, -1) else None
    return names[0], names[1]


def _numbers(x: Mapping[Any, Any]) -> Vector:
    try:
        values = np.array([*x.values()])  # without a type: np.float64 would read the string "1" as a number
        if values.ndim == 1 and values.dtype.kind in "biuf":
            return values
    except ValueError:  # sequences of several lengths
        pass
    return np.array([_number(key, value) for key, value in x.items()])


def _number(key: Hashable, value: object) -> float:
    if isinstance(value, (Real, np.bool_)):
        try:
            return float(value)
        except OverflowError:  # a whole number beyond float64
            pass
    raise _refused(key, f"is {value!r}", value, ENCODE)


def _refused(key: Hashable, problem: str, value: object, remedy: str, row: int | None = None) -> RowRefused:
    column = key if isinstance(key, (str, int)) else repr(key)
    return RowRefused(problem, row=row, column=column, value=value, remedy=remedy)


def _matrix(frame: nw.DataFrame[Any]) -> Vector:
    for key, kind in frame.schema.items():
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Unknown)):  # sparse pandas columns are of unknown kind
            raise _refused(key, f"is of type {kind}", kind, ENCODE)
    return to_numpy(frame)
