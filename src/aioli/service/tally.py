"""Scores a served model over time: what a run keeps, counted label by label as labels are learned."""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.history import History, Point
from aioli.evaluate.loop import Announced
from aioli.evaluate.score_functions import SMOOTHING
from aioli.evaluate.scoring import Scoring
from aioli.evaluate.sums import LateScores
from aioli.evaluate.windows import Change, Windows, change_points
from aioli.learners.protocol import AnyLearner, knows_classes
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Label
from aioli.snapshots.tree import Snapshot
from aioli.store.points import plain_point, points_from

__all__ = ["Tally"]

AT_ONCE = 256  # labels that are gathered before they are counted


class Tally:
    """Counts what was announced and which labels came; equal games have equal tallies, however often one looks.

    Parameters
    ----------
    learner
        Returns the learner that plays.
    """

    def __init__(self, learner: Callable[[], AnyLearner]) -> None:
        playing = learner()
        declared = playing.classes_ if knows_classes(playing) and not playing.rounds else ()
        self._scoring = Scoring(threaded=False, late=True, declared=declared)
        self._history = History(learner, self._scoring)
        self.heard = self.ones = 0
        self._counted = 0
        self._p: list[float] = []
        self._y: list[float] = []
        self._base: list[float] = []
        self._due = self._history.due(0)

    @property
    def base(self) -> float:
        """The probability of a 1 by the running base rate of the labels learned so far."""
        return (self.ones + SMOOTHING) / (self.heard + 2.0 * SMOOTHING)

    @property
    def labels_to_point(self) -> int:
        """How many labels come up to the next point of the history."""
        return self._due - self.heard

    def count(self, p: float, y: float, base: float) -> None:
        """Take in a label of two classes, with what was announced for it."""
        self._p.append(p)
        self._y.append(y)
        self._base.append(base)
        self.heard += 1
        self.ones += y == 1.0
        if self.heard == self._due or len(self._p) == AT_ONCE:
            self._gather()

    def count_classes(self, P: Vector, label: Label, classes: Sequence[Label]) -> None:
        """Take in a label of any number of classes, with the probabilities announced for it."""
        self.heard += 1
        codes = np.array([float(list(classes).index(label))])
        self._tell(Announced(P[None, :], codes, None, tuple(classes)))

    def _gather(self) -> None:
        if self._p:
            piece = Announced(np.array(self._p), np.array(self._y), np.array(self._base))
            self._p, self._y, self._base = [], [], []
            self._tell(piece)

    def _tell(self, piece: Announced) -> None:
        self._counted += len(piece.y)
        self._scoring.played(piece, self._counted)
        self._history.played(piece, self._counted)
        self._due = self._history.due(self._counted)

    @property
    def scores(self) -> LateScores | ClassScores:
        """The scores of all labels so far."""
        self._gather()
        scores = self._scoring.scores
        assert isinstance(scores, LateScores | ClassScores)
        return scores

    @property
    def windows(self) -> Windows:
        """The labels so far in equal windows, of games of two classes."""
        self._gather()
        return self._scoring.windows

    @property
    def history(self) -> list[Point]:
        """How it stood at points that double in four steps, and how it stands now."""
        self._gather()
        return self._history.up_to(self._counted)

    def changes(self) -> list[Change]:
        """Return where the loss has changed by a step: drift."""
        return change_points(self.windows.list())

    def snapshot(self) -> Snapshot:
        """Return what was counted."""
        parts = {"scores": self.scores.snapshot(), "windows": self.windows.snapshot()}
        points = [plain_point(point) for point in self._history.points]
        return Snapshot("Tally", {"heard": self.heard, "ones": self.ones, "history": points}, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot, learner: Callable[[], AnyLearner]) -> Self:
        """Make an equal tally, which goes on from what was counted."""
        given = snapshot.of("Tally")
        tally = cls(learner)
        tally.heard, tally.ones = given.whole("heard"), given.whole("ones")
        tally._counted = tally.heard
        scores = given.part("scores")
        kind = ClassScores if scores.kind == ClassScores.__name__ else LateScores
        tally._scoring.scores = kind.restore(scores)
        tally._scoring.windows = Windows.restore(given.part("windows"))
        tally._history.points = points_from(given.values.get("history"), "Tally")
        tally._due = tally._history.due(tally.heard)
        return tally
