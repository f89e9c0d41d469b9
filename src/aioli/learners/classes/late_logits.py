"""Logarithms of probabilities that were announced earlier, checked as they come back with their labels."""

import math

import numpy as np

from aioli.errors import UNCHANGED, ParameterRefused, RowRefused
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["as_log_probabilities", "log_remainders"]

GIVE = "give what predict_logits gave"


def as_log_probabilities(logits: object, count: int, classes: int, *, open_: bool) -> Matrix:
    """Return what was announced for rows, one column a class known now, -inf for classes not known then; or refuse it.

    Where classes may appear, what is missing from 1 was the probability of a new class; else the rows are normalised.
    """
    values = np.asarray(logits, dtype=np.float64)
    if (
        values.ndim != 2
        or len(values) != count
        or values.shape[1] > classes
        or (values.shape[1] < classes and not open_)
    ):
        message = f"logits of shape {values.shape} came for {count} rows of {classes} classes; {GIVE}{UNCHANGED}"
        raise ParameterRefused(message, parameter="logits", value=values.shape)
    wrong = np.isnan(values) | (values == math.inf) | (np.isinf(values) & (not open_))
    if wrong.any():
        t, k = (int(place) for place in np.argwhere(wrong)[0])
        raise RowRefused(f"logit is {values[t, k]}", row=t, value=float(values[t, k]), remedy=GIVE)
    late = np.full((count, classes), -math.inf)
    late[:, : values.shape[1]] = values
    most = np.maximum(values.max(axis=1, initial=-math.inf), -1e300)
    with np.errstate(divide="ignore"):
        total: Vector = most + np.log(np.exp(values - most[:, None]).sum(axis=1))
    if open_:
        total = np.maximum(total, 0.0)
    return late - total[:, None]


def log_remainders(log_p: Matrix) -> Vector:
    """Return the logarithm of what each row's probabilities leave for a class that was not known."""
    left: Vector = 1.0 - np.exp(log_p).sum(axis=1)
    logarithms: Vector = np.log(np.maximum(left, np.finfo(np.float64).tiny))
    return logarithms
