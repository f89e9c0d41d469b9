"""Copies a learner for use inside another object, and teaches it rows; weights that it cannot take are refused."""

import copy
from collections.abc import Sized

from aioli.errors import CapabilityMissing
from aioli.learners.auto.auto import Auto
from aioli.learners.protocol import Learner, learns_late, require_fresh, weighs
from aioli.numerics.compiling import Vector

__all__ = ["fresh_copy", "learn_rows", "learn_rows_as_batch"]


def fresh_copy(template: Learner | None) -> Learner:
    """Return a learner of the template's parameters that has seen nothing; `Auto()` where none was given."""
    if template is None:
        return Auto()
    return copy.deepcopy(require_fresh(template, "; give a fresh one: a copy of it will learn"))


def learn_rows(learner: Learner, X: object, labels: object, weights: object = None) -> Vector:
    """Learn from the rows in order, weighted where weights came: a learner that takes none refuses them."""
    if weights is None:
        return learner.learn_many(X, labels)
    if not weighs(learner):
        raise CapabilityMissing(
            f"weights came, but {type(learner).__name__} takes none; use Auto or AIOLI (nothing was learned)"
        )
    return learner.learn_many(X, labels, weights)


def learn_rows_as_batch(learner: Learner, X: object, labels: Sized, weights: object = None) -> Vector:
    """Learn from rows that were all announced before the first of their labels, where the learner learns late."""
    if len(labels) > 1 and learns_late(learner):
        return learner.learn_batch(X, labels, weights)
    return learn_rows(learner, X, labels, weights)
