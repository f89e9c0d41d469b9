"""
Text: a row costs what is in it
===============================

Words make rows of thousands of columns, nearly all 0. `Auto` sees this in the first row and plays `Wide`: O(non-
zeros) a row. Here the messages are made of two vocabularies.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from aioli import Auto

rng = np.random.default_rng(0)
common = [f"word{k}" for k in range(400)]
spammy, honest = ["win", "cash", "free", "offer"], ["meeting", "report", "lunch", "regards"]
spam = rng.random(3000) < 0.3
messages = []
for is_spam in spam:
    words = list(rng.choice(common, 12))
    own = rng.choice(spammy if is_spam else honest, rng.integers(0, 3))
    messages.append(" ".join([*words, *own]))

rows = HashingVectorizer(n_features=2**12, alternate_sign=False, norm=None).transform(messages)
learner = Auto()
p = learner.learn_many(rows, spam)

# %%

loss = -np.log(np.where(spam, p, 1 - p))
figure, ax = plt.subplots(figsize=(7, 4))
ax.plot(np.cumsum(loss) / np.arange(1, 3001), color="#0b6e69", label="Auto on 4,096 columns")
ax.axhline(-0.3 * np.log(0.3) - 0.7 * np.log(0.7), color="0.6", label="base rate")
ax.set(xlabel="messages", ylabel="mean log loss so far, nats", ylim=(0, 1))
ax.legend(frameon=False)
plt.show()

# %%
# Messages like those that it has learned from, with two words of one vocabulary, of the other, or of neither.

for own in ("win cash", "lunch meeting", ""):
    text = " ".join([*common[:12], own])
    row = HashingVectorizer(n_features=2**12, alternate_sign=False, norm=None).transform([text])
    print(f"{learner.predict(row):.3f}  twelve common words, and {own or 'no other'}")
