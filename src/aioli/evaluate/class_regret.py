"""Finds the regret of a run of K classes in hindsight, by a second pass over the stream where that is affordable."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from aioli.evaluate.class_hindsight import best_in_class_ball, classes_seen
from aioli.evaluate.class_rows import labels_of
from aioli.evaluate.hindsight import best_in_ball
from aioli.evaluate.history import Point
from aioli.evaluate.regret import LEAST_ROWS
from aioli.learners.classes.class_aioli import ClassAIOLI
from aioli.learners.classes.class_auto import ClassAuto
from aioli.learners.protocol import ClassLearner
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.base_views import BaseViews
from aioli.streams.protocol import Batch, labelled_rows

__all__ = ["with_class_regret"]

AFFORDABLE = 2e8  # products that a step of Newton's method may take: n(K-1)²d² for a softmax, nKd² for K games of two
POINTS = 7  # what all points of a history cost beside the last


def with_class_regret(
    history: list[Point], again: Iterable[Batch], learner: ClassLearner, width: int, *, two_first: bool
) -> list[Point]:
    """Return the history with the regret at its points, or at the last alone, against the certificate's own models.

    Parameters
    ----------
    again
        The batches of the stream from its beginning.
    two_first
        Whether two classes were known from the first row on, and others came.
    """
    if not history or not isinstance(learner, (ClassAIOLI, ClassAuto)):
        return history
    proven = learner.certificate()
    rows, K = history[-1].rows, len(learner.classes_)
    softmax = isinstance(learner, ClassAIOLI)
    cost = rows * (K - 1.0) ** 2 * (width + 1.0) ** 2 if softmax else rows * K * (width + 1.0) ** 2
    if cost > AFFORDABLE or not _can_be_had(learner, proven.against) or not math.isfinite(proven.radius):
        return history
    found = _gathered(again, learner, width)
    if found is None:
        return history
    X, codes = found
    opened = learner.escape > 0.0

    def best(count: int) -> float:
        if softmax:
            seen = np.maximum(classes_seen(codes[:count]), 2 if two_first else 1) if opened else None
            held = bool(learner.intercept) if isinstance(learner, ClassAIOLI) else False
            return best_in_class_ball(X[:count], codes[:count], K, proven.radius, intercept=held, seen=seen).loss
        return _games_of_two(X[:count], codes[:count], K, proven.radius, opened)

    if not softmax:
        X = BaseViews(width).of_rows(X)[0]
    every = POINTS * cost <= AFFORDABLE
    return [
        replace(point, regret=point.rows * point.log_loss - best(point.rows))
        if point.log_loss is not None and point.rows >= LEAST_ROWS and (every or point is history[-1])
        else point
        for point in history
    ]


def _can_be_had(learner: ClassAIOLI | ClassAuto, against: str) -> bool:
    """Return whether the certificate's models are one softmax, or one model a class of the standard view."""
    return against == "" if isinstance(learner, ClassAIOLI) else against == learner.against_rest


def _games_of_two(X: Matrix, codes: Codes, classes: int, radius: float, opened: bool) -> float:
    """Return the losses of the best model of each class, scored as games of two.

    Where classes appear, the game of class k begins with the first row of class k - 1: from there on it was played as
    the unseen class.
    """
    total = 0.0
    for k in range(classes):
        first = int(np.argmax(codes == k - 1)) if opened and k else 0
        if not opened or (codes == k).any():
            total += best_in_ball(X[first:], codes[first:] == k, math.sqrt(2.0) * radius, intercept=False).loss
    return total


def _gathered(again: Iterable[Batch], learner: ClassLearner, width: int) -> tuple[Matrix, Codes] | None:
    """Return all rows and the learner's codes of their labels; None where rows have weights."""
    place = {label: k for k, label in enumerate(learner.classes_)}
    rows, codes = [], list[int]()
    for batch in map(labelled_rows, again):
        if batch.weights is not None:
            return None
        X = batch.X if isinstance(batch.X, np.ndarray) else batch.X.toarray()
        rows.append(np.pad(X, ((0, 0), (0, width - X.shape[1]))))
        codes += [place[label] for label in labels_of(batch)]
    return np.concatenate(rows), np.array(codes, np.int64)
