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
from aioli.learners.protocol import AnyLearner
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
        self._game = DictionaryGame(learner)
        self._y_name: str | None = None
        self._table: TableEncoder | None = None  # how rows are encoded, once one came that is not all numbers

    # ---- one row

    def learn_one(self, x: Item, y: Any, w: float = 1.0) -> None:
        """Learn from a row and its label; w multiplies the row's loss."""
        if self._table is None:
            try:
                self._game.learn_one(x, y, w)
                return
            except RowRefused as error:
                if error.remedy != ENCODE or not isinstance(error.value, WORDS):
                    raise
        table = TableEncoder() if self._table is None else self._table
        mark = table.mark()
        try:
            self._game.learn_one(_features(table, table.encode(x)), y, w)
        except BaseException:
            table.undo(mark)
            raise
        self._table = table

    def predict_proba_one(self, x: Item, **_: object) -> dict[Any, float]:
        """Return the probability of each label."""
        return self._game.probabilities(self._numbers(x))

    def predict_one(self, x: Item, **_: object) -> Any:
        """Return the likeliest label."""
        return self._game.likeliest(self._numbers(x))

    # ---- a mini-batch: any frame that narwhals knows, and the same kind back

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries | None = None) -> None:
        """Learn from the rows in order; w is one weight, or one a row."""
        frame, labels = into_frame(X), into_series(y)
        missing = labels.is_null().to_list()
        if any(missing):
            raise LabelRefused("the label is missing", row=missing.index(True), remedy="leave it out")
        if len(frame) or len(labels):
            weights = _weights(w, len(frame))
            self._game.learn_many(tuple(frame.columns), _matrix(frame), labels.to_list(), weights)
        self._y_name = labels.name

    def predict_proba_many(self, X: IntoDataFrame) -> Any:
        """Return the probability of each label, a column each."""
        frame = into_frame(X)
        p = self._game.probabilities_many(tuple(frame.columns), _matrix(frame))
        return to_native_frame(p, like=frame)

    def predict_many(self, X: IntoDataFrame) -> Any:
        """Return the likeliest label of each row."""
        frame = into_frame(X)
        likeliest = self._game.likeliest_many(tuple(frame.columns), _matrix(frame))
        return to_native_series(likeliest, name=self._y_name, like=frame)

    # ---- within

    def _numbers(self, x: Item) -> Item:
        """Return a row to predict as numbers; before any other was learned, what is no number counts as absent."""
        if self._table is not None:
            return _features(self._table, self._table.transform(x))
        if self._game.has_as_many_columns(x):  # as ever, without a look at every value
            return x
        others = [key for key, value in x.items() if isinstance(value, WORDS)]
        return {key: value for key, value in x.items() if key not in others} if others else x

    @property
    def _multiclass(self) -> bool:
        return self._game.takes_more_labels

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
    """Return the numbers of a frame, or refuse a column of others; of no rows nothing is asked."""
    if not len(frame):
        return np.empty((0, len(frame.columns)))
    for key, kind in frame.schema.items():
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Unknown)):  # sparse pandas columns are of unknown kind
            raise refused_value(key, f"is of type {kind}", kind, ENCODE)
    return to_numpy(frame)
