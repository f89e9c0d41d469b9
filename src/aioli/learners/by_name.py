"""Makes a learner by its name and parameters, as a command or a request gives them.

>>> make_learner("aioli", {"radius": 2.0}).get_params()["radius"]
2.0
"""

import inspect
from collections.abc import Mapping
from typing import Any

import aioli
from aioli.errors import ParameterRefused
from aioli.learners.protocol import AnyLearner, require_any_learner

__all__ = ["learner_names", "make_learner"]

NEEDED = ("predict_many", "learn_many")


def learner_names() -> list[str]:
    """Return the names of the public learners that play a stream by themselves. Loads them all."""
    return [name for name in aioli.__all__ if _plays_alone(getattr(aioli, name))]


def make_learner(name: str, parameters: Mapping[str, object], **otherwise: object) -> AnyLearner:
    """Make a learner by its name. `otherwise` are parameters for learners that take them, if not given."""
    homes = {known.lower(): known for known in aioli.__all__}
    make: Any = getattr(aioli, homes[name.lower()]) if name.lower() in homes else None
    if make is None or not _plays_alone(make):
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


def _plays_alone(make: Any) -> bool:
    parameters = inspect.signature(make).parameters.values()
    return all(hasattr(make, method) for method in NEEDED) and all(p.default is not p.empty for p in parameters)
