"""
A model of your own as a guest
==============================

A batch model that was trained on old data plays as a guest beside `Auto`'s experts: it is heard while it is good,
corrected where it is too bold, and left behind when the world moves on. The mixture is never more than ln(1/w) + 0.9 +
1.11 ln((n + 9)/9) nats behind a guest that began with the share w: for n = 800 rows and w = 0.6, some 6.4.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from aioli import Auto

rng = np.random.default_rng(0)


def rows(count, sign):
    """Rows whose label depends on a product of columns, and on a third one whose sign changes."""
    X = rng.normal(size=(count, 4))
    return X, 2 * X[:, 0] * X[:, 1] + sign * X[:, 2] + rng.logistic(size=count) > 0


guest = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(*rows(4000, +1))
(X1, y1), (X2, y2) = rows(300, +1), rows(500, -1)
X, y = np.vstack([X1, X2]), np.concatenate([y1, y2])

mixture, alone = Auto(budget="fast", guests=[guest]), Auto(budget="fast")
said = {
    "the guest alone": guest.predict_proba(X)[:, 1],
    "Auto without it": alone.learn_many(X, y),
    "Auto with the guest": mixture.learn_many(X, y),
}
figure, ax = plt.subplots(figsize=(8, 4))
for (name, p), colour in zip(said.items(), ("0.6", "#c84c09", "#0b6e69"), strict=True):
    loss = -np.log(np.where(y, p, 1 - p))
    ax.plot(loss.reshape(-1, 50).mean(axis=1).repeat(50), color=colour, label=f"{name}: {loss.mean():.3f}")
ax.axvline(300, color="0.8", lw=1)
ax.set(xlabel="rows", ylabel="log loss of 50 rows, nats")
ax.legend(frameon=False)
plt.show()
