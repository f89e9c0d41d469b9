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
    "AWV": "aioli.learners.baselines.awv",
    "Algorithm2": "aioli.learners.baselines.algorithm2",
    "Announcement": "aioli.learners.announcements",
    "Announcements": "aioli.learners.announcements",
    "Auto": "aioli.learners.auto.auto",
    "Certificate": "aioli.states.certificate",
    "ClassAIOLI": "aioli.learners.classes.class_aioli",
    "ClassAuto": "aioli.learners.classes.class_auto",
    "ClassForest": "aioli.learners.classes.class_forest",
    "ClassOnlineToBatch": "aioli.learners.batch.class_online_to_batch",
    "EKF": "aioli.learners.baselines.ekf",
    "FTRL": "aioli.learners.baselines.ftrl",
    "Fleet": "aioli.fleet.fleet",
    "Forest": "aioli.learners.forest.forest",
    "Foster": "aioli.learners.foster.foster",
    "KernelAIOLI": "aioli.learners.kernel.kernel_aioli",
    "MaximumLikelihood": "aioli.learners.baselines.maximum_likelihood",
    "Nystrom": "aioli.learners.kernel.nystrom",
    "OGD": "aioli.learners.baselines.ogd",
    "ONS": "aioli.learners.baselines.ons",
    "OneVsRest": "aioli.learners.classes.one_vs_rest",
    "OnlineToBatch": "aioli.learners.batch.online_to_batch",
    "RandomFeatures": "aioli.learners.kernel.random_features",
    "SMP": "aioli.learners.baselines.smp",
    "TableEncoder": "aioli.streams.table_encoder",
    "TableLearner": "aioli.store.table_learner",
    "Wide": "aioli.learners.wide",
    "explain_columns": "aioli.evaluate.explaining",
    "explain_row": "aioli.evaluate.explaining",
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
    "Announcement",
    "Announcements",
    "Auto",
    "Certificate",
    "ClassAIOLI",
    "ClassAuto",
    "ClassForest",
    "ClassOnlineToBatch",
    "Fleet",
    "Forest",
    "Foster",
    "KernelAIOLI",
    "MaximumLikelihood",
    "Nystrom",
    "OneVsRest",
    "OnlineToBatch",
    "RandomFeatures",
    "TableEncoder",
    "TableLearner",
    "Wide",
    "explain_columns",
    "explain_row",
]

if TYPE_CHECKING:
    from aioli.evaluate.explaining import explain_columns, explain_row
    from aioli.fleet.fleet import Fleet
    from aioli.learners.aioli import AIOLI
    from aioli.learners.announcements import Announcement, Announcements
    from aioli.learners.auto.auto import Auto
    from aioli.learners.baselines.algorithm2 import Algorithm2
    from aioli.learners.baselines.awv import AWV
    from aioli.learners.baselines.ekf import EKF
    from aioli.learners.baselines.ftrl import FTRL
    from aioli.learners.baselines.maximum_likelihood import MaximumLikelihood
    from aioli.learners.baselines.ogd import OGD
    from aioli.learners.baselines.ons import ONS
    from aioli.learners.baselines.smp import SMP
    from aioli.learners.batch.class_online_to_batch import ClassOnlineToBatch
    from aioli.learners.batch.online_to_batch import OnlineToBatch
    from aioli.learners.classes.class_aioli import ClassAIOLI
    from aioli.learners.classes.class_auto import ClassAuto
    from aioli.learners.classes.class_forest import ClassForest
    from aioli.learners.classes.one_vs_rest import OneVsRest
    from aioli.learners.forest.forest import Forest
    from aioli.learners.foster.foster import Foster
    from aioli.learners.kernel.kernel_aioli import KernelAIOLI
    from aioli.learners.kernel.nystrom import Nystrom
    from aioli.learners.kernel.random_features import RandomFeatures
    from aioli.learners.wide import Wide
    from aioli.states.certificate import Certificate
    from aioli.store.table_learner import TableLearner
    from aioli.streams.table_encoder import TableEncoder


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'aioli' has no attribute {name!r}")
    public: object = vars(importlib.import_module(_HOMES[name]))[name]
    return public


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
