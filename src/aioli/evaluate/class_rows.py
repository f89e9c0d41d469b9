"""Brings rows of classes to a learner: names their labels, and turns a learner of two when a third class comes."""

import numpy as np

from aioli.errors import LabelRefused
from aioli.learners.protocol import AnyLearner, Learner, TurnsToClasses
from aioli.outcomes.class_labels import Label
from aioli.streams.protocol import Batch

__all__ = ["before_third_class", "labels_of"]


def labels_of(batch: Batch) -> list[Label]:
    """Return the label of every row; where the batch does not name its classes, they are 0 and 1."""
    assert batch.y is not None
    names = (0, 1) if batch.classes is None else batch.classes
    return [names[code] for code in batch.y.astype(np.int64).tolist()]


def before_third_class(learner: Learner, batch: Batch, rows: int) -> tuple[AnyLearner, int]:
    """Return the learner for the first rows of a batch, and how many it is to play.

    It is the learner of two classes for the rows before the third class; where the first row is of one, it is the
    learner of many classes that goes on from it. A learner that cannot is refused, with an alternative.
    """
    assert batch.y is not None
    assert batch.classes is not None
    third = np.flatnonzero(batch.y[:rows] > 1.0)
    if not third.size:
        return learner, rows
    if third[0]:
        return learner, int(third[0])
    if not isinstance(learner, TurnsToClasses):
        label = batch.classes[int(batch.y[0])]
        raise LabelRefused(
            f"the label is {label!r}, besides {batch.classes[0]!r} and {batch.classes[1]!r}; {type(learner).__name__} "
            "is for two classes",
            row=0,
            value=label,
            remedy="use Auto or AIOLI, or keep the rows of two classes",
        )
    return learner.with_classes(batch.classes[0], batch.classes[1]), rows
