"""Gives learners `get_params` and `set_params`, by which scikit-learn clones them and searches over their parameters.

>>> from aioli import AIOLI
>>> AIOLI().set_params(radius=2.0).get_params()["radius"]
2.0
"""

from inspect import signature
from typing import Self

from aioli.errors import ParameterRefused
from aioli.learners.protocol import require_fresh

__all__ = ["Parametrised"]


class Parametrised:
    """A learner whose constructor keeps each parameter under its own name."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters that the learner was made with, and with `deep` those of the learners among them."""
        own = vars(self)
        given = {name: own.get(name) for name in signature(type(self)).parameters}
        if deep:
            inner = {name: value for name, value in given.items() if isinstance(value, Parametrised)}
            given |= {f"{name}__{key}": v for name, value in inner.items() for key, v in value.get_params().items()}
        return given

    def set_params(self, **parameters: object) -> Self:
        """Change parameters of a learner that has learned from no row yet; return it."""
        require_fresh(self, "; make a new one with other parameters")
        given = self.get_params(deep=False)
        for name, value in parameters.items():
            outer, _, inner = name.partition("__")
            known = given.get(outer)
            if outer not in given or (inner and not isinstance(known, Parametrised)):
                told = f"there is no parameter {name!r}; there are {', '.join(given)}"
                raise ParameterRefused(told, parameter=name, value=value)
            if inner and isinstance(known, Parametrised):
                known.set_params(**{inner: value})
            else:
                given[outer] = value
        type(self).__init__(self, **given)
        return self
