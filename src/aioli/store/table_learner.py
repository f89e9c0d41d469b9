"""Learns from rows as people have them: data frames and dictionaries of numbers, words, dates and texts."""

import copy
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from aioli.errors import CapabilityMissing, LabelRefused, SnapshotRefused
from aioli.evaluate.prompt_player import PromptPlayer
from aioli.evaluate.run import widen
from aioli.learners.auto.auto import Auto
from aioli.learners.named_rows import TakesNamedRows
from aioli.learners.protocol import AnyLearner, knows_classes, plays_two_classes, require_any_learner
from aioli.learners.registry import restore_any_learner
from aioli.learners.wide import Wide
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import read_snapshot, write_snapshot
from aioli.snapshots.tree import Snapshot
from aioli.snapshots.whole_files import os_errors_naming
from aioli.store.models import STREAM, require_saves, without_stream
from aioli.streams.files.table import Features, Texts
from aioli.streams.many_labels import labels_for, restore_labels
from aioli.streams.protocol import Batch
from aioli.streams.raw_columns import column_of_values, the_row
from aioli.streams.table_encoder import TableEncoder

__all__ = ["TableLearner"]


class TableLearner:
    """Learns from rows of named values of any kind, as the command learns from a file.

    What a column is, the first rows show, however their values are written (`TableEncoder`); categories may come later.
    Labels are any two values, or any number of them where the learner can. Files that it saves are models of the
    command, and it loads those that `aioli run --save` wrote.

    Parameters
    ----------
    learner
        A learner that has seen nothing: a copy of it learns. None is `Auto()`.
    number, category, date, text, skip
        Columns of this kind, whatever they seem to be.
    positive
        Which label is the positive class, against the rest; None finds out which of two.

    Examples
    --------
    >>> from aioli import AIOLI, TableLearner
    >>> visits = [{"size": "1,5", "colour": "red"}, {"size": "0,5", "colour": "blue"}] * 20
    >>> model = TableLearner(AIOLI())
    >>> announced = model.learn_many(visits, ["yes", "no"] * 20)
    >>> round(model.predict({"size": "1,4", "colour": "red"}), 2)
    0.97
    >>> model.classes_
    ('no', 'yes')
    """

    def __init__(
        self,
        learner: AnyLearner | None = None,
        *,
        number: Collection[str] = (),
        category: Collection[str] = (),
        date: Collection[str] = (),
        text: Collection[str] = (),
        skip: Collection[str] = (),
        positive: str | None = None,
    ) -> None:
        self.learner = learner
        self.encoder_ = TableEncoder(number=number, category=category, date=date, text=text, skip=skip)
        self.labels_ = labels_for("more", positive, None)
        self._player: PromptPlayer | None = None
        self._label: str | None = None

    @property
    def learner_(self) -> AnyLearner:
        """The learner that has learned."""
        if self._player is None:
            raise CapabilityMissing("nothing was learned yet; call learn_many with some rows first")
        return self._player.learner

    @property
    def classes_(self) -> tuple[str, ...]:
        """What the classes are called; of two, `predict` is the probability of the second."""
        if self._player is not None and knows_classes(self._player.learner):
            return tuple(str(label) for label in self._player.learner.classes_)
        return self.labels_.classes

    @property
    def features_(self) -> list[str]:
        """The names of the features so far, in their order."""
        return self.encoder_.features

    def learn(self, row: object, y: object, weight: float = 1.0) -> float | Vector:
        """Learn from one row and its label; returns what was announced before the label."""
        announced = self.learn_many(row if type(row) is dict else [row], [y], None if weight == 1.0 else [weight])
        return announced[0] if announced.ndim == 2 else float(announced[0])

    def learn_many(self, rows: object, y: object, weights: object = None) -> Vector | Matrix:
        """Learn from the rows in order; returns what was announced for each before its label.

        That is the probability of the second class, or one a class from the row on that brings the third. A call that
        is refused leaves everything as it was, but for columns that were 0 in all rows.
        """
        labels, player = self.labels_.snapshot(), self._player
        try:
            with self.encoder_.all_or_nothing(lambda: None if player is None else player.learner.n_features_):
                return self._learn(rows, y, weights)
        except BaseException:
            self.labels_, self._player = restore_labels(labels), player
            raise

    def _learn(self, rows: object, y: object, weights: object) -> Vector | Matrix:
        told = _labels_of(y)
        stakes = None if weights is None else np.asarray(weights, dtype=np.float64).ravel()
        row = None if self._player is None else self.encoder_.encode_row(rows)
        table = self.encoder_.table(rows) if row is None else None
        count, where = (0 if row is None else 1), the_row(0)
        if table is not None:
            count, where = len(table), table.where
        for what, values in (("labels", told), ("weights", stakes)):
            if values is not None and len(values) != count:
                raise LabelRefused(
                    f"has {count} rows and {len(values)} {what}", remedy="give one a row", place="the data"
                )
        if not count:
            return np.empty(0)
        first = self._first_player() if self._player is None else None
        codes = self.labels_.encode(told, where)
        blocks = list(self.encoder_.blocks(table)) if row is None else [row]
        player = first or self._player_for(blocks)
        said: list[Vector] = []
        begin = 0
        for X in blocks:
            part = slice(begin, begin + X.shape[0])
            weighed = None if stakes is None else stakes[part]
            said += self._play(player, Batch(X, codes[part], weighed, where, classes=self.labels_.classes))
            begin = part.stop
        self._player = player
        return _together(said)

    def _player_for(self, blocks: Sequence[Features]) -> PromptPlayer:
        """Return the player for some blocks: a copy, where a block that is refused could leave it changed."""
        assert self._player is not None
        learner = self._player.learner
        more = len(self.labels_.classes) > 2 and plays_two_classes(learner)
        return PromptPlayer(copy.deepcopy(learner)) if more or len(blocks) > 1 else self._player

    def _play(self, player: PromptPlayer, batch: Batch) -> list[Vector]:
        """Play a block, which a third class may cut in two."""
        assert batch.y is not None
        widen(player.learner, batch.X.shape[1], self.encoder_.features)
        said, rest = [], batch
        while rest.y is not None and len(rest.y):
            played, announced = player.play(rest, len(rest.y))
            said.append(announced.p)
            stakes = None if rest.weights is None else rest.weights[played:]
            rest = replace(rest, X=rest.X[played:], y=rest.y[played:], weights=stakes)
        return said

    def _first_player(self) -> PromptPlayer:
        """Return the player of a new learner, now that the first rows have shown what the columns are."""
        kinds = set(self.encoder_.kinds.values())
        learner = copy.deepcopy(require_any_learner(Auto() if self.learner is None else self.learner))
        takes_sparse = isinstance(learner, TakesNamedRows) and learner.meet_columns(kinds)
        if takes_sparse or isinstance(learner, Wide):
            self.encoder_.allow_wide()
        return PromptPlayer(learner)

    def predict(self, row: object) -> float | Vector:
        """Return the probability of the second class, or one a class; changes nothing."""
        p = self.predict_many(row if type(row) is dict else [row])
        return p[0] if p.ndim == 2 else float(p[0])

    def predict_many(self, rows: object) -> Vector | Matrix:
        """Return each row's probability of the second class, or one a class; changes nothing.

        A category that was never learned from counts as none. Frames must have the columns that were learned from, and
        may have others, such as the label.
        """
        learner, X = self.learner_, self.encoder_.transform(rows)
        if plays_two_classes(learner):
            return learner.predict_many(_cut(X, learner.n_features_))
        assert knows_classes(learner)
        return learner.predict_many(_cut(X, learner.n_features_))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model as the command does; `aioli predict`, and `load`, read it."""
        learner = require_saves(self.learner_).snapshot()
        stream = self.encoder_.snapshot(self._label, self.labels_.snapshot())
        with os_errors_naming(path):
            write_snapshot(path, replace(learner, parts={**learner.parts, STREAM: stream}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` or `aioli run --save` wrote; it predicts rows, and goes on learning from more."""
        snapshot = read_snapshot(path)
        stream = snapshot.parts.get(STREAM)
        if stream is None or stream.kind != "FileStream":
            raise SnapshotRefused(f"{path}: does not say from which columns it was taught; load it with its learner")
        try:
            return cls._of(restore_any_learner(without_stream(snapshot)), stream)
        except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
            raise SnapshotRefused(f"{path}: {error}") from error

    @classmethod
    def _of(cls, learner: AnyLearner, stream: Snapshot) -> Self:
        model = cls()
        model.encoder_ = TableEncoder.restore(stream)
        model.labels_ = restore_labels(stream.part("labels"))
        model._label = stream.optional_text("label")
        model._player = PromptPlayer(learner)
        return model


def _cut(X: Features, width: int | None) -> Features:
    return X if width is None or X.shape[1] <= width else X[:, :width]


def _labels_of(y: object) -> Vector | Texts:
    """Return labels as the classes are told apart by: numbers as numbers, all else as texts."""
    values: Sequence[object] = list(np.asarray(y, dtype=object).ravel().tolist())
    column = column_of_values(values)
    if column.is_typed:
        return column.as_numbers("number", "")[0]
    return column.texts(label=True)


def _together(said: list[Vector]) -> Vector | Matrix:
    """Return announcements of blocks as one array; those of fewer classes have 0 for the ones that came later."""
    if all(p.ndim == 1 for p in said):
        return np.concatenate([np.empty(0), *said])
    matrices = [np.column_stack([1.0 - p, p]) if p.ndim == 1 else p for p in said]
    width = max(P.shape[1] for P in matrices)
    return np.concatenate([np.pad(P, ((0, 0), (0, width - P.shape[1]))) for P in matrices])
