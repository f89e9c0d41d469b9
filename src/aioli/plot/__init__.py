"""Pictures of a run for a notebook: `record_run` plays the rows, each display draws what was recorded.

Displays follow scikit-learn's convention: a class method makes one from data (`from_run`, `from_predictions`,
`from_learner`) and draws it; `plot(ax=…)` draws it again; `ax_` and `figure_` are what it was drawn on.

>>> import numpy as np
>>> from aioli import AIOLI
>>> from aioli.plot import LossDisplay, record_run
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(500, 2))
>>> run = record_run(AIOLI(), X, X @ [2.0, -1.0] + rng.logistic(size=500) > 0)
>>> display = LossDisplay.from_run(run)
>>> display.ax_.get_ylabel()
'mean log loss so far, nats'
"""

from aioli.plot.calibration import CalibrationDisplay
from aioli.plot.drift import DriftDisplay
from aioli.plot.effects import EffectDisplay
from aioli.plot.losses import LossDisplay
from aioli.plot.recording import RecordedRun, record_run
from aioli.plot.regrets import RegretDisplay
from aioli.plot.shares import SharesDisplay

__all__ = [
    "CalibrationDisplay",
    "DriftDisplay",
    "EffectDisplay",
    "LossDisplay",
    "RecordedRun",
    "RegretDisplay",
    "SharesDisplay",
    "record_run",
]
