"""The progressive loop: predict each row, then learn it, and say how it goes, in memory that does not grow."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from aioli.evaluate.scores import Accuracy, BaseRate, LogLoss, Score
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid
from aioli.streams.matrices import is_sparse
from aioli.streams.rows import as_labels

__all__ = ["Checkpoint", "progressive"]

HELD = 1024  # late rounds handed on together, so that a score is called once for all of them


@dataclass(frozen=True)
class Checkpoint:
    """How the learner has done by now.

    Attributes
    ----------
    rows
        How many rows have been predicted, learned and scored.
    log_loss
        Mean log loss of what was announced before each label, in nats a row.
    base_rate
        The same of the running base rate, which looks at no column. It hears labels at once, even where they are late.
    accuracy
        The part of rows whose label had the larger probability.
    certificate
        Nats of regret proven not to be exceeded by these rows; None where the learner has no certificate.
    """

    rows: int
    log_loss: float
    base_rate: float
    accuracy: float
    certificate: float | None


@runtime_checkable
class Remembers(Protocol):
    """A learner that can learn from what it said when the row came."""

    def predict_logit(self, x: object, /) -> float:
        """The log-odds of `predict`."""
        ...

    def learn(self, x: object, y: object, *, logit: float) -> float:
        """Learn from a late label."""
        ...


def progressive(
    learner: Learner,
    blocks: Iterable[tuple[Any, Any]],
    delay: int = 0,
    every: int | None = None,
    scores: Sequence[Score] = (),
) -> Iterator[Checkpoint]:
    """Play a stream: each row is predicted before its label is learned; yields how it goes, as it goes.

    Blocks are cut where a checkpoint comes, so that all its figures are of the very same rows; what is learned depends
    neither on the size of blocks nor on the checkpoints. Nothing happens until the checkpoints are asked for.

    Parameters
    ----------
    blocks
        (X, y) pairs: rows, dense or sparse, and their labels 0/1, False/True or -1/+1.
    delay
        How many further rows are predicted before a label comes; at 0 each row is learned before the next is
        predicted. A learner with `predict_logit` then learns from what it said when the row came (`logit=`); another
        learns as if it said it now. A row counts once its label has come; those still out come when the rows end.
    every
        A checkpoint every so many rows; None is at 1, 2, 4, 8, … rows. There is always one at the end.
    scores
        Further scores, to be fed with the same probabilities and labels, such as `AUC` and `Calibration`.

    Examples
    --------
    >>> from aioli import AIOLI
    >>> from aioli.evaluate.scores import AUC
    >>> from aioli.streams.synthetic import named
    >>> auc = AUC()
    >>> for point in progressive(AIOLI(), named("logistic").blocks(20_000, seed=0), every=8000, scores=[auc]):
    ...     print(f"{point.rows:5} {point.log_loss:.3f} {point.base_rate:.3f} regret ≤ {point.certificate:.0f}")
     8000 0.284 0.694 regret ≤ 100
    16000 0.289 0.693 regret ≤ 113
    20000 0.290 0.693 regret ≤ 117
    >>> print(f"{auc.value:.3f} ± {auc.error:.4f}")
    0.948 ± 0.0001
    """
    if delay < 0:
        raise ValueError(f"delay is {delay}; it must be at least 0")
    if every is not None and every < 1:
        raise ValueError(f"every is {every}; it must be at least 1, or None for checkpoints that double")

    def due_after(rows: int) -> int:
        return 1 << rows.bit_length() if every is None else (rows // every + 1) * every

    checked = _checked(blocks)
    late = _gathered(_play_late(learner, checked, delay), due_after)
    return _checkpoints(learner, late if delay else _play(learner, checked, due_after), due_after, scores)


def _checkpoints(
    learner: Learner, played: Iterator[tuple[Vector, Vector]], due_after: Callable[[int], int], scores: Sequence[Score]
) -> Iterator[Checkpoint]:
    log_loss, base_rate, accuracy = LogLoss(), BaseRate(), Accuracy()
    rows, reported = 0, 0
    certificate: Any = getattr(learner, "certificate", None)

    def checkpoint() -> Checkpoint:
        proven = certificate() if callable(certificate) else None
        return Checkpoint(rows, log_loss.value, base_rate.value, accuracy.value, proven)

    for p, y in played:
        for score in (log_loss, base_rate, accuracy, *scores):
            score.update(p, y)
        due = due_after(rows)
        rows += len(y)
        if rows == due:
            yield checkpoint()
            reported = rows
    if rows > reported:
        yield checkpoint()


def _play(
    learner: Learner, blocks: Iterator[tuple[Any, Vector]], due_after: Callable[[int], int]
) -> Iterator[tuple[Vector, Vector]]:
    """The game at once: probabilities before the labels, and the labels, in pieces that end where checkpoints are."""
    rows = 0
    for X, y in blocks:
        start = 0
        while start < len(y):
            piece = slice(start, min(len(y), start + due_after(rows) - rows))
            with _counting_from(rows):
                p = learner.learn_many(X[piece], y[piece])
            rows += piece.stop - start
            start = piece.stop
            yield p, y[piece]


def _play_late(learner: Learner, blocks: Iterator[tuple[Any, Vector]], delay: int) -> Iterator[tuple[float, float]]:
    """The game with late labels: row t's is learned when row t + delay has been predicted. O(delay) memory."""
    remembers = learner if isinstance(learner, Remembers) else None
    waiting: deque[tuple[Any, float, float, float]] = deque()
    rows = 0

    def hear() -> tuple[float, float]:
        x, y, p, z = waiting.popleft()
        if remembers is None:
            learner.learn(x, y)
        else:
            remembers.learn(x, y, logit=z)
        return p, y

    for X, labels in blocks:
        for t, y in enumerate(labels):
            x = (X[t] if isinstance(X, np.ndarray) else X[t : t + 1]).copy()  # the block may be written over by then
            with _counting_from(rows):
                z = math.nan if remembers is None else remembers.predict_logit(x)
                p = learner.predict(x) if remembers is None else sigmoid(z)
            waiting.append((x, float(y), p, z))
            rows += 1
            if len(waiting) > delay:
                yield hear()
    while waiting:
        yield hear()


def _gathered(
    rounds: Iterator[tuple[float, float]], due_after: Callable[[int], int]
) -> Iterator[tuple[Vector, Vector]]:
    """Single rounds in pieces that end where checkpoints are."""
    said: list[float] = []
    heard: list[float] = []
    for rows, (p, y) in enumerate(rounds):
        said.append(p)
        heard.append(y)
        if rows + 1 == due_after(rows) or len(said) == HELD:
            yield np.array(said), np.array(heard)
            said, heard = [], []
    if said:
        yield np.array(said), np.array(heard)


def _checked(blocks: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Vector]]:
    """The blocks as matrices that can be cut, and labels 0.0 or 1.0."""
    rows = 0
    for given, labels in blocks:
        X: Any = cast(Any, given).tocsr() if is_sparse(given) else np.asarray(given)
        if X.ndim != 2:
            raise ValueError(f"a block of shape {X.shape} came at row {rows}; give two dimensions: rows and columns")
        with _counting_from(rows):
            y = as_labels(labels, X.shape[0])
        rows += len(y)
        yield X, y


@contextmanager
def _counting_from(row: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"counting from row {row} of the stream: {error}") from error
