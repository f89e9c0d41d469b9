"""What every learner can do."""

from typing import Protocol

from aioli.numerics.compiling import Vector

__all__ = ["Learner"]


class Learner(Protocol):
    """A learner of binary labels from a stream: it says a probability, then sees the label."""

    def predict(self, x: object) -> float:
        """The probability that the row's label is 1; changes nothing."""
        ...

    def learn(self, x: object, y: object) -> float:
        """Learn from the row and its label; returns the probability announced before the label."""
        ...

    def predict_many(self, X: object) -> Vector:
        """Each row's probability, as if it came next; changes nothing."""
        ...

    def learn_many(self, X: object, y: object) -> Vector:
        """Learn from the rows in order; returns each row's probability before its label."""
        ...
