"""Plays a stream from Python: predicts each row, then learns it, and yields the scores so far on the way."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from aioli.errors import ParameterRefused, RowRefused
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.delay import Delay
from aioli.evaluate.loop import Announced, Loop, Observer
from aioli.evaluate.run import single_player
from aioli.evaluate.scores import Accuracy, BaseRate, LogLoss, Score
from aioli.learners.protocol import (
    AnyLearner,
    certifies,
    knows_classes,
    plays_two_classes,
    require_any_learner,
)
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import ClassLabels
from aioli.states.certificate import Certificate
from aioli.streams.files.table import Csr, Features
from aioli.streams.matrices import is_sparse
from aioli.streams.protocol import Batch
from aioli.streams.rows import as_labels

__all__ = ["Checkpoint", "progressive"]


@dataclass(frozen=True)
class Checkpoint:
    """The learner's losses, accuracy and certificate over the first `rows` rows.

    Attributes
    ----------
    rows
        How many rows have been predicted, learned and scored.
    log_loss
        Mean log loss of what was announced before each label, in nats a row.
    base_rate
        The same of the running base rate, which looks at no column, and knows a label when the learner does.
    accuracy
        The part of rows whose label had the larger probability.
    certificate
        Nats of regret proven not to be exceeded by these rows; None where the learner has no certificate.
    """

    rows: int
    log_loss: float
    base_rate: float
    accuracy: float
    certificate: Certificate | None


def progressive(
    learner: AnyLearner,
    blocks: Iterable[tuple[object, ArrayLike]],
    delay: int | Delay = 0,
    every: int | None = None,
    scores: Sequence[Score | ClassScores] = (),
) -> Iterator[Checkpoint]:
    """Play a stream: each row is predicted before its label is learned; yields how it goes, as it goes.

    Blocks are cut where a checkpoint comes, so that all its figures are of the very same rows; what is learned depends
    neither on the size of blocks nor on the checkpoints. Nothing happens until the checkpoints are asked for.

    Parameters
    ----------
    blocks
        (X, y) pairs: rows, dense or sparse, and their labels 0/1, False/True or -1/+1; any labels, where the learner is
        one of many classes.
    delay
        How many further rows are predicted before a label comes; at 0 each row is learned before the next is
        predicted. `Delay(batch=500)` has the labels of 500 rows come together. A learner of late labels then learns
        from what it announced when the row came; another learns as if it said it now. A row counts once its label has
        come; those still out come when the rows end. The rows that wait are kept in memory.
    every
        A checkpoint every so many rows; None is at 1, 2, 4, 8, … rows. There is always one at the end.
    scores
        Further scores, to be fed with the same probabilities and labels, such as `AUC` and `Calibration`, or
        `ClassScores` of many classes.

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
    late = delay if isinstance(delay, Delay) else _delay_of_rows(delay)
    if every is not None and every < 1:
        raise ParameterRefused(
            f"every is {every}; it must be at least 1, or None for checkpoints that double",
            parameter="every",
            value=every,
        )
    given = require_any_learner(learner)
    loop = Loop(single_player(given, late if delay else None), [watching := Checkpoints(given, every, scores)])
    labels = None if plays_two_classes(given) else ClassLabels("any")

    def play() -> Iterator[Checkpoint]:
        for batch in _batches(blocks, labels):
            for _ in loop.play_batch(batch):
                yield from watching.new()
        for _ in loop.play_rest():
            yield from watching.new()
        yield from watching.new()

    return play()


def _delay_of_rows(rows: int) -> Delay:
    if rows < 0:
        raise ParameterRefused(f"delay is {rows}; it must be at least 0", parameter="delay", value=rows)
    return Delay(rows=rows)


class Checkpoints(Observer):
    """Scores the rows, and makes checkpoints where they are due and at the end."""

    def __init__(self, learner: AnyLearner, every: int | None, scores: Sequence[Score | ClassScores]) -> None:
        self._learner = learner
        self._every = every
        self._log_loss, self._base_rate, self._accuracy = LogLoss(), BaseRate(), Accuracy()
        self._late_base = LogLoss()  # of the base rate, where labels are late
        two: list[Score] = [score for score in scores if not isinstance(score, ClassScores)]
        self._scores = (self._log_loss, self._base_rate, self._accuracy, *two)
        declared = learner.classes_ if knows_classes(learner) and not learner.rounds else ()
        self._of_classes = ClassScores(declared, declared=bool(declared))
        self._tallies = (self._of_classes, *(score for score in scores if isinstance(score, ClassScores)))
        self._made: list[Checkpoint] = []
        self._last = 0  # rows of the last checkpoint
        self._next = self.due(0)

    def due(self, rows: int) -> int:
        """Return the rows of the next checkpoint."""
        return 1 << rows.bit_length() if self._every is None else (rows // self._every + 1) * self._every

    def played(self, announced: Announced, rows: int) -> None:
        """Score the rows; make a checkpoint if it is due."""
        if announced.classes is not None:
            for tally in self._tallies:
                tally.count(announced.p, announced.y, announced.base, announced.classes)
        else:
            for score in self._scores:
                score.update(announced.p, announced.y)
            if announced.base is not None:
                self._late_base.update(announced.base, announced.y)
        if rows == self._next:
            self._make(rows)

    def ended(self, rows: int) -> None:
        """Make the last checkpoint."""
        if rows > self._last:
            self._make(rows)

    def new(self) -> Iterator[Checkpoint]:
        """Yield the checkpoints made since the last call."""
        made, self._made = self._made, []
        yield from made

    def _make(self, rows: int) -> None:
        proven = self._learner.certificate() if certifies(self._learner) else None
        base = self._late_base if self._late_base.value == self._late_base.value else self._base_rate
        scores = self._log_loss.value, base.value, self._accuracy.value
        if (many := self._of_classes).rows:
            scores = many.log_loss, many.base_rate, many.accuracy
        self._made.append(Checkpoint(rows, *scores, proven))
        self._last, self._next = rows, self.due(rows)


@dataclass(frozen=True)
class _Counted:
    """Says where the rows of a block are: by their numbers in the stream, the first of which is given."""

    first: int
    path = ""

    def __call__(self, row: int) -> str:
        return f"row {self.first + row} of the stream"


def _batches(blocks: Iterable[tuple[object, ArrayLike]], many: ClassLabels | None) -> Iterator[Batch]:
    """Yield the blocks as matrices that can be cut, and labels 0.0 or 1.0, or the codes of many classes."""
    rows = 0
    for given, labels in blocks:
        X: Features = cast("Csr", given).tocsr() if is_sparse(given) else np.asarray(given)
        if X.ndim != 2:
            raise RowRefused(
                f"a block of shape {X.shape} came at row {rows}", remedy="give two dimensions: rows and columns"
            )
        where = _Counted(rows)
        try:
            y = as_labels(labels, X.shape[0]) if many is None else _codes(many, labels, X.shape[0])
        except RowRefused as error:
            place = f"the block that begins at row {rows} of the stream" if error.row is None else where(error.row)
            raise error.placed(place) from error
        rows += len(y)
        yield Batch(X, y, None, where, None, None if many is None else tuple(many.classes))


def _codes(many: ClassLabels, labels: object, count: int) -> Vector:
    codes, new = many.encode(labels, count)
    many.add(new)
    return codes.astype(np.float64)
