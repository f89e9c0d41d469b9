"""Plays a learner of K declared classes whose labels come late."""

from dataclasses import replace

import numpy as np

from aioli.errors import CapabilityMissing, LabelRefused
from aioli.evaluate.delay import Delay
from aioli.evaluate.delayed import LatePlayer
from aioli.evaluate.loop import Announced
from aioli.evaluate.prompt_player import weights_refused
from aioli.evaluate.score_functions import SMOOTHING
from aioli.evaluate.waiting_rows import Block, Tickets
from aioli.learners.classes.announcements import ClassAnnouncements
from aioli.learners.classes.base import PlaysClasses
from aioli.learners.protocol import ClassLearner, weighs
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Label
from aioli.streams.files.table import Features
from aioli.streams.protocol import Batch
from aioli.streams.rows import CheckedRows

__all__ = ["DelayedClassPlayer"]


class DelayedClassPlayer(LatePlayer):
    """Plays one learner of K classes whose labels come late; the classes are those that it was told beforehand.

    Where classes were not declared, a row would be announced before its class is known at all: nothing could be said of
    it, and nothing scored.
    """

    def __init__(self, learner: ClassLearner, delay: Delay) -> None:
        super().__init__(delay)
        if not isinstance(learner, PlaysClasses) or learner.escape > 0.0:
            raise CapabilityMissing(
                'labels that come late are for classes that are told beforehand; name them, such as --classes "ant,bee"'
            )
        self.learner: PlaysClasses[CheckedRows] = learner
        self._classes: list[Label] = learner.classes_
        self._code = {label: float(k) for k, label in enumerate(self._classes)}

    @property
    def _width(self) -> int | None:
        return self.learner.n_features_

    def play(self, batch: Batch, room: int) -> tuple[int, Announced]:
        """See `Player`. Labels are known by the learner's codes from here on."""
        return super().play(self._in_own_codes(batch), room)

    def _in_own_codes(self, batch: Batch) -> Batch:
        """Return the batch with the learner's codes in place of the stream's; a class that was not told is refused."""
        assert batch.y is not None
        names = (0, 1) if batch.classes is None else batch.classes
        places = np.array([self._code.get(name, -1.0) for name in names])
        known = ~np.isnan(batch.y)
        y = np.full(len(batch.y), np.nan)
        y[known] = places[batch.y[known].astype(np.int64)]
        if (y == -1.0).any():
            row = int(np.argmax(y == -1.0))
            label = names[int(batch.y[row])]
            remedy = "declare it too"
            raise LabelRefused(f"the label is {label!r}, none of the classes", row=row, value=label, remedy=remedy)
        return replace(batch, y=y, classes=self._classes)

    def _announce_rows(self, X: Features) -> tuple[Tickets | None, Matrix]:
        tickets = self.learner.announce_many(X)
        return tickets, tickets.probabilities

    def _learn(self, block: Block) -> None:
        assert isinstance(block.tickets, ClassAnnouncements)
        labels = [self._classes[code] for code in block.y.astype(np.int64).tolist()]
        if block.weights is not None and not weighs(self.learner):
            raise weights_refused(self.learner)
        self.learner.learn_many(block.X, labels, block.weights, announced=block.tickets)

    def _base(self, y: Vector) -> Vector:
        """Return what the running shares of the classes give to each row's own label; 1 where none will come."""
        came = np.zeros(len(self._classes))
        came[: self.waiting.came.size] = self.waiting.came[: came.size]
        shares = (came + SMOOTHING) / (came.sum() + SMOOTHING * came.size)
        return np.where(np.isnan(y), 1.0, shares[np.nan_to_num(y).astype(np.int64)])

    def _told(self, p: Matrix, y: Vector, base: Vector | None = None) -> Announced:
        return Announced(p, y, base, tuple(self._classes))
