"""Learners of many classes whose rows are played as float64 rows, a chunk at a time."""

import math
from abc import abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.learners.classes.base import PlaysClasses
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.streams.device_rows import DeviceRows
from aioli.streams.rows import Rows

__all__ = ["ClassRows", "ClassRowsLearner"]

ClassRows: TypeAlias = Rows | DeviceRows  # on the CPU, or on a device of PyTorch


class ClassRowsLearner(PlaysClasses[ClassRows]):
    """A learner of many classes on dense rows.

    A subclass plays: `_begin` makes its state when the first row comes, `_log_probabilities` predicts among the classes
    known, `_play` learns and returns what it announced, `_add_class` makes room for a class.

    Parameters
    ----------
    classes
        The labels of all classes, or "any".
    intercept, widest
        Whether every row begins with a 1, and the greatest norm that a row may have.
    """

    def __init__(self, classes: object, *, intercept: bool, widest: float) -> None:
        super().__init__(classes, widest=widest)
        self._intercept = intercept

    @abstractmethod
    def _begin(self, width: int) -> None:
        """Make the state of rows of so many columns, the intercept not counted."""

    @abstractmethod
    def _log_probabilities(self, X: Matrix) -> Matrix:
        """Return the logarithms of the probabilities of the known classes, each row as if it came next."""

    @abstractmethod
    def _play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        """Learn from the rows in order; return the logarithms of the probabilities before each label."""

    @abstractmethod
    def _add_class(self, x: Vector) -> None:
        """Make room for one more class, which this row brings."""

    def _rows(self, X: object, single: bool = False) -> ClassRows:
        width = self.n_features_
        return Rows(X, intercept=self._intercept, widest=self._widest, width=width, names=self._names, single=single)

    def _among_known(self, rows: ClassRows) -> Matrix:
        if self.n_features_ is None:
            return self._log_probabilities_unseen(rows)
        return np.concatenate([self._log_probabilities(chunk) for _, chunk in rows])

    def _log_probabilities_unseen(self, rows: ClassRows) -> Matrix:
        """Return what is said of rows before the first row was learned: all classes alike."""
        return np.full((len(rows), len(self._labels)), -math.log(len(self._labels)))

    def _play_rows(
        self, rows: ClassRows, codes: Codes, stakes: Vector, is_new: NDArray[np.bool_], log_p: Matrix
    ) -> None:
        if self.n_features_ is None:
            self._begin(rows.width)
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            self._play_chunk(chunk, codes[part], stakes[part], is_new[part], log_p[part])

    def _play_chunk(self, X: Matrix, codes: Codes, stakes: Vector, is_new: NDArray[np.bool_], log_p: Matrix) -> None:
        """Play rows in order, a class being added in front of the row that brings it."""
        begin = 0
        for end in [*np.flatnonzero(is_new).tolist(), len(X)]:
            if end > begin:
                part = slice(begin, end)
                said = self._play(X[part], codes[part], stakes[part])
                log_p[part, : said.shape[1]] = said
            if end < len(X):
                part = slice(end, end + 1)
                before = int(codes[end])
                if before:
                    said = self._log_probabilities(X[part])
                    log_p[part, : said.shape[1]] = said
                self._add_class(X[end])
                self._play(X[part], codes[part], stakes[part])
            begin = end + 1
