"""Predictions printed as they are made: a line a row, flushed when its rows have been played."""

from typing import TextIO

import numpy as np

from aioli.evaluate.loop import Announced, Observer
from aioli.streams.labels import Labels
from aioli.streams.many_labels import ManyLabels

__all__ = ["PrintedPredictions"]


class PrintedPredictions(Observer):
    """Prints the probability of each row and the label that came, as CSV; of K classes, a probability for each."""

    def __init__(self, labels: Labels | ManyLabels, out: TextIO) -> None:
        self._labels, self._out = labels, out
        self._headed = False

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002
        """Print the rows of a piece, and flush them."""
        if announced.classes is not None:
            for said in announced.p.tolist():
                self._out.write(",".join(map(repr, said)) + "\n")
        else:
            if not self._headed:
                self._headed = True
                self._out.write("probability,label\n")
            names = self._labels.names
            for p, y in zip(announced.p.tolist(), announced.y.tolist(), strict=True):
                self._out.write(f"{p!r},{'' if np.isnan(y) else names[int(y)]}\n")
        self._out.flush()
