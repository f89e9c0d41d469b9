"""The progressive loop of the library: predict each row, then learn it, and say how it goes, as it goes."""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from aioli.errors import ParameterRefused, RowRefused
from aioli.evaluate.loop import Alone, Announced, Loop, Observer
from aioli.evaluate.scores import Accuracy, BaseRate, LogLoss, Score
from aioli.learners.protocol import Learner, certifies, learns_late, require_learner
from aioli.numerics.logistic import sigmoid
from aioli.states.certificate import Certificate
from aioli.streams.files.table import Csr, Features
from aioli.streams.matrices import is_sparse
from aioli.streams.protocol import Batch
from aioli.streams.rows import as_labels

__all__ = ["Checkpoint", "progressive"]


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
    certificate: Certificate | None


def progressive(
    learner: Learner,
    blocks: Iterable[tuple[object, ArrayLike]],
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
        predicted. A learner of late labels then learns from what it said when the row came (`logit=`); another
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
        raise ParameterRefused(f"delay is {delay}; it must be at least 0", parameter="delay", value=delay)
    if every is not None and every < 1:
        raise ParameterRefused(
            f"every is {every}; it must be at least 1, or None for checkpoints that double",
            parameter="every",
            value=every,
        )
    player = Late(require_learner(learner), delay) if delay else Alone(require_learner(learner))
    watching = Checkpoints(learner, every, scores)
    loop = Loop(player, [watching])

    def play() -> Iterator[Checkpoint]:
        for batch in _batches(blocks):
            for _ in loop.play_batch(batch):
                yield from watching.new()
        for _ in loop.play_rest():
            yield from watching.new()
        yield from watching.new()

    return play()


class Checkpoints(Observer):
    """Scores the rows, and makes checkpoints where they are due and at the end."""

    def __init__(self, learner: Learner, every: int | None, scores: Sequence[Score]) -> None:
        self._learner = learner
        self._every = every
        self._log_loss, self._base_rate, self._accuracy = LogLoss(), BaseRate(), Accuracy()
        self._scores = (self._log_loss, self._base_rate, self._accuracy, *scores)
        self._made: list[Checkpoint] = []
        self._last = 0  # rows of the last checkpoint
        self._next = self.due(0)

    def due(self, rows: int) -> int:
        """Return the rows of the next checkpoint."""
        return 1 << rows.bit_length() if self._every is None else (rows // self._every + 1) * self._every

    def played(self, announced: Announced, rows: int) -> None:
        """Score the rows; make a checkpoint if it is due."""
        for score in self._scores:
            score.update(announced.p, announced.y)
        if rows == self._next:
            self._make(rows)

    def ended(self, rows: int) -> None:
        """Make the last checkpoint."""
        if rows > self._last:
            self._make(rows)

    def new(self) -> Iterator[Checkpoint]:
        """Yield the checkpoints that nobody has been given yet."""
        made, self._made = self._made, []
        yield from made

    def _make(self, rows: int) -> None:
        proven = self._learner.certificate() if certifies(self._learner) else None
        scores = self._log_loss.value, self._base_rate.value, self._accuracy.value
        self._made.append(Checkpoint(rows, *scores, proven))
        self._last, self._next = rows, self.due(rows)


class Late:
    """A player whose labels come late: row t is learned when row t + delay has been predicted. O(delay) memory."""

    def __init__(self, learner: Learner, delay: int) -> None:
        self._learner = learner
        self._delay = delay
        self._waiting: deque[tuple[Features, float, float, float]] = deque()

    def play(self, batch: Batch) -> Announced:
        """See `Player`."""
        assert batch.y is not None
        rounds = []
        for t, y in enumerate(batch.y.tolist()):
            # a copy, since the caller may write over the block by the time that the label comes
            x = (batch.X[t] if isinstance(batch.X, np.ndarray) else batch.X[t : t + 1]).copy()
            try:
                p, z = self._predicted(x)
            except RowRefused as error:
                raise RowRefused(
                    error.problem, row=t, column=error.column, value=error.value, remedy=error.remedy
                ) from error
            self._waiting.append((x, y, p, z))
            if len(self._waiting) > self._delay:
                rounds.append(self._hear())
        return _announced(rounds)

    def play_rest(self, rows: int) -> Announced:
        """See `Player`."""
        return _announced([self._hear() for _ in range(min(rows, len(self._waiting)))])

    def _predicted(self, x: Features) -> tuple[float, float]:
        """Return the probability, and the log-odds where the learner can learn from them later."""
        if not learns_late(self._learner):
            return self._learner.predict(x), math.nan
        z = self._learner.predict_logit(x)
        return sigmoid(z), z

    def _hear(self) -> tuple[float, float]:
        """Learn from the label that comes next; return what was announced for it, and the label."""
        x, y, p, z = self._waiting.popleft()
        if learns_late(self._learner):
            self._learner.learn(x, y, logit=z)
        else:
            self._learner.learn(x, y)
        return p, y


@dataclass(frozen=True)
class _Counted:
    """Says where the rows of a block are: by their numbers in the stream, the first of which is given."""

    first: int
    path = ""

    def __call__(self, row: int) -> str:
        return f"row {self.first + row} of the stream"


def _announced(rounds: list[tuple[float, float]]) -> Announced:
    p, y = np.array(rounds, dtype=np.float64).reshape(-1, 2).T.copy()
    return Announced(p, y)


def _batches(blocks: Iterable[tuple[object, ArrayLike]]) -> Iterator[Batch]:
    """Yield the blocks as matrices that can be cut, and labels 0.0 or 1.0."""
    rows = 0
    for given, labels in blocks:
        X: Features = cast("Csr", given).tocsr() if is_sparse(given) else np.asarray(given)
        if X.ndim != 2:
            raise RowRefused(
                f"a block of shape {X.shape} came at row {rows}", remedy="give two dimensions: rows and columns"
            )
        where = _Counted(rows)
        try:
            y = as_labels(labels, X.shape[0])
        except RowRefused as error:
            place = f"the block that begins at row {rows} of the stream" if error.row is None else where(error.row)
            raise error.placed(place) from error
        rows += len(y)
        yield Batch(X, y, None, where)
