"""
What a delay of the labels costs
================================

A claim comes long after the policy is sold. `announce` keeps what was said of a row; `learn(…, announced=…)` learns
from it when the label comes. Here the same stream is played with labels 0, 10, 100 and 1,000 rows late.
"""

import matplotlib.pyplot as plt
import numpy as np

from aioli import AIOLI
from aioli.evaluate.progressive import progressive

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 5))
y = X @ [2.0, -1.0, 0.5, 0.0, 0.0] + rng.logistic(size=6000) > 0

figure, ax = plt.subplots(figsize=(7, 4))
for delay, shade in ((0, "#0b6e69"), (10, "#3d9a92"), (100, "#e0a100"), (1000, "#c84c09")):
    points = list(progressive(AIOLI(), [(X, y)], delay=delay))
    label = "in time" if not delay else f"{delay} rows late"
    ax.plot([point.rows for point in points], [point.log_loss for point in points], color=shade, label=label)
ax.set(xscale="log", xlabel="rows whose labels have come", ylabel="mean log loss so far, nats")
ax.legend(frameon=False)
plt.show()

# %%
# In code: announce now, learn when the label is there. The loss is counted where it was announced.

learner = AIOLI()
waiting = []
for t in range(200):
    waiting.append((t, learner.announce(X[t])))
    if len(waiting) > 50:  # the label of the row 50 rows ago comes
        row, announced = waiting.pop(0)
        learner.learn(X[row], y[row], announced=announced)
print(learner.rounds, "labels learned,", len(waiting), "still out")
