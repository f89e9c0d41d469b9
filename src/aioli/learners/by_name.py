"""Makes a learner by its name and parameters, as a command or a request gives them.

>>> make_learner("aioli", {"radius": 2.0}).get_params()["radius"]
2.0
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Protocol, TypeGuard, runtime_checkable

import aioli
from aioli.errors import ParameterRefused
from aioli.learners.protocol import AnyLearner, require_any_learner
from aioli.learners.registry import exported

__all__ = ["learner_names", "make_learner"]


@runtime_checkable
class PlaysRows(Protocol):
    """What a class must have to be played by its name; a protocol of methods alone can be asked of a class."""

    def predict_many(self, X: object) -> object:
        """Return what is said of each row."""

    def learn_many(self, X: object, y: object) -> object:
        """Learn from the rows in order."""


def learner_names() -> list[str]:
    """Return the names of the public learners that play a stream by themselves. Loads them all."""
    return [name for name in aioli.__all__ if _plays_alone(exported(name))]


def make_learner(name: str, parameters: Mapping[str, object], **otherwise: object) -> AnyLearner:
    """Make a learner by its name. `otherwise` are parameters for learners that take them, if not given."""
    homes = {known.lower(): known for known in aioli.__all__}
    make = exported(homes.get(name.lower(), name))
    if not _plays_alone(make):
        message = f"there is no learner called {name!r}; give one of {', '.join(learner_names())}"
        raise ParameterRefused(message, parameter="learner", value=name)
    known = inspect.signature(make).parameters
    unknown = [parameter for parameter in parameters if parameter not in known]
    if unknown:
        message = f"{name} has no parameter {unknown[0]!r}; it has {', '.join(known)}"
        raise ParameterRefused(message, parameter=unknown[0], value=parameters[unknown[0]])
    usual = {parameter: value for parameter, value in otherwise.items() if parameter in known}
    try:
        return require_any_learner(make(**{**usual, **parameters}))
    except TypeError as error:
        raise ParameterRefused(f"{name}: {error}", parameter="parameters", value=dict(parameters)) from None


def _plays_alone(made: object) -> TypeGuard[Callable[..., object]]:
    if not isinstance(made, type) or not issubclass(made, PlaysRows):
        return False
    return all(p.default is not p.empty for p in inspect.signature(made).parameters.values())
