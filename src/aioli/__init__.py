"""Online logistic regression: honest probabilities from the first row, no learning rate, and a proven bound.

>>> from aioli import AIOLI
>>> learner = AIOLI()
>>> learner.predict([0.2, -1.0])
0.5
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["AIOLI", "Algorithm2", "Auto", "Certificate"]

if TYPE_CHECKING:
    from aioli.learners.aioli import AIOLI
    from aioli.learners.algorithm2 import Algorithm2
    from aioli.learners.auto import Auto
    from aioli.state.certificate import Certificate

# Loaded on first use: importing aioli must not cost the second that Numba takes.
_HOMES = {
    "AIOLI": "aioli.learners.aioli",
    "Algorithm2": "aioli.learners.algorithm2",
    "Auto": "aioli.learners.auto",
    "Certificate": "aioli.state.certificate",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'aioli' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
