"""A River classifier over any learner: of dictionaries, whose keys come and go, and of mini-batches."""

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import date, time
from itertools import repeat
from numbers import Real
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from aioli.errors import LabelRefused, RowRefused
from aioli.learners.aioli import AIOLI
from aioli.learners.announced_rows import AnnouncedRows, PredictedRow
from aioli.learners.announcements import Announcement
from aioli.learners.cloning import fresh_copy, learn_rows
from aioli.learners.dictionary_rows import (
    RowWeights,
    among_known,
    learn_announced,
    learn_third_label,
    plain_labels,
    widened,
)
from aioli.learners.protocol import (
    AnyLearner,
    ClassLearner,
    Learner,
    TurnsToClasses,
    knows_classes,
    learns_late,
    plays_two_classes,
    require_any_learner,
)
from aioli.learners.wide import Wide
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Label
from aioli.streams.dictionaries import (
    ENCODE,
    Columns,
    Item,
    Sides,
    content_of,
    in_order,
    names_of_sides,
    numbers_of,
    place_of_third,
    refused_value,
    spread_rows,
    with_labels,
)
from aioli.streams.files.table import Features
from aioli.streams.table_encoder import TableEncoder

try:
    import narwhals.stable.v2 as nw
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries
    from river.base import MiniBatchClassifier
    from river.utils.dataframe import into_frame, into_series, to_native_frame, to_native_series, to_numpy
except ImportError as missing:
    raise ImportError("aioli.river needs River 0.26 or newer: pip install 'aioli-online[river]'") from missing

__all__ = ["AIOLIClassifier"]

MOST_WAITING = 100_000  # rows whose labels may be out
WORDS = (str, date, time, type(None))  # what is encoded, and no number
LEAST_ROOM = 1024  # columns that a learner of sparse rows begins with; doubled when keys have filled them


class AIOLIClassifier(MiniBatchClassifier):
    r"""Online logistic regression as a River classifier of any number of labels.

    With two labels it plays the game of two; when a third comes, the learner goes on as one of many
    (`learner.with_classes`), and further labels may come at any time.

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
    `learn_one` of a row for which `predict_one` or `predict_proba_one` spoke earlier learns from what was announced
    then, as `learner.learn(x, y, announced=…)` does, so that `evaluate.progressive_val_score(…, delay=…)` plays labels
    that come late. A row that is learned right after it was predicted, or never was predicted, is learned in time. Rows
    are known by their content, equal ones by their order: a transformer in front must give the same numbers both times
    (River's scalers do not; `Auto` needs none). The last 100,000 rows that were predicted and not learned are kept.
    Mini-batches, and rows of more than two labels, are learned in time, and learners without late labels (`OGD`, …)
    learn every row so.

    Columns are in the order in which their keys came, those that came together in sorted order: the order within a
    dictionary never matters. The labels False, 0 and -1 are the learner's 0, True and 1 its 1; of other labels, the
    first to come is its 0. A label that has not come yet is called by what it must be, or None where nobody can know;
    before the first, they are False and True. A row of words, dates or missing values (None) is encoded as the command
    encodes files (`TableEncoder`), and so is every row from then on; mini-batches must be numbers. Whatever is refused
    leaves no trace.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from aioli.river import AIOLIClassifier
    >>> loss = evaluate.progressive_val_score(datasets.Phishing(), AIOLIClassifier(), metrics.LogLoss())
    >>> print(f"{loss.get():.1f} nats a row")
    0.2 nats a row
    """

    def __init__(self, learner: AnyLearner | None = None) -> None:
        self.learner = learner
        given = None if learner is None else require_any_learner(learner)
        self._many: ClassLearner | None = None
        if given is not None and knows_classes(given):
            self._many = copy.deepcopy(given)
        self._learner: Learner = fresh_copy(None if given is None or not plays_two_classes(given) else given)
        self._columns: Columns = {}
        self._sides: Sides = {}
        self._labels = names_of_sides({})
        self._pick: Callable[[Any], Any] | None = None
        self._y_name: str | None = None
        self._late = self._many is None and learns_late(self._learner)
        self._table: TableEncoder | None = None  # how rows are encoded, once one came that is not all numbers
        self._last: PredictedRow | None = None
        self._waiting = AnnouncedRows(MOST_WAITING)
        self._heard_late = False  # whether a label has come after another row

    # ---- one row

    def learn_one(self, x: Item, y: Any, w: float = 1.0) -> None:
        """Learn from a row and its label; w multiplies the row's loss."""
        if self._table is None:
            try:
                self._learn_numbers(x, y, w)
                return
            except RowRefused as error:
                if error.remedy != ENCODE or not isinstance(error.value, WORDS):
                    raise
        table = TableEncoder() if self._table is None else self._table
        mark = table.mark()
        try:
            self._learn_numbers(_features(table, table.encode(x)), y, w)
        except BaseException:
            table.undo(mark)
            raise
        self._table = table

    def _learn_numbers(self, x: Item, y: Label, w: float) -> None:
        if self._many is not None:
            if w == 1.0 and x.keys() <= self._columns.keys() and self._many.rounds:
                self._many.learn(self._row(x), y)
            else:
                self._learn(tuple(x), numbers_of(x)[None, :], [y], None if w == 1.0 else [w])
            return
        in_time = self._last is not None and not self._heard_late and self._last.is_of(x)
        announced = None if in_time else self._announcement(x)
        try:
            side = self._sides.get(y)
        except TypeError:  # not even hashable
            side = None
        if announced is not None:
            self._learn(tuple(x), numbers_of(x)[None, :], [y], None if w == 1.0 else [w], announced)
            self._waiting.drop(content_of(x))
            self._heard_late = True
        elif side is not None and w == 1.0 and x.keys() <= self._columns.keys():
            self._learner.learn(self._row(x), side)
        else:
            self._learn(tuple(x), numbers_of(x)[None, :], [y], None if w == 1.0 else [w])
        self._last = None

    def predict_proba_one(self, x: Item, **_: object) -> dict[Any, float]:
        """Return the probability of each label."""
        x = self._numbers(x)
        if self._many is not None:
            return dict(zip(self._many.classes_, self._of_many(self._row(x), single=True)[0].tolist(), strict=True))
        p = self._learner.predict(self._row(x))
        if self._late:
            self._remember(x, 0)
        zero, one = self._labels
        return {zero: 1.0 - p, one: p}

    def predict_one(self, x: Item, **_: object) -> Any:
        """Return the likeliest label."""
        x = self._numbers(x)
        if self._many is not None:
            p_of_each = self._of_many(self._row(x), single=True)[0]
            return self._many.classes_[int(p_of_each.argmax())] if len(p_of_each) else None
        p = self._learner.predict(self._row(x))
        if self._late:
            self._remember(x, 1)
        zero, one = self._labels
        return one if p > 0.5 else zero

    # ---- a mini-batch: any frame that narwhals knows, and the same kind back

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries | None = None) -> None:
        """Learn from the rows in order; w is one weight, or one a row."""
        frame, labels = into_frame(X), into_series(y)
        missing = labels.is_null().to_list()
        if any(missing):
            raise LabelRefused("the label is missing", row=missing.index(True), remedy="leave it out")
        if len(frame) or len(labels):
            self._announce_last()
            weights = _weights(w, len(frame))
            self._learn(tuple(frame.columns), _matrix(frame), labels.to_list(), weights)
        self._y_name = labels.name

    def predict_proba_many(self, X: IntoDataFrame) -> Any:
        """Return the probability of each label, a column each."""
        frame = into_frame(X)
        if self._many is not None:
            P = self._of_many(self._matrix_of(frame))
            return to_native_frame(dict(zip(self._many.classes_, P.T, strict=True)), like=frame)
        p = self._predict(frame)
        zero, one = self._labels
        return to_native_frame({zero: 1.0 - p, one: p}, like=frame)

    def predict_many(self, X: IntoDataFrame) -> Any:
        """Return the likeliest label of each row."""
        frame = into_frame(X)
        if self._many is not None:
            best = self._of_many(self._matrix_of(frame)).argmax(axis=1).tolist()
            return to_native_series([self._many.classes_[k] for k in best], name=self._y_name, like=frame)
        zero, one = self._labels
        likelier = [one if p > 0.5 else zero for p in self._predict(frame)]
        return to_native_series(likelier, name=self._y_name, like=frame)

    # ---- within

    def _numbers(self, x: Item) -> Item:
        """Return a row to predict as numbers; before any other was learned, what is no number counts as absent."""
        if self._table is not None:
            return _features(self._table, self._table.transform(x))
        if self._pick is not None and len(x) == len(self._columns):  # as ever, without a look at every value
            return x
        others = [key for key, value in x.items() if isinstance(value, WORDS)]
        return {key: value for key, value in x.items() if key not in others} if others else x

    def _remember(self, x: Item, method: int) -> None:
        """Remember the row just predicted, and announce the one before it: its label, not having come next, is late."""
        if self._last is not None and self._last.is_of(x):
            self._last.times[method] += 1
            return
        self._announce_last()
        self._last = PredictedRow(dict(x), [1 - method, method])

    def _announce_last(self) -> None:
        """Announce the row predicted last; nothing was learned since, so the probability is that of the prediction."""
        if self._last is None or not learns_late(self._learner):
            return
        x, times = self._last
        row = np.zeros(max(1, len(x))) if self._learner.n_features_ is None else self._row(x)
        content = content_of(x)
        for _ in range(max(times)):
            self._waiting.add(content, self._learner.announce(row))
        self._last = None

    def _announcement(self, x: Item) -> Announcement | None:
        """Return what was announced for a row before other rows came; None where nothing was."""
        self._announce_last()
        return self._waiting.oldest(content_of(x)) if self._waiting else None

    def _row(self, x: Item) -> object:
        """Return the row in the order of the columns, without the keys that have none."""
        if isinstance(self._learner, Wide):  # others would pay for the columns that are not there yet
            return self._as_sparse(numbers_of(x)[None, :], tuple(x))
        makes_up = hasattr(type(x), "__missing__")  # a defaultdict would invent a value, and keep it
        if self._pick is not None and len(x) == len(self._columns) and not makes_up:
            try:  # the same keys as ever, in whatever order: no dictionary is searched from Python
                values = np.array(self._pick(x))
                if values.ndim == 1 and values.dtype.kind in "biuf":
                    return values.astype(np.float64, copy=False)
            except (KeyError, ValueError):
                pass
        return spread_rows(numbers_of(x), tuple(x), self._columns)

    def _predict(self, frame: nw.DataFrame[IntoDataFrame]) -> Vector:
        return self._learner.predict_many(self._matrix_of(frame)) if len(frame) else np.empty(0)

    def _matrix_of(self, frame: nw.DataFrame[IntoDataFrame]) -> Features:
        values, keys = _matrix(frame), tuple(frame.columns)
        wide = isinstance(self._learner, Wide)
        return self._as_sparse(values, keys) if wide else spread_rows(values, keys, self._columns)

    def _of_many(self, rows: object, single: bool = False) -> Matrix:
        """Return the probabilities of the labels that have come, adding up to 1: a label to come has no key."""
        assert self._many is not None
        return among_known(self._many.predict(rows)[None, :] if single else self._many.predict_many(rows))

    def _learn(
        self,
        keys: tuple[Hashable, ...],
        values: Vector,
        labels: list[Label],
        weights: RowWeights,
        announced: Announcement | None = None,
    ) -> None:
        """Learn from the rows; all that may be refused happens to copies, or before anything is kept."""
        if isinstance(self._learner, Wide):
            self._learn_sparse(self._learner, keys, values, labels, weights, announced)
            return
        new = [key for key in keys if key not in self._columns]
        columns = self._columns | {key: j for j, key in enumerate(in_order(new), len(self._columns))}
        third = None if self._many is not None else place_of_third(self._sides, labels)
        if self._many is not None or (third is not None and isinstance(self._learner, TurnsToClasses)):
            self._learn_many_labels(spread_rows(values, keys, columns), labels, weights, columns, third)
            return
        sides = with_labels(self._sides, labels)
        learner = widened(copy.deepcopy(self._learner), columns) if new else self._learner
        learn_announced(learner, spread_rows(values, keys, columns), [sides[y] for y in labels], weights, announced)
        self._learner, self._columns, self._sides = learner, columns, sides
        self._labels = names_of_sides(sides)
        self._pick = itemgetter(*columns) if len(columns) > 1 else None

    def _learn_many_labels(
        self, rows: Vector, labels: list[Label], weights: RowWeights, columns: Columns, third: int | None
    ) -> None:
        """Learn rows of more than two labels; those before the third label are still of two. All or none."""
        if self._many is None:
            assert third is not None
            many, sides = learn_third_label(self._learner, self._sides, columns, rows, labels, weights, third)
            self._learner, self._late, self._last = fresh_copy(None), False, None  # what it knew has gone over
            self._sides, self._waiting = sides, AnnouncedRows(MOST_WAITING)
        else:
            new = len(columns) > len(self._columns)
            many = widened(copy.deepcopy(self._many), columns) if new else self._many
            learn_rows(many, rows, plain_labels(labels), weights)
        self._many, self._columns = many, columns
        self._pick = itemgetter(*columns) if len(columns) > 1 else None

    @property
    def _multiclass(self) -> bool:
        return self._many is not None or isinstance(self._learner, TurnsToClasses)

    def _learn_sparse(
        self,
        learner: Wide,
        keys: tuple[Hashable, ...],
        values: Vector,
        labels: list[Label],
        weights: RowWeights,
        announced: Announcement | None,
    ) -> None:
        """Learn from the rows in O(nnz): whatever is as long as there are columns is copied when their room doubles."""
        new = in_order([key for key in keys if key not in self._columns])
        columns = {key: j for j, key in enumerate(new, len(self._columns))}
        rows = self._as_sparse(values, keys, columns)
        sides = with_labels(self._sides, labels)
        room = rows.shape[1]
        if learner.n_features_ is not None and learner.n_features_ < room:
            learner = copy.deepcopy(learner).grow(room - learner.n_features_)
        if len(labels) == 1 and weights is None and announced is None:
            learner.learn(rows, sides[labels[0]])  # without the overhead of many
        else:
            learn_announced(learner, rows, [sides[y] for y in labels], weights, announced)
        self._columns.update(columns)
        self._learner, self._sides, self._labels = learner, sides, names_of_sides(sides)

    def _as_sparse(self, values: Vector, keys: Sequence[Hashable], new: Columns | None = None) -> csr_array:
        """Return CSR rows with room for keys to come, without the keys that have no column. O(nnz)."""
        if not np.isfinite(values).all():
            row, place = np.argwhere(~np.isfinite(values))[0]
            problem, at = f"is {values[row, place]}", None if len(values) == 1 else int(row)
            raise refused_value(keys[place], problem, values[row, place], "drop it or fill it first", at)
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
    def _unit_test_params(cls) -> Iterator[dict[str, object]]:
        yield {}
        yield {"learner": AIOLI()}


def _features(table: TableEncoder, X: Features) -> dict[str, float]:
    """Return an encoded row by the names of its features."""
    row = X[0] if isinstance(X, np.ndarray) else X.toarray()[0]
    return dict(zip(table.features, row.tolist(), strict=False))


def _weights(w: float | IntoSeries | None, count: int) -> RowWeights:
    """Return one weight a row."""
    if w is None:
        return None
    return np.full(count, w) if isinstance(w, (float, Real)) else into_series(w).to_numpy()


def _matrix(frame: nw.DataFrame[IntoDataFrame]) -> Vector:
    for key, kind in frame.schema.items():
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Unknown)):  # sparse pandas columns are of unknown kind
            raise refused_value(key, f"is of type {kind}", kind, ENCODE)
    return to_numpy(frame)
