"""Streams of more than two classes in file order: from a folder of files, and those that scikit-learn ships."""

import importlib
from pathlib import Path

import numpy as np

from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from benchmarks.real_streams import read_stream, stream_files

__all__ = ["class_stream_names", "load_class_stream"]

SHIPPED = ("iris", "wine", "digits")  # sorted by class as they are shipped: shuffled here, with seed 0
MOST_COLUMNS = 2000


def class_stream_names(folder: Path | None) -> list[str]:
    """Return the streams that may have more than two classes: those shipped, then the files of the folder."""
    return [*SHIPPED, *([] if folder is None else sorted(stream_files(folder)))]


def load_class_stream(folder: Path | None, name: str, rows: int) -> tuple[Matrix, Codes] | None:
    """Return the first rows of a stream and codes of their classes; None where there are two, or too many columns.

    Classes are numbered in the order of their labels.
    """
    if name in SHIPPED:
        X, labels = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(labels))
        X, labels, classes = X[order][:rows], labels[order][:rows], set(labels.tolist())
    else:
        assert folder is not None
        X, labels, classes = read_stream(stream_files(folder)[name], rows)
    if len(classes) < 3 or X.shape[1] > MOST_COLUMNS:
        return None
    return np.ascontiguousarray(X, np.float64), np.searchsorted(np.array(sorted(classes)), labels)
