"""
Columns that appear on the way
==============================

A new sensor is installed after 500 rows. `grow` makes room for its column exactly as if it had been there, and 0,
from the first row: nothing that was learned is lost, and the certificate goes on.
"""

import matplotlib.pyplot as plt
import numpy as np

from aioli import AIOLI

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3))
y = X @ [1.0, -0.5, 3.0] + rng.logistic(size=2000) > 0  # the third column says most

old, new = AIOLI(), AIOLI()
p_old = old.learn_many(X[:, :2], y)  # never gets the sensor
p_new = np.empty(2000)
p_new[:500] = new.learn_many(X[:500, :2], y[:500])
new.grow(1)
p_new[500:] = new.learn_many(X[500:], y[500:])

figure, ax = plt.subplots(figsize=(7, 4))
for p, colour, label in ((p_old, "0.6", "two columns"), (p_new, "#0b6e69", "a third from row 500 on")):
    loss = -np.log(np.where(y, p, 1 - p))
    ax.plot(loss.reshape(-1, 50).mean(axis=1).repeat(50), color=colour, label=label)
ax.axvline(500, color="#c84c09", lw=1)
ax.set(xlabel="rows", ylabel="log loss of 50 rows, nats")
ax.legend(frameon=False)
plt.show()
print(new.certificate())
