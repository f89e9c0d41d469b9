"""The places of the classes in what a learner announces: the known ones first, then that of all unseen ones."""

from dataclasses import dataclass

__all__ = ["ClassPlaces"]


@dataclass(frozen=True)
class ClassPlaces:
    """Hold how many classes are known, and how many places behind them stand for classes that nobody has seen.

    A row that brings a class is learned at the place of the unseen ones, once another has been made behind it: a new
    class begins with what has been learned of unseen ones.

    >>> ClassPlaces(known=2, unseen=1).count
    3
    """

    known: int
    unseen: int = 0  # 1 where classes may appear, else 0

    @property
    def count(self) -> int:
        """How many places there are."""
        return self.known + self.unseen
