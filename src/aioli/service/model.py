"""Holds a model that is served: its learner, the encoding of its rows, its scores; it knows neither ids nor a store."""

import json
import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from aioli.errors import CapabilityMissing, LabelRefused, RowRefused, SnapshotRefused
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.evaluate.run import widen
from aioli.learners.announcements import Announcement
from aioli.learners.classes.announcements import ClassAnnouncements
from aioli.learners.protocol import (
    AnyLearner,
    Capability,
    Saves,
    knows_classes,
    plays_two_classes,
    saves,
)
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Label
from aioli.service.given_rows import GivenRow, as_json, is_object
from aioli.service.keyed import check_key, predict_keyed, restore_served_learner
from aioli.service.late_classes import learns_classes_late
from aioli.service.runs import announce_run, are_alike, learn_run, longest_run
from aioli.service.tally import Tally
from aioli.snapshots.json_values import JsonMapping
from aioli.snapshots.tree import Snapshot
from aioli.store.label_codec import LearnedLabel
from aioli.store.models import STREAM, without_stream
from aioli.store.row_codec import AnnouncedRow, AnyAnnouncement, RowKey
from aioli.streams.files.table import Features
from aioli.streams.row_encoder import RowEncoder

__all__ = ["Answer", "ServedModel"]

NUMBERS = {int, float}
TWO_LABELS: dict[object, int] = {0: 0, 1: 1, -1: 0}  # True and False are 1 and 0


class Answer(NamedTuple):
    """What was announced for a row: a probability, or one for each class that was known."""

    probability: float | None
    classes: Sequence[Label]
    probabilities: Sequence[float]


class ServedModel:
    """Announces rows and learns their labels when they come, some in one call; a restored one goes on bit for bit.

    Parameters
    ----------
    learner
        One that learns late and has snapshots, or a fleet, whose rows have keys.
    encoder
        How objects become rows; None where rows are numbers in order, or where the first row is to decide.
    labels
        What the two classes are called, the negative one first; None where labels are 0 and 1.
    """

    def __init__(
        self, learner: AnyLearner, encoder: RowEncoder | None = None, labels: tuple[Label, Label] | None = None
    ) -> None:
        late = Capability.LEARNS_LATE in learner.capabilities or isinstance(learner, KeyedLearner)
        if not late or not saves(learner):
            message = f"{type(learner).__name__} does not learn from labels that come late; use Auto or AIOLI"
            raise CapabilityMissing(message)
        if labels is not None and not plays_two_classes(learner):
            raise CapabilityMissing("a learner of many classes has their names itself; leave out labels")
        self.learner = learner
        self.encoder = encoder
        self.labels = labels
        self.width: int | None = learner.n_features_  # of a row, once one has come
        self.tally = Tally(lambda: self.learner)

    @property
    def rounds(self) -> int:
        """How many labels the learner has learned."""
        return self.learner.rounds

    @property
    def keyed(self) -> bool:
        """Whether rows have keys: the learner is a fleet."""
        return isinstance(self.learner, KeyedLearner)

    @property
    def model_count(self) -> int:
        """How many models a fleet has, one a key; 1 of any other learner."""
        learner = self.learner
        return len(learner.fleet) if isinstance(learner, KeyedLearner) else 1

    @property
    def label_count(self) -> int | None:
        """How many classes are known, of a learner of many; None of one of two."""
        learner = self.learner
        return len(learner.classes_) if knows_classes(learner) else None

    @property
    def longest_run(self) -> int:
        """How many rows may be announced in one call; the first row of all comes alone."""
        return 1 if self.width is None else longest_run(self.learner)

    @property
    def longest_run_of_labels(self) -> int:
        """How many labels may be learned in one call: not beyond the next point of the history."""
        return min(longest_run(self.learner), self.tally.labels_to_point)

    def announce_many(self, given: Sequence[GivenRow], keys: Sequence[RowKey | None]) -> list[AnnouncedRow]:
        """Return what the learner announces for rows, up to `longest_run`, with all that their labels will need.

        They go in one call; where objects bring new features, in several. Where one is refused, none was announced, but
        objects may have moved the encoder, and made the learner grow: then the caller restores the model.
        """
        for key in keys:
            check_key(self.learner, key)
        rows: list[Features] = []
        announced: list[AnnouncedRow] = []

        def announce() -> None:
            first = len(announced)
            part = slice(first, first + len(rows))
            announced.extend(self._announce(rows, given[part], keys[part]))
            rows.clear()

        for row in given:
            x = self._features(row)
            if rows and not are_alike(x, rows[0]):
                announce()
            rows.append(x)
        announce()
        return announced

    def predict(self, given: GivenRow, key: RowKey | None = None) -> Answer:
        """Return the probabilities of a row that nobody will tell the label of; changes nothing."""
        learner = self.learner
        check_key(learner, key)
        if is_object(given):
            encoder = RowEncoder() if self.encoder is None else RowEncoder.restore(self.encoder.snapshot())
            known = len(encoder.features) or None
            X = encoder.encode(given)
            x: Features = X[:, :known]  # what nobody has learned from says nothing
            x = x[0] if isinstance(x, np.ndarray) else x
        else:
            x = self._numbers(given)
        if isinstance(learner, KeyedLearner) and key is not None:
            return Answer(predict_keyed(learner, key, x), (), ())
        if plays_two_classes(learner):
            p = learner.predict(x) if isinstance(x, np.ndarray) else learner.predict_many(x).item(0)
            return Answer(float(p), (), ())
        assert learns_classes_late(learner)
        P = learner.predict(x) if isinstance(x, np.ndarray) else learner.predict_many(x)[0]
        return Answer(None, learner.classes_[: len(P)], P.tolist())

    def announce_again(self, rows: Sequence[AnnouncedRow]) -> int:
        """Announce rows of the log once more, in one call; return how many come out otherwise in any bit."""
        given = [json.loads(row.given) if row.given else row.numbers for row in rows]
        keys = [row.key for row in rows]
        again = self._announce([self._features(one) for one in given], given, keys)
        return sum(not _same(one.announced, row.announced) for one, row in zip(again, rows, strict=True))

    def learn_many(self, rows: Sequence[AnnouncedRow], labels: Sequence[LearnedLabel]) -> None:
        """Learn the labels, as `label_of` returned them, of rows that were announced: all in one call, or none."""
        width = max(self.width or 0, self.learner.n_features_ or 0)
        names, weights = [told.label for told in labels], [told.weight for told in labels]
        of_classes = learn_run(self.learner, rows, width, names, weights)
        if of_classes:
            for (P, classes), label in zip(of_classes, names, strict=True):
                self.tally.count_classes(P, label, classes)
        else:
            for row, label in zip(rows, names, strict=True):
                assert isinstance(row.announced, Announcement)
                self.tally.count(row.announced.probability, float(label), row.base)

    def label_of(self, label: object) -> Label:
        """Return a label as it is learned and kept: 0 or 1, or that of a class; any other is refused."""
        if not isinstance(label, str | int | float | bool) or (isinstance(label, float) and not math.isfinite(label)):
            raise LabelRefused("has a label that is no text, number or truth value", value=label, remedy="give one")
        if not plays_two_classes(self.learner):
            return int(label) if isinstance(label, float) and label.is_integer() else label
        if self.labels is not None and label in self.labels:
            return self.labels.index(label)
        if label not in TWO_LABELS:
            names = "0 and 1" if self.labels is None else f"{self.labels[0]!r} and {self.labels[1]!r}"
            raise LabelRefused(f"has the label {label!r}", value=label, remedy=f"the labels of this model are {names}")
        return TWO_LABELS[label]

    def answer_of(self, announced: AnyAnnouncement) -> Answer:
        """Return the probabilities of an announcement of this model, now or earlier."""
        if isinstance(announced, Announcement):
            return Answer(announced.probability, (), ())
        learner = self.learner
        assert learns_classes_late(learner)
        probabilities = announced.probabilities[0].tolist()
        return Answer(None, learner.classes_[: len(probabilities)], probabilities)

    def _features(self, given: GivenRow) -> Features:
        return self._encoded(given) if is_object(given) else self._numbers(given)

    def _encoded(self, given: JsonMapping) -> Features:
        if self.encoder is None:
            if self.width is not None:
                raise RowRefused("is an object", remedy=f"rows of this model are {self.width} numbers in order")
            self.encoder = RowEncoder()
        X = self.encoder.encode(given)
        return X[0] if isinstance(X, np.ndarray) else X

    def _numbers(self, given: GivenRow) -> Vector:
        if self.encoder is not None:
            raise RowRefused("is a list", remedy="rows of this model are objects of named values")
        if self.width is not None and len(given) != self.width:
            raise RowRefused(f"has {len(given)} columns", remedy=f"rows of this model have {self.width}")
        if not given or not set(map(type, given)) <= NUMBERS:
            raise RowRefused("is not a list of numbers", remedy="give numbers, or an object of named values")
        try:
            return np.array(given, np.float64)
        except OverflowError:
            raise RowRefused("has a number beyond all floats", remedy="scale the column") from None

    def _announce(
        self, rows: Sequence[Features], given: Sequence[GivenRow], keys: Sequence[RowKey | None]
    ) -> list[AnnouncedRow]:
        """Announce rows that are alike in one call."""
        width = rows[0].shape[-1]
        if self.encoder is not None:
            widen(self.learner, width, self.encoder.features)
        announced = announce_run(self.learner, rows, keys)
        self.width = width
        came = [as_json(one) if is_object(one) else b"" for one in given]
        base = self.tally.base
        parts = zip(rows, announced, came, keys, strict=True)
        return [AnnouncedRow(x, ticket, base, text, key, t > 0) for t, (x, ticket, text, key) in enumerate(parts)]

    def model_file(self) -> Snapshot:
        """Return what `aioli predict` and the learner's `load` read: the learner, and how its rows are read."""
        learner = self._saves().snapshot()
        parts = {} if self.encoder is None else {STREAM: self.encoder.snapshot()}
        return Snapshot(learner.kind, learner.values, learner.arrays, {**learner.parts, **parts})

    @classmethod
    def from_model_file(cls, snapshot: Snapshot) -> Self:
        """Make a model from what `aioli run --save` or a learner's `save` wrote."""
        learner, stream = restore_served_learner(without_stream(snapshot)), snapshot.parts.get(STREAM)
        if stream is None:
            return cls(learner)
        encoder = RowEncoder.restore(stream)
        names = encoder.labels.classes
        named = plays_two_classes(learner) and len(names) == 2 and names != ("0", "1")
        return cls(learner, encoder, (names[0], names[1]) if named else None)

    def snapshot(self) -> Snapshot:
        """Return all that the future depends on, but for the rows that wait, which the log holds."""
        values = {"labels": None if self.labels is None else list(self.labels), "width": self.width}
        parts = {"learner": self._saves().snapshot(), "tally": self.tally.snapshot()}
        if self.encoder is not None:
            parts["encoder"] = self.encoder.snapshot()
        return Snapshot("ServedModel", values, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal model, which goes on bit for bit the same."""
        given = snapshot.of("ServedModel")
        encoder = RowEncoder.restore(given.part("encoder")) if "encoder" in given.parts else None
        model = cls(restore_served_learner(given.part("learner")), encoder, _labels_in(given))
        model.width = given.optional_whole("width")
        model.tally = Tally.restore(given.part("tally"), lambda: model.learner)
        return model

    def _saves(self) -> Saves:
        assert saves(self.learner)
        return self.learner


def _labels_in(snapshot: Snapshot) -> tuple[Label, Label] | None:
    labels = snapshot.values.get("labels")
    if labels is None:
        return None
    if not isinstance(labels, Sequence) or isinstance(labels, str) or len(labels) != 2:
        raise SnapshotRefused(f"in a ServedModel, 'labels' is {labels!r}, not two labels")
    negative, positive = labels
    if not isinstance(negative, str | int | float) or not isinstance(positive, str | int | float):
        raise SnapshotRefused(f"in a ServedModel, 'labels' is {labels!r}, not two labels")
    return negative, positive


def _same(one: AnyAnnouncement, other: AnyAnnouncement) -> bool:
    if isinstance(one, Announcement) and isinstance(other, Announcement):
        mine, others = (np.empty(0) if each.memory is None else each.memory for each in (one, other))
        return one[:4] == other[:4] and np.array_equal(mine, others, equal_nan=True)
    assert isinstance(one, ClassAnnouncements)
    assert isinstance(other, ClassAnnouncements)
    return np.array_equal(one.logits, other.logits) and _same(one.tickets[0], other.tickets[0])
