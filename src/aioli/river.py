"""A River classifier over any learner: of dictionaries, whose keys come and go, and of mini-batches."""

from collections.abc import Iterator
from datetime import date, time
from numbers import Real
from typing import Any

import numpy as np

from aioli.errors import LabelRefused, RowRefused
from aioli.learners.aioli import AIOLI
from aioli.learners.dictionary_game import DictionaryGame
from aioli.learners.dictionary_rows import RowWeights
from aioli.learners.protocol import AnyLearner, TurnsToClasses
from aioli.numerics.compiling import Vector
from aioli.streams.dictionaries import ENCODE, Item, refused_value
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

WORDS = (str, date, time, type(None))  # what is encoded, and no number


class AIOLIClassifier(DictionaryGame, MiniBatchClassifier):
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
        super().__init__(learner)
        self._y_name: str | None = None
        self._table: TableEncoder | None = None  # how rows are encoded, once one came that is not all numbers

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

    def _predict(self, frame: nw.DataFrame[IntoDataFrame]) -> Vector:
        return self._learner.predict_many(self._matrix_of(frame)) if len(frame) else np.empty(0)

    def _matrix_of(self, frame: nw.DataFrame[IntoDataFrame]) -> Features:
        return self._rows(_matrix(frame), tuple(frame.columns))

    @property
    def _multiclass(self) -> bool:
        return self._many is not None or isinstance(self._learner, TurnsToClasses)

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
