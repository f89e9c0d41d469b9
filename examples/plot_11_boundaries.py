"""
Boundaries that bend
====================

A linear learner, a forest, a kernel and `Auto`, each taught 1,500 rows of two half moons, and what each then says of
every point of the plane.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from aioli import AIOLI, Auto, Forest, Nystrom

X, y = make_moons(1500, noise=0.25, random_state=0)
axis = np.linspace(-2, 3, 90), np.linspace(-1.5, 2, 80)
grid = np.stack(np.meshgrid(*axis), axis=-1).reshape(-1, 2)

figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained", sharey=True)
for learner, ax in zip((AIOLI(), Forest(), Nystrom(), Auto()), axes, strict=True):
    learner.learn_many(X, y)
    P = learner.predict_many(grid).reshape(len(axis[1]), len(axis[0]))
    ax.contourf(*axis, P, levels=np.linspace(0, 1, 11), cmap="BrBG")
    ax.scatter(*X[-200:].T, c=y[-200:], s=6, cmap="BrBG", edgecolors="0.3", linewidths=0.3)
    ax.set(title=f"{type(learner).__name__}: {learner.loss / len(y):.3f} nats", xticks=[], yticks=[])
plt.show()
