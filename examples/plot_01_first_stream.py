"""
A stream, row by row
====================

Every row is predicted before its label is known, then learned. So the loss along the way is an honest score from the
first row on, and no test set is needed. The base rate is what one says who looks at no column.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from aioli import Auto

X, benign = load_breast_cancer(return_X_y=True)
y = 1 - benign  # 1: malignant

learner = Auto()
p = learner.learn_many(X, y)  # each row's probability before its label

# %%
# The loss of a row is −ln of the probability that was given to what happened. The base rate's probability for row t
# is the share of positives among the rows before it (with one half added to each side).

rows = np.arange(1, len(y) + 1)
share = (np.cumsum(y) - y + 0.5) / rows
loss = -np.log(np.where(y, p, 1 - p)).cumsum() / rows
base = -np.log(np.where(y, share, 1 - share)).cumsum() / rows

figure, ax = plt.subplots(figsize=(7, 4))
ax.plot(rows, base, color="0.6", label="base rate")
ax.plot(rows, loss, color="#0b6e69", label="Auto")
ax.set(xscale="log", xlabel="rows", ylabel="mean log loss so far, nats", ylim=(0, None))
ax.legend(frameon=False)
plt.show()

# %%
# What the run itself proves: no fixed linear model of the named view would have lost so many nats less, in total.

print(learner.certificate())
