"""A learner inside another object: a copy of the one that was given, and weights reach it or fail."""

import copy
from inspect import signature
from typing import Any

from aioli.learners.auto.auto import Auto
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Vector

__all__ = ["fresh_copy", "learn_rows"]

METHODS = ("learn", "learn_many", "predict", "predict_many")


def fresh_copy(template: Learner | None) -> Any:
    """A learner of the template's parameters that has seen nothing; `Auto()` where none was given."""
    if template is None:
        return Auto()
    if isinstance(template, type) or not all(hasattr(template, method) for method in METHODS):
        raise ValueError(f"learner is {template!r}; give a learner, such as AIOLI() or Auto(), or None for Auto()")
    rounds = getattr(template, "rounds", 0)
    if rounds:
        raise ValueError(f"learner has learned from {rounds} rows already; give a fresh one: a copy of it will learn")
    return copy.deepcopy(template)


def learn_rows(learner: Any, X: object, sides: object, weights: object = None) -> Vector:
    """`learn_many`, for learners that take weights and those that do not."""
    if weights is not None and "weights" not in signature(learner.learn_many).parameters:
        raise ValueError(
            f"weights came, but {type(learner).__name__} takes none; use Auto or AIOLI (nothing was learned)"
        )
    announced: Vector = learner.learn_many(X, sides) if weights is None else learner.learn_many(X, sides, weights)
    return announced
