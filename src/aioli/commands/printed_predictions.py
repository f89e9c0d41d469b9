"""Prints predictions as they are made: a line a row, flushed when its rows have been played."""

from collections.abc import Sequence
from typing import TextIO

import numpy as np

from aioli.evaluate.loop import Announced, Observer
from aioli.store.file_formats import csv_label
from aioli.streams.labels import Labels
from aioli.streams.many_labels import ManyLabels

__all__ = ["PrintedPredictions"]


class PrintedPredictions(Observer):
    """Prints the probability of each row and the label that came, as CSV; of K classes, a probability for each."""

    def __init__(self, labels: Labels | ManyLabels, out: TextIO, keys: Sequence[str] = ()) -> None:
        self._labels, self._out, self._keys = labels, out, keys
        self._headed = False

    def played(self, announced: Announced, rows: int) -> None:  # noqa: ARG002  (an observer's signature)
        """Print the rows of a piece, and flush them."""
        self.predicted(announced)

    def predicted(self, announced: Announced) -> None:
        """Print rows, whether they have a label or not."""
        keys = [()] * len(announced.y) if announced.keys is None else announced.keys
        behind = ["".join(f",{csv_label(text or '')}" for text in each) for each in keys]
        if announced.classes is not None:
            for said, more in zip(announced.p.tolist(), behind, strict=True):
                self._out.write(",".join(map(repr, said)) + more + "\n")
        else:
            if not self._headed:
                self._headed = True
                self._out.write(",".join(["probability", "label", *map(csv_label, self._keys)]) + "\n")
            names = self._labels.names
            for p, y, more in zip(announced.p.tolist(), announced.y.tolist(), behind, strict=True):
                self._out.write(f"{p!r},{'' if np.isnan(y) else names[int(y)]}{more}\n")
        self._out.flush()
