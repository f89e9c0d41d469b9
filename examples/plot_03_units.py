"""
Units do not matter to Auto
===========================

`AIOLI` takes columns as they come: its ball and its prior are in their units. `Auto` reads each row in views that do
not depend on the unit or the origin of a column, so metres or millimetres give the same probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from aioli import AIOLI, Auto

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 4))
y = X @ [2.0, -1.0, 0.5, 0.0] + rng.logistic(size=2000) > 0

powers = range(-6, 7, 2)
losses = {name: [] for name in ("AIOLI", "Auto")}
for power in powers:
    scaled = X * [10.0**power, 1.0, 1.0, 1.0]  # the first column in another unit
    for name, learner in (("AIOLI", AIOLI()), ("Auto", Auto(budget="fast"))):
        learner.learn_many(scaled, y)
        losses[name].append(learner.loss / len(y))

# %%
# The loss of `Auto` is a straight line: nothing changes but the last digits.

figure, ax = plt.subplots(figsize=(7, 4))
ax.plot(powers, losses["AIOLI"], "o-", color="#c84c09", label="AIOLI, columns as they come")
ax.plot(powers, losses["Auto"], "o-", color="#0b6e69", label="Auto")
ax.set(xlabel="the first column times 10 to this power", ylabel="log loss, nats a row", yscale="log")
ax.legend(frameon=False)
plt.show()

print("largest difference of Auto's losses:", max(losses["Auto"]) - min(losses["Auto"]))
