"""A learner by its name, with parameters or without: `Auto`, `AIOLI`, `AIOLI(radius=2, forgetting=0.999)`."""

import ast
import inspect
from typing import Any

import aioli
from aioli.learners.protocol import Learner, require_learner
from aioli.streams.protocol import Stream
from aioli.streams.synthetic_stream import SyntheticStream

__all__ = ["learner_by_name", "learner_for", "learner_names"]

NEEDED = ("predict_many", "learn_many")


def learner_names() -> list[str]:
    """Return the names of the public learners that play a stream by themselves. Loads them all."""
    return [name for name in aioli.__all__ if _plays_alone(getattr(aioli, name))]


def learner_for(text: str, stream: Stream) -> Learner:
    """Make the learner that the text writes; its radius is the synthetic stream's, where both have one."""
    radius = stream.law.radius if isinstance(stream, SyntheticStream) else None
    return learner_by_name(text) if radius is None else learner_by_name(text, radius=radius)


def learner_by_name(text: str, **otherwise: object) -> Learner:
    """Make the learner that the text writes. `otherwise` are parameters for learners that take them, if not given."""
    name, given = _parsed(text)
    homes = {known.lower(): known for known in aioli.__all__}
    make: Any = getattr(aioli, homes[name.lower()]) if name.lower() in homes else None
    if make is None or not _plays_alone(make):
        raise ValueError(f"there is no learner called {name!r}; give one of {', '.join(learner_names())}")
    known = inspect.signature(make).parameters
    unknown = [parameter for parameter in given if parameter not in known]
    if unknown:
        raise ValueError(f"{name} has no parameter {unknown[0]!r}; it has {', '.join(known)}")
    usual = {parameter: value for parameter, value in otherwise.items() if parameter in known}
    try:
        return require_learner(make(**{**usual, **given}))
    except TypeError as error:
        raise ValueError(f"{text}: {error}") from None


def _plays_alone(make: Any) -> bool:
    parameters = inspect.signature(make).parameters.values()
    return all(hasattr(make, method) for method in NEEDED) and all(p.default is not p.empty for p in parameters)


def _parsed(text: str) -> tuple[str, dict[str, object]]:
    """Return name and parameters. Only plain values can be written: no code of the text is ever run."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.Name):
            return tree.id, {}
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.args:
            return tree.func.id, {str(part.arg): ast.literal_eval(part.value) for part in tree.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ValueError(f"{text!r} is no learner; write a name, or a name with parameters such as 'AIOLI(radius=2)'")
