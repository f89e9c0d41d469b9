"""The class that stands for all that nobody has seen: its share of a row, its place, and what a first meeting does.

A learner asks one of three kinds: there is none where all classes were declared; else the counts of classes tell how
likely it is (`outcomes.escape`), or the learner itself says so of each row (`outcomes.row_escape`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aioli.learners.classes.late_logits import as_log_probabilities, log_remainders
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.escape import Escape
from aioli.outcomes.row_escape import RowEscape
from aioli.snapshots.tree import Snapshot

__all__ = ["AllDeclared", "UnseenByCounts", "UnseenByRow", "UnseenClass"]

KNOWN = np.zeros(1, np.bool_)  # that a single row brings no class


class UnseenClass(ABC):
    """What a learner of classes asks of the class that stands for all unseen ones."""

    places: ClassVar[int] = 0  # that it has in what the learner itself says, behind the classes known
    may_come: ClassVar[bool] = True

    def __init__(self) -> None:
        self.escape = Escape()

    def begin_after(self, rows: int, classes: int) -> None:
        """Go on from so many rows of so many classes, each of which has come more than once."""
        self.escape = Escape.after(rows, classes)

    @property
    @abstractmethod
    def probability(self) -> float:
        """The probability that the next row's class is unseen, as the counts tell it."""

    @abstractmethod
    def shares(self, rows: int, consult: Callable[[], Matrix]) -> Vector:
        """Return the probability of an unseen class in each row, as if it came next.

        `consult` returns what the learner says of the rows: it is called where that matters.
        """

    @abstractmethod
    def announced(self, log_p: Matrix) -> Matrix:
        """Return the logarithms announced for the classes known, each row as if it came next, given what is said."""

    @abstractmethod
    def play(self, log_p: Matrix, codes: Codes, is_new: NDArray[np.bool_]) -> Matrix:
        """Return the logarithms announced for rows in their order, given what was said, and hear their classes.

        In `log_p` and in what is returned, the classes that these rows bring have their columns. `is_new` marks the
        rows that bring one.
        """

    @abstractmethod
    def play_known(self, log_p: Vector, codes: Codes) -> Vector:
        """Do what `play` does, for one row of a class that is known."""

    @abstractmethod
    def meet(self, code: int) -> None:
        """Count the class of one row."""

    def as_announced(self, logits: object, rows: int, classes: int) -> Matrix:
        """Return what was announced for rows whose labels come late, one column a class known now; or refuse it."""
        return as_log_probabilities(logits, rows, classes, open_=self.may_come)

    def with_remainders(self, log_p: Matrix, codes: Codes) -> Matrix:
        """Give what was announced for an unseen class to that of each late row which was not known then."""
        own = log_p[np.arange(len(codes)), codes]
        unknown = np.flatnonzero(np.isinf(own))
        log_p[unknown, codes[unknown]] = log_remainders(log_p[unknown])
        return log_p

    def code_length(self) -> float:
        """Return the most nats that it can have cost in all to announce it."""
        return self.escape.code_length()

    def merge(self, other: "UnseenClass", places: Codes) -> None:
        """Take in what another counted from other rows; class k of the other is class `places[k]` here."""
        self.escape.merge(other.escape, places)

    def parts(self) -> dict[str, Snapshot]:
        """Return what is remembered, as parts of the learner's snapshot."""
        return {"escape": self.escape.snapshot()}

    def recall(self, snapshot: Snapshot, known: int) -> Self:
        """Remember what a learner's snapshot holds, which knows so many classes; return this object."""
        del known
        self.escape = Escape.restore(snapshot.part("escape"))
        return self


class AllDeclared(UnseenClass):
    """There is no unseen class: all were declared."""

    may_come = False
    probability = 0.0

    def shares(self, rows: int, consult: Callable[[], Matrix]) -> Vector:
        """Return zeros."""
        del consult
        return np.zeros(rows)

    def announced(self, log_p: Matrix) -> Matrix:
        """Return what is said."""
        return log_p

    def play(self, log_p: Matrix, codes: Codes, is_new: NDArray[np.bool_]) -> Matrix:
        """Return what was said."""
        del codes, is_new
        return log_p

    def play_known(self, log_p: Vector, codes: Codes) -> Vector:
        """Return what was said."""
        del codes
        return log_p

    def meet(self, code: int) -> None:
        """Do nothing: no class is counted."""

    def with_remainders(self, log_p: Matrix, codes: Codes) -> Matrix:
        """Return what was announced: every class was known."""
        del codes
        return log_p

    def code_length(self) -> float:
        """Return 0."""
        return 0.0


class UnseenByCounts(UnseenClass):
    """An unseen class is as likely in every row as the counts of classes tell."""

    @property
    def probability(self) -> float:
        """The probability that the next row's class is unseen."""
        return self.escape.probability

    def shares(self, rows: int, consult: Callable[[], Matrix]) -> Vector:
        """Return the same probability for every row."""
        del consult
        return np.full(rows, self.probability)

    def announced(self, log_p: Matrix) -> Matrix:
        """Return the logarithms announced for the classes known: they share what an unseen one leaves."""
        escape = self.probability
        return log_p + (math.log1p(-escape) if escape < 1.0 else -math.inf)

    def play(self, log_p: Matrix, codes: Codes, is_new: NDArray[np.bool_]) -> Matrix:
        """Return the logarithms announced for rows in their order, and count their classes."""
        return _with_escape(log_p, self.escape.play(codes), codes, is_new)

    def play_known(self, log_p: Vector, codes: Codes) -> Vector:
        """Return the logarithms announced for one row of a known class, and count it."""
        return np.asarray(log_p + np.log1p(-self.escape.play(codes)))

    def meet(self, code: int) -> None:
        """Count the class of one row."""
        self.escape.play(np.array([code]))


class UnseenByRow(UnseenByCounts):
    """The learner says of each row how likely an unseen class is, in a column behind those of the classes known."""

    places = 1

    def __init__(self) -> None:
        super().__init__()
        self.row_escape = RowEscape()

    def begin_after(self, rows: int, classes: int) -> None:
        """Go on from so many rows of so many classes, each of which has come more than once."""
        super().begin_after(rows, classes)
        self.row_escape = RowEscape.after(classes)

    def shares(self, rows: int, consult: Callable[[], Matrix]) -> Vector:
        """Return the probability of an unseen class in each row, as the row and the counts tell it."""
        if self.probability == 1.0:  # before the first row every class is new
            return np.ones(rows)
        return self.row_escape.announce(self.probability, _split_last(consult())[1])

    def announced(self, log_p: Matrix) -> Matrix:
        """Return the logarithms announced for the classes known: they share what an unseen one leaves in each row."""
        known, unseen = _split_last(log_p)
        return known + np.log1p(-self.row_escape.announce(self.probability, unseen))[:, None]

    def play(self, log_p: Matrix, codes: Codes, is_new: NDArray[np.bool_]) -> Matrix:
        """Return the logarithms announced for rows in their order, and hear which of them brought a class."""
        known_before = log_p.shape[1] - 1 - np.count_nonzero(is_new) + np.cumsum(is_new) - is_new
        log_p, unseen = _split(log_p, known_before)
        return _with_escape(log_p, self.row_escape.play(self.escape.play(codes), unseen, is_new), codes, is_new)

    def play_known(self, log_p: Vector, codes: Codes) -> Vector:
        """Return the logarithms announced for one row of a known class, and hear it."""
        p = np.exp(log_p)
        unseen = p[-1:].copy()
        p[-1] = 0.0  # not left out: the sum of one more number is rounded as that of many rows
        known = log_p[:-1] - np.log(p.sum() or 1.0)
        return np.asarray(known + np.log1p(-self.row_escape.play(self.escape.play(codes), unseen, KNOWN)))

    def parts(self) -> dict[str, Snapshot]:
        """Return what is remembered, as parts of the learner's snapshot."""
        return super().parts() | {"row escape": self.row_escape.snapshot()}

    def recall(self, snapshot: Snapshot, known: int) -> Self:
        """Remember what a learner's snapshot holds; one of a version that only counted says how many classes came."""
        super().recall(snapshot, known)
        if "row escape" in snapshot.parts:
            self.row_escape = RowEscape.restore(snapshot.part("row escape"))
        else:
            self.row_escape = RowEscape.after(known)
        return self


def _with_escape(log_p: Matrix, escape: Vector, codes: Codes, is_new: NDArray[np.bool_]) -> Matrix:
    """Return what is announced: known classes share what the escape leaves; a class that comes has the escape."""
    with np.errstate(divide="ignore"):
        log_p += np.log1p(-escape)[:, None]
    log_p[is_new, codes[is_new]] = np.log(escape[is_new])
    return log_p


def _split_last(log_p: Matrix) -> tuple[Matrix, Vector]:
    """Return what `_split` does where the unseen class is the last in all rows."""
    return _split(log_p, np.full(len(log_p), log_p.shape[1] - 1))


def _split(log_p: Matrix, known: Codes) -> tuple[Matrix, Vector]:
    """Return the logarithms among the classes known before each row, and the probability of an unseen one.

    In each row the unseen one stands behind those known; the other columns are -inf, and so are all of a first row.
    """
    rows = np.arange(len(log_p))
    unseen = np.exp(log_p[rows, known])
    log_p = log_p.copy()
    log_p[rows, known] = -math.inf
    total = np.exp(log_p).sum(axis=1)
    return log_p[:, :-1] - np.log(np.where(total > 0.0, total, 1.0))[:, None], unseen
