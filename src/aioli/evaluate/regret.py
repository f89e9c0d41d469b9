"""Finds the regret of a run in hindsight, by a second pass over the stream where memory can hold it."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.evaluate.history import Point
from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.learners.batch.online_to_batch import OnlineToBatch
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.mixture.views import Views
from aioli.streams.protocol import Batch

__all__ = ["AFFORDABLE", "with_regret"]

AFFORDABLE = 4_000_000  # numbers that the comparator may hold in memory, and go through some hundred times
LEAST_ROWS = 16  # before that there is little to regret


def with_regret(history: list[Point], again: Iterable[Batch], learner: Learner, width: int) -> list[Point]:
    """Return the history with the regret at each of its points, against the ball of the learner's certificate.

    `again` are the batches of the stream from its beginning. Without a certificate, or beyond what is affordable,
    there is none.
    """
    if isinstance(learner, OnlineToBatch):  # what it announces, and certifies, is its learner's
        learner = learner.learner_
    if not isinstance(learner, (AIOLI, Auto)) or not history or history[-1].rows * width > AFFORDABLE:
        return history
    expert = learner.certifying_expert if isinstance(learner, Auto) else None
    if isinstance(learner, Auto) and expert is None:
        return history  # its ball is not one of linear models of the columns, or of their views
    rows, labels, weights = _gathered(again, width)
    radius = learner.certificate().radius
    intercept = isinstance(learner, AIOLI) and bool(learner.intercept)
    if expert is not None:  # a model of a mixture's expert sees the rows as that expert did
        rows, intercept = Views(width).of_rows(rows)[expert.kind], False
    filled = []
    for point in history:
        if point.rows >= LEAST_ROWS and point.log_loss is not None:
            part = slice(point.rows)
            stakes = None if weights is None else weights[part]
            best = best_in_ball(rows[part], labels[part], radius, intercept=intercept, weights=stakes)
            point = replace(point, regret=point.rows * point.log_loss - best.loss)
        filled.append(point)
    return filled


def _gathered(again: Iterable[Batch], width: int) -> tuple[Matrix, Vector, Vector | None]:
    rows, labels, weights = [], [], []
    for batch in again:
        X = batch.X if isinstance(batch.X, np.ndarray) else batch.X.toarray()
        rows.append(np.pad(X, ((0, 0), (0, width - X.shape[1]))))
        assert batch.y is not None
        labels.append(batch.y)
        if batch.weights is not None:
            weights.append(batch.weights)
    return np.concatenate(rows), np.concatenate(labels), np.concatenate(weights) if weights else None
