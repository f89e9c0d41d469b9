"""Copies a learner for use inside another object, and teaches it rows; weights that it cannot take are refused."""

import copy
from collections.abc import Sized
from inspect import signature

from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.learners.auto.auto import Auto
from aioli.learners.protocol import (
    AnyLearner,
    ClassLearner,
    Learner,
    learns_late,
    require_fresh,
    require_no_rows,
    weighs,
)
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Classes

__all__ = ["fresh_copy", "fresh_for_classes", "learn_rows", "learn_rows_as_batch", "takes_classes"]


def fresh_copy(template: Learner | None) -> Learner:
    """Return a learner of the template's parameters that has seen nothing; `Auto()` where none was given."""
    if template is None:
        return Auto()
    return copy.deepcopy(require_fresh(template, "; give a fresh one: a copy of it will learn"))


def takes_classes(template: AnyLearner | None) -> bool:
    """Return whether a learner of this kind can be made for any number of classes; `Auto` where none was given."""
    if template is None:
        return True
    return isinstance(template, (Learner, ClassLearner)) and "classes" in signature(type(template)).parameters


def fresh_for_classes(template: AnyLearner | None, labels: Classes) -> ClassLearner:
    """Return a learner of the template's parameters for these classes, or "any", that has seen nothing.

    A template for two classes is made again for these; one that has declared its classes must have declared these.
    """
    wanted = labels if isinstance(labels, str) else list(labels)
    if template is None:
        return _of_classes(Auto(classes=wanted))
    require_no_rows(template, "; give a fresh one: a copy of it will learn")
    if not takes_classes(template):
        raise CapabilityMissing(
            f"{type(template).__name__} is for two classes, and more are asked for; use Auto or AIOLI, or "
            f"OneVsRest({type(template).__name__}())"
        )
    given = {name: vars(template)[name] for name in signature(type(template)).parameters if name in vars(template)}
    declared = given.get("classes")
    if declared is not None and not isinstance(declared, str) and set(declared) != set(wanted):
        raise ParameterRefused(
            f"the learner was made for the classes {list(declared)}, and {wanted} came; give it classes='any'",
            parameter="classes",
            value=wanted,
        )
    return _of_classes(type(template)(**{**given, "classes": wanted}))


def _of_classes(made: object) -> ClassLearner:
    assert isinstance(made, ClassLearner)
    return made


def learn_rows(learner: AnyLearner, X: object, labels: object, weights: object = None) -> Vector:
    """Learn from the rows in order, weighted where weights came: a learner that takes none refuses them."""
    if weights is None:
        return learner.learn_many(X, labels)
    if not weighs(learner):
        raise CapabilityMissing(
            f"weights came, but {type(learner).__name__} takes none; use Auto or AIOLI (nothing was learned)"
        )
    return learner.learn_many(X, labels, weights)


def learn_rows_as_batch(learner: AnyLearner, X: object, labels: Sized, weights: object = None) -> Vector:
    """Learn from rows that were all announced before the first of their labels, where the learner learns late."""
    if len(labels) > 1 and learns_late(learner):
        return learner.learn_batch(X, labels, weights)
    return learn_rows(learner, X, labels, weights)
