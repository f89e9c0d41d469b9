"""Parameters of learners: each is what it must be or is refused by its name; plain values go into snapshots."""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from numbers import Integral, Real
from typing import TypeVar

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.snapshots.tree import Plain, Snapshot

__all__ = [
    "as_given",
    "plain_parameters",
    "require_number",
    "require_positive",
    "require_share",
    "require_whole",
    "with_parameters",
    "written_parameters",
]

Made = TypeVar("Made")

SMALLEST, LARGEST = 1e-100, 1e100  # between them, the square of a row over a parameter stays within float64


def require_positive(**parameters: object) -> None:
    """Refuse what is not a number above 0 and below infinity: formulas divide by it, or take its logarithm."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and SMALLEST <= float(value) <= LARGEST):
            wanted = f"a finite number above 0, from {SMALLEST:g} to {LARGEST:g}"
            raise ParameterRefused.unlike(name, value, wanted)


def require_number(name: str, value: object) -> float:
    """Return the value as a float, or a refusal by name."""
    if not isinstance(value, (int, float, np.number)):
        raise ParameterRefused.unlike(name, value, "a number")
    try:
        return float(value)
    except (TypeError, OverflowError):
        raise ParameterRefused.unlike(name, value, "a number that float64 can hold") from None


def require_share(name: str, value: object) -> float:
    """Return the value as a float above 0 and at most 1, or a refusal by name."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) <= 1.0:
        raise ParameterRefused.unlike(name, value, "a number above 0 and at most 1")
    return float(value)


def require_whole(name: str, value: object, least: int, multiple: int = 1) -> int:
    """Return the value as an int, or a refusal by name."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least or value % multiple:
        kind = "an even whole number" if multiple == 2 else "a whole number"
        raise ParameterRefused.unlike(name, value, f"{kind} of at least {least}")
    return int(value)


def plain_parameters(learner: object) -> dict[str, Plain]:
    """Return the parameters that a learner was made with, each read from its attribute of the same name."""
    given = vars(learner)
    return {name: _plain(name, given[name]) for name in signature(type(learner)).parameters}


def written_parameters(learner: object, without: Sequence[str] = ()) -> str:
    """Return the parameters of a learner as a call writes them, but for some: "radius=4.0, ridge=None"."""
    given = vars(learner)
    names = [name for name in signature(type(learner)).parameters if name not in without]
    return ", ".join(f"{name}={given[name]!r}" for name in names)


def as_given(learner: object, played: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return the parameters that are played, each as the learner was given it where that is the same plain number."""
    given = vars(learner)
    return {k: given[k] if type(given[k]) in (int, float) and given[k] == v else v for k, v in played.items()}


def with_parameters(make: Callable[..., Made], snapshot: Snapshot) -> Made:
    """Make an object with the "parameters" of a snapshot; refuse the snapshot where the maker refuses them."""
    try:
        return make(**snapshot.mapping("parameters"))
    except (TypeError, ValueError) as error:
        raise SnapshotRefused(f"in a {snapshot.kind}, the parameters are not right ({error})") from error


def _plain(name: str, value: object) -> Plain:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise SnapshotRefused(f"parameter {name} is {value!r}, which a file cannot hold")
