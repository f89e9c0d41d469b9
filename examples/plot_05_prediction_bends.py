"""
The one equation: a prediction that hedges
==========================================

A linear model says θx. AIOLI solves z + (v/2)·tanh(z/2) = m, where m is what its coefficients say of the row and v
how little it knows in the row's direction. Far from the rows it has seen, v grows faster than m, and the prediction
goes back towards ½.
"""

import matplotlib.pyplot as plt
import numpy as np

from aioli import AIOLI

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, size=(20, 1))
y = rng.random(20) < 1 / (1 + np.exp(-3 * x[:, 0]))

learner = AIOLI(radius=8.0, intercept=False)
learner.learn_many(x, y)

grid = np.linspace(-4, 4, 401)
z = learner.predict_logit_many(grid[:, None])
linear = learner.coefficients_[0] * grid

figure, left = plt.subplots(figsize=(6.4, 4))
left.axvspan(x.min(), x.max(), color="0.93", label="rows seen")
left.plot(grid, linear, color="0.6", label="m: what the coefficients say")
left.plot(grid, z, color="#0b6e69", lw=2, label="z: what is announced")
left.set(xlabel="x", ylabel="log-odds", ylim=(-6, 6))
left.legend(frameon=False)
plt.show()

# %%
# The left side of the equation for growing v, with m = 2: the larger the uncertainty, the smaller the root.

zs = np.linspace(0, 3, 200)
figure, right = plt.subplots(figsize=(6.4, 4))
for v, shade in ((0.0, "0.7"), (1.0, "#8ec6c0"), (4.0, "#3d9a92"), (16.0, "#0b6e69")):
    right.plot(zs, zs + 0.5 * v * np.tanh(zs / 2), color=shade, label=f"v = {v:g}")
right.axhline(2.0, color="#c84c09", lw=1)
right.annotate("m = 2", (2.6, 2.05), color="#c84c09")
right.set(xlabel="z", ylabel="z + (v/2) tanh(z/2)", ylim=(0, 4))
right.legend(frameon=False)
plt.show()
