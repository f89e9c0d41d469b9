"""
A run in five pictures
======================

`record_run` plays a stream once; each display of `aioli.plot` draws one thing of what was recorded: the loss, the
shares of the experts, whether probabilities are honest, what a column does, and what is proven.
"""

import matplotlib.pyplot as plt
import numpy as np

from aioli import Auto
from aioli.plot import (
    CalibrationDisplay,
    EffectDisplay,
    LossDisplay,
    RegretDisplay,
    SharesDisplay,
    record_run,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 3)) * [1.0, 1000.0, 0.001]  # units do not matter
y = X @ [1.5, -0.002, 500.0] + rng.logistic(size=4000) - 1.0 > 0

run = record_run(Auto(budget="fast"), X, y)

# %%
# The running loss, beside the base rate's, and the certificate: nats that no fixed linear model could have gained.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
LossDisplay.from_run(run, ax=left)
RegretDisplay.from_run(run, ax=right)
plt.show()

# %%
# Who is heard: `Auto` moves shares to the experts that predict best.

SharesDisplay.from_run(run)
plt.show()

# %%
# Honest probabilities, on axes of log-odds, where the tails have room; and the effect of the second column.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
CalibrationDisplay.from_run(run, ax=left)
EffectDisplay.from_run(run, column=1, ax=right)
plt.show()

# %%
# In a notebook a learner shows itself as a table:

run.learner
