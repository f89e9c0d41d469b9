"""Online logistic regression: honest probabilities from the first row, no learning rate, and a proven bound.

>>> from aioli import Auto
>>> learner = Auto()
>>> learner.predict([0.2, -1.0])
0.5
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Where each public name lives. They are loaded on first use: importing aioli must not cost the second that Numba takes.
_HOMES = {
    "AIOLI": "aioli.learners.aioli",
    "AWV": "aioli.learners.awv",
    "Algorithm2": "aioli.learners.algorithm2",
    "Auto": "aioli.learners.auto",
    "Certificate": "aioli.state.certificate",
    "EKF": "aioli.learners.ekf",
    "FTRL": "aioli.learners.ftrl",
    "Foster": "aioli.learners.foster",
    "KernelAIOLI": "aioli.learners.kernel",
    "MaximumLikelihood": "aioli.learners.maximum_likelihood",
    "Nystrom": "aioli.learners.nystrom",
    "OGD": "aioli.learners.ogd",
    "ONS": "aioli.learners.ons",
    "OnlineToBatch": "aioli.learners.online_to_batch",
    "RandomFeatures": "aioli.learners.random_features",
    "SMP": "aioli.learners.smp",
    "Wide": "aioli.learners.wide",
}

__all__ = [
    "AIOLI",
    "AWV",
    "EKF",
    "FTRL",
    "OGD",
    "ONS",
    "SMP",
    "Algorithm2",
    "Auto",
    "Certificate",
    "Foster",
    "KernelAIOLI",
    "MaximumLikelihood",
    "Nystrom",
    "OnlineToBatch",
    "RandomFeatures",
    "Wide",
]

if TYPE_CHECKING:
    from aioli.learners.aioli import AIOLI
    from aioli.learners.algorithm2 import Algorithm2
    from aioli.learners.auto import Auto
    from aioli.learners.awv import AWV
    from aioli.learners.ekf import EKF
    from aioli.learners.foster import Foster
    from aioli.learners.ftrl import FTRL
    from aioli.learners.kernel import KernelAIOLI
    from aioli.learners.maximum_likelihood import MaximumLikelihood
    from aioli.learners.nystrom import Nystrom
    from aioli.learners.ogd import OGD
    from aioli.learners.online_to_batch import OnlineToBatch
    from aioli.learners.ons import ONS
    from aioli.learners.random_features import RandomFeatures
    from aioli.learners.smp import SMP
    from aioli.learners.wide import Wide
    from aioli.state.certificate import Certificate


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'aioli' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
