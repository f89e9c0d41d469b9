"""The short way of a single row: one compiled call over the array that holds the whole state.

Every further argument of a compiled call costs time, and so does every check before it: a float64 row that lies in one
piece is handed over as it came, and what the call refuses (a value that is not finite, another width) goes the long way
through the border, which says what is wrong.
"""

import math
from typing import Any

from numpy import ndarray

from aioli.learners.announcements import Announcement, Late
from aioli.learners.of_state import LearnerOfState
from aioli.numerics.logistic import sigmoid
from aioli.outcomes.two_classes import Tally
from aioli.states.dense.single_row import REFUSED, RULES, play_one, predict_logit_one, predict_one
from aioli.streams.rows import FARTHEST, LABELS, Rows, is_logit

__all__ = ["PlaysSingleRows"]

IN_TIME = math.nan  # what the compiled loop is given in place of log-odds announced earlier
ROUNDS = RULES + Tally.ROUNDS  # of a state's buffer: where the rows learned from are counted


class PlaysSingleRows(LearnerOfState[Rows]):
    """A learner of one dense state that predicts and learns a single row in one compiled call, where the row allows."""

    def __init__(self) -> None:
        super().__init__()
        self._buffer: Any = None  # the state's, once there is one: a cast would cost a call a row

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing. O(d²)."""
        if type(x) is ndarray:
            try:
                p = predict_one(self._buffer, x)
                if p >= 0.0:
                    return p
            except TypeError:  # another type of number, another layout, or the very first row
                pass
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes. O(d²)."""
        if type(x) is ndarray:
            try:
                z = predict_logit_one(self._buffer, x)
                if z == z:
                    return z
            except TypeError:  # another type of number, another layout, or the very first row
                pass
        return super().predict_logit(x)

    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes. O(d²)."""
        if type(x) is ndarray:
            try:
                z = predict_logit_one(self._buffer, x)
                if z == z:
                    return self._ledger.issue_one(self._buffer.item(ROUNDS), z)
            except TypeError:  # another type of number, another layout, or the very first row
                pass
        return super().announce(x)

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; returns the probability announced before the label. O(d²).

        A `weight` multiplies the row's loss, and what is learned from it; what is announced does not depend on it.
        Where the label comes late, `announced` is what `announce` gave when the row came, or `logit` what
        `predict_logit` said: what is learned is learned from where the learner stands now, and the loss is counted
        where it was announced.
        """
        if weight == 1.0 and type(x) is ndarray:
            try:
                if announced is None:
                    if logit is None:
                        p = play_one(self._buffer, x, LABELS[y], IN_TIME)
                    else:
                        p = play_one(self._buffer, x, LABELS[y], logit) if is_logit(logit) else REFUSED
                    if p >= 0.0:
                        return p
                elif logit is None and -FARTHEST <= announced.logit <= FARTHEST:
                    label, p = LABELS[y], REFUSED
                    self._ledger.settle_one(announced)
                    try:
                        p = play_one(self._buffer, x, label, announced.logit)
                        if p >= 0.0:
                            return p
                    finally:
                        if not p >= 0.0:
                            self._ledger.reopen_one(announced)
            except (TypeError, KeyError):  # another type of number or layout, the very first row, or not a label
                pass
        return self._learn_one(x, y, weight, logit, announced)
