"""Plays a stream once and records all that the displays draw."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aioli.errors import ParameterRefused
from aioli.evaluate.history import Point
from aioli.evaluate.sums import Scores
from aioli.learners.protocol import Learner, certifies, mixes, names_columns, require_learner
from aioli.numerics.compiling import Vector
from aioli.streams.files.table import Features
from aioli.streams.matrices import as_matrix, names_in
from aioli.streams.rows import as_labels

__all__ = ["RecordedRun", "record_run"]


@dataclass(frozen=True)
class RecordedRun:
    """A stream that a learner has played: what it announced for each row, and how it stood on the way.

    Attributes
    ----------
    learner
        The learner, after the last row.
    rows
        The rows, as a matrix.
    p, y
        Each row's probability before its label, and the label, 0.0 or 1.0.
    points
        Losses, certificate and shares after so many rows.
    """

    learner: Learner
    rows: Features
    p: Vector
    y: Vector
    points: Sequence[Point]


def record_run(learner: object, X: object, y: object, points: int = 64) -> RecordedRun:
    """Let a learner of two classes play the rows in order, and return what the displays draw.

    The learner learns: it is the same game as `learn_many`, bit for bit.

    Parameters
    ----------
    points
        How many equally long pieces to look at, beside the first 1, 2, 4, … rows.
    """
    given = require_learner(learner)
    if type(points) is not int or points < 1:
        raise ParameterRefused.unlike("points", points, "a whole number of at least 1")
    names = names_in(X)
    rows: Features = as_matrix(X, width=given.n_features_, names=None, single=False)
    labels = as_labels(y, rows.shape[0])
    p, scores = np.empty(len(labels)), Scores()
    recorded: list[Point] = []
    before = 0
    for after in _looks(len(labels), points):
        piece = slice(before, after)
        p[piece] = given.learn_many(rows[piece], labels[piece])
        if before == 0 and names is not None and names_columns(given):
            given.feature_names_ = names
        nats = scores.nats
        scores.count(p[piece], labels[piece])
        recorded.append(_point(given, scores, (scores.nats - nats) / (after - before)))
        before = after
    return RecordedRun(given, rows, p, labels, recorded)


def _looks(rows: int, points: int) -> list[int]:
    """Return after how many rows to look: 1, 2, 4, … and the ends of equal pieces."""
    doubling = [1 << k for k in range(rows.bit_length()) if 1 << k <= rows // points]
    return sorted({*doubling, *(max(1, round(rows * k / points)) for k in range(1, points + 1))})


def _point(learner: Learner, scores: Scores, recent: float) -> Point:
    return Point(
        scores.rows,
        scores.log_loss,
        recent,
        scores.base_rate,
        certificate=float(learner.certificate()) if certifies(learner) else None,
        weights=dict(learner.weights_) if mixes(learner) else None,
    )
