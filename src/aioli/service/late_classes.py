"""Names the learners of many classes that a service can play: those that learn from what they announced."""

from typing import Protocol, TypeGuard

from aioli.learners.classes.announcements import ClassAnnouncements, LateClasses
from aioli.learners.protocol import AnyLearner, Capability, ClassLearner
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["LateClassLearner", "learns_classes_late"]


class LateClassLearner(ClassLearner, Protocol):
    """A learner of any number of classes that learns from what it announced when the row came."""

    def announce(self, x: object) -> ClassAnnouncements:
        """Return the probabilities of `predict` and all that the label will need."""

    def announce_many(self, X: object) -> ClassAnnouncements:
        """Return what `announce` does, for every row."""

    def learn(
        self, x: object, y: object, weight: float = 1.0, logits: object = None, announced: LateClasses = None
    ) -> Vector:
        """Learn from the row, for which `announced` was announced."""

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateClasses = None
    ) -> Matrix:
        """Learn from the rows in order, for which `announced` were announced."""


def learns_classes_late(learner: AnyLearner) -> TypeGuard[LateClassLearner]:
    """Return whether the learner is one of any number of classes that learns late."""
    return {Capability.CLASSES, Capability.LEARNS_LATE} <= learner.capabilities
