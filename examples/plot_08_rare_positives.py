"""
Rare positives: honest in the tails
===================================

One row in a hundred is a fraud. Accuracy says nothing (99 % by never looking), probabilities do: with an honest one,
the threshold follows from the costs. If a missed fraud costs as much as 50 false alarms, check where p > 1/51.
"""

import matplotlib.pyplot as plt
import numpy as np

from aioli import Auto
from aioli.plot import CalibrationDisplay, record_run

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 4))
logit = X @ [1.5, 1.0, -0.5, 0.0] - 6.0
y = rng.random(20_000) < 1 / (1 + np.exp(-logit))
print(f"{y.mean():.2%} of the rows are positive")

run = record_run(Auto(budget="fast"), X, y)
CalibrationDisplay.from_run(run)
plt.show()

# %%
# The cost of each threshold, per thousand rows: a false alarm costs 1, a missed fraud 50. The least is near 1/51.

thresholds = np.geomspace(1e-3, 0.5, 60)
after = slice(2000, None)  # once it knows something
p, truth = run.p[after], run.y[after] == 1.0
cost = [1000 * ((~truth & (p > t)).sum() + 50 * (truth & (p <= t)).sum()) / len(p) for t in thresholds]
figure, right = plt.subplots(figsize=(6.4, 4))
right.plot(thresholds, cost, color="#0b6e69")
right.axvline(1 / 51, color="#c84c09", label="1/51, from the costs alone")
right.set(xscale="log", xlabel="threshold", ylabel="cost per 1,000 rows", ylim=(0, None))
right.legend(frameon=False)
plt.show()
