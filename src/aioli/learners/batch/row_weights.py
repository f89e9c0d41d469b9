"""The weights of the rows of a batch: those given, times those of their classes."""

from collections.abc import Mapping, Sequence

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Codes
from aioli.streams.files.table import Features

__all__ = ["rows_of_weight", "weights_by_class"]


def weights_by_class(
    class_weight: object, labels: Sequence[object], codes: Codes, weights: Vector | None
) -> Vector | None:
    """Return each row's weight times that of its class; None where all are 1.

    Parameters
    ----------
    class_weight
        Weights by label; "balanced" for n / (K nₖ); None for 1.
    labels, codes
        The labels of the K classes, and each row's place among them.
    weights
        Those of the rows, which count in how often a class came.

    >>> weights_by_class({"yes": 3.0}, ["no", "yes"], np.array([0, 1]), None)
    array([1., 3.])
    """
    if class_weight is None:
        return weights
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, weights, minlength=len(labels))
        by_class = counts.sum() / (len(labels) * counts)
    elif isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in labels]
        if unknown:
            raise ValueError(f"class_weight names {unknown}, but the classes are {list(labels)}")
        by_class = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    else:
        raise ValueError(f"class_weight is {class_weight!r}; give a dict, 'balanced' or None")
    stakes: Vector = by_class[codes] if weights is None else by_class[codes] * weights
    return stakes


def rows_of_weight(rows: Features, codes: Codes, weights: Vector | None) -> tuple[Features, Codes, Vector | None]:
    """Return the rows, codes and weights of those rows whose weight is not 0."""
    if weights is None or weights.all():
        return rows, codes, weights
    taught = weights != 0.0
    return rows[taught], codes[taught], weights[taught]
