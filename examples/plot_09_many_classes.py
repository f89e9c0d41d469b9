"""
Many classes, also ones that nobody announced
=============================================

`classes="any"` takes classes as they come, and keeps a little probability for one that has not come yet: the escape.
Ten digits appear one by one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from aioli import AIOLI

X, digit = load_digits(return_X_y=True)
learner = AIOLI(classes="any", structure="one_vs_rest")
P = learner.learn_many(X / 16.0, digit)

place = {label: k for k, label in enumerate(learner.classes_)}
number = np.array([place[label] for label in digit.tolist()])
loss = -np.log(P[np.arange(len(digit)), number])
right = P.argmax(axis=1) == number
print(f"order of appearance: {learner.classes_}")
print(f"{right.mean():.1%} right over all rows, {right[-500:].mean():.1%} of the last 500")

# %%
# The confusion of the last thousand rows.

last = slice(-1000, None)
confusion = np.zeros((10, 10))
np.add.at(confusion, (digit[last], np.array(learner.classes_)[P[last].argmax(axis=1)]), 1)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.plot(np.cumsum(loss) / np.arange(1, len(loss) + 1), color="#0b6e69")
left.axhline(np.log(10), color="0.6", label="ten equal chances")
left.set(xlabel="rows", ylabel="mean log loss so far, nats", ylim=(0, 3))
left.legend(frameon=False)
right.imshow(np.log1p(confusion), cmap="Greens")
right.set(xlabel="announced as likeliest", ylabel="digit", xticks=range(10), yticks=range(10))
plt.show()
