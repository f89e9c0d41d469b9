"""One announced row in a call for many: most calls of a service that learns labels as they come."""

import numpy as np

from aioli.learners.announcements import Announcement, LateMany
from aioli.numerics.compiling import Vector
from aioli.streams.rows import LABELS, is_logit

__all__ = ["as_announced_row"]


def as_announced_row(
    X: object, y: object, weights: object, logits: object, announced: LateMany, width: int | None
) -> tuple[Vector, float, Announcement] | None:
    """Return the row, label and announcement where `learn_many` was given one announced row of weight 1.

    None for anything else: the border then checks it, and says what is wrong.
    """
    if announced is None or weights is not None or logits is not None or len(announced) != 1:
        return None
    if type(X) is not np.ndarray or type(y) is not np.ndarray or X.shape != (1, width) or y.size != 1:
        return None
    label = LABELS.get(y.item())
    if label is None or X.dtype != np.float64 or not X.flags.carray or not is_logit(announced.logits.item()):
        return None
    return X[0], label, announced[0]
