"""Plays one learner whose labels come at once, of two classes or of more."""

import math

import numpy as np

from aioli.errors import CapabilityMissing
from aioli.evaluate.class_rows import before_third_class, labels_of
from aioli.evaluate.loop import NOTHING, Announced, part_of_batch
from aioli.learners.protocol import AnyLearner, ClassLearner, Learner, knows_classes, plays_two_classes, weighs
from aioli.numerics.compiling import Vector
from aioli.streams.protocol import Batch

__all__ = ["PromptPlayer", "learn_batch", "weights_refused"]


class PromptPlayer:
    """Plays one learner, whose labels come at once.

    A learner of two classes is replaced by one of any number of classes when the third label comes, which goes on from
    what the first has learned.

    Parameters
    ----------
    some_unlabelled
        Whether a label that is NaN is that of a row which is predicted only; otherwise the learner refuses it.
    """

    def __init__(self, learner: AnyLearner, some_unlabelled: bool = False) -> None:
        self.learner = learner
        self._some_unlabelled = some_unlabelled

    def play(self, batch: Batch, room: int) -> tuple[int, Announced]:
        """See `Player`. Rows with and without labels are played apart, in their order."""
        assert batch.y is not None
        rows = min(len(batch.y), room)
        if self._some_unlabelled and math.isnan(batch.y[:rows].sum()):
            missing = np.isnan(batch.y[:rows])
            changes = np.flatnonzero(missing != missing[0])
            rows = int(changes[0]) if changes.size else rows
            if missing[0]:
                return rows, self._predicted(part_of_batch(batch, slice(0, rows)))
        if batch.classes is not None and len(batch.classes) > 2 and plays_two_classes(self.learner):
            self.learner, rows = before_third_class(self.learner, batch, rows)
        piece = part_of_batch(batch, slice(0, rows))
        assert piece.y is not None
        if plays_two_classes(self.learner):
            return rows, Announced(self._learned(piece), piece.y, keys=piece.keys)
        assert knows_classes(self.learner)
        return rows, learn_classes(self.learner, piece)._replace(keys=piece.keys)

    def _predicted(self, piece: Batch) -> Announced:
        """Return what is said of rows that have no label."""
        assert piece.y is not None
        classes = tuple(self.learner.classes_) if knows_classes(self.learner) else None
        return Announced(self._said(piece), piece.y, None, classes, piece.keys)

    def _learned(self, piece: Batch) -> Vector:
        """Learn rows of two classes; return each row's probability before its label."""
        assert plays_two_classes(self.learner)
        return learn_batch(self.learner, piece)

    def _said(self, piece: Batch) -> Vector:
        """Return the probabilities of rows."""
        return self.learner.predict_many(piece.X)

    def play_rest(self, rows: int) -> Announced:  # noqa: ARG002  (a player's signature)
        """Return nothing: no label is late."""
        return NOTHING


def learn_batch(learner: Learner, batch: Batch) -> Vector:
    """Learn the rows; return each row's probability before its label. Weights are refused where none can be taken."""
    if batch.weights is None:
        return learner.learn_many(batch.X, batch.y)
    if not weighs(learner):
        raise weights_refused(learner)
    return learner.learn_many(batch.X, batch.y, batch.weights)


def learn_classes(learner: ClassLearner, batch: Batch) -> Announced:
    """Learn rows of any number of classes; return their probabilities and the numbers of the classes that came."""
    labels = labels_of(batch)
    if batch.weights is None:
        P = learner.learn_many(batch.X, labels)
    elif weighs(learner):
        P = learner.learn_many(batch.X, labels, batch.weights)
    else:
        raise weights_refused(learner)
    classes = tuple(learner.classes_)
    place = {label: float(k) for k, label in enumerate(classes)}
    return Announced(P, np.array([place[label] for label in labels]), None, classes)


def weights_refused(learner: AnyLearner) -> CapabilityMissing:
    """Return the refusal of weights by a learner that takes none."""
    return CapabilityMissing(
        f"weights came, but {type(learner).__name__} takes none; use Auto or AIOLI (nothing was learned)"
    )
