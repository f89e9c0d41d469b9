"""
Learners taught apart, put together
===================================

Four machines each see a quarter of the rows. `merge` makes one learner of theirs, the sum of what the four know, with a
certificate for all rows: what is added up is A and b, not coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np

from aioli import AIOLI

rng = np.random.default_rng(0)
theta = np.array([2.0, -1.0, 0.5, 0.0, -0.5])
X, X_new = rng.normal(size=(800, 5)), rng.normal(size=(5000, 5))
y = X @ theta + rng.logistic(size=800) > 0
p_new = 1 / (1 + np.exp(-X_new @ theta))

parts = []
for quarter in range(4):
    learner = AIOLI()
    learner.learn_many(X[quarter::4], y[quarter::4])
    parts.append(learner)

together = AIOLI()
for part in parts:
    together.merge(part)
alone = AIOLI()
alone.learn_many(X, y)


def excess(learner):
    """The expected log loss on new rows, more than that of the truth."""
    q = learner.predict_many(X_new)
    return float(np.mean(p_new * np.log(p_new / q) + (1 - p_new) * np.log((1 - p_new) / (1 - q))))


names = [*(f"machine {k + 1}" for k in range(4)), "merged", "one machine,\nall rows"]
figure, ax = plt.subplots(figsize=(7, 3.6))
ax.bar(names, [excess(learner) for learner in (*parts, together, alone)], color=["0.7"] * 4 + ["#0b6e69", "#c84c09"])
ax.set(ylabel="excess log loss on new rows, nats")
plt.show()
print(together.rounds, "rows in all;", together.certificate())
