"""
A world that changes
====================

Half way, the sign of every effect turns around. A learner that never forgets is misled for long; one that forgets
pays a little while nothing changes. `Auto` plays both kinds, and moves its shares.
"""

import matplotlib.pyplot as plt
import numpy as np

from aioli import AIOLI, Auto
from aioli.plot import DriftDisplay, SharesDisplay, record_run

rng = np.random.default_rng(0)
X = rng.normal(size=(8000, 4))
effect = np.array([2.0, -1.0, 0.5, 0.0])
sign = np.where(np.arange(8000) < 4000, 1.0, -1.0)
y = sign * (X @ effect) + rng.logistic(size=8000) > 0

players = {
    "never forgets": AIOLI(),
    "forgets, ρ = 0.99": AIOLI(forgetting=0.99),
    "Auto": Auto(budget="fast"),
}
figure, ax = plt.subplots(figsize=(8, 4))
for (name, learner), colour in zip(players.items(), ("0.6", "#c84c09", "#0b6e69"), strict=True):
    p = learner.learn_many(X, y)
    loss = -np.log(np.where(y, p, 1 - p))
    ax.plot(loss.reshape(-1, 200).mean(axis=1).repeat(200), color=colour, label=f"{name}: {loss.mean():.3f}")
ax.set(xlabel="rows", ylabel="log loss of 200 rows, nats")
ax.legend(frameon=False, title="mean over all rows")
plt.show()

# %%
# Who was heard, and where the loss changed: what `aioli run` prints as `changed near row …`.

run = record_run(Auto(budget="fast"), X, y)
figure, (left, right) = plt.subplots(2, 1, figsize=(8, 7), layout="constrained")
SharesDisplay.from_run(run, ax=left)
display = DriftDisplay.from_run(run, ax=right)
plt.show()
print(*display.changes, sep="\n")
