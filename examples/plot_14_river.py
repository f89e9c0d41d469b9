"""
In River: pipelines, metrics and drift detectors
================================================

`aioli.river.AIOLIClassifier` learns dictionaries, one at a time; features may come and go. Here ADWIN watches the
loss of each row, and says when the concept of River's SEA stream has changed.
"""

import math
from itertools import islice

import matplotlib.pyplot as plt
import numpy as np
from river import drift, metrics, preprocessing
from river.datasets import synth

from aioli import AIOLI
from aioli.river import AIOLIClassifier

stream = synth.ConceptDriftStream(
    stream=synth.SEA(variant=0, seed=1), drift_stream=synth.SEA(variant=3, seed=1), position=3000, width=50, seed=1
)
model = preprocessing.StandardScaler() | AIOLIClassifier(AIOLI(forgetting=0.998))
watch, metric, losses, alarms = drift.ADWIN(), metrics.LogLoss(), [], []
for t, (x, y) in enumerate(islice(stream, 6000)):
    p = model.predict_proba_one(x).get(True, 0.5)
    losses.append(-math.log(max(p if y else 1 - p, 1e-12)))
    metric.update(y, p)
    watch.update(losses[-1])
    if watch.drift_detected:
        alarms.append(t)
    model.learn_one(x, y)

figure, ax = plt.subplots(figsize=(8, 4))
ax.plot(np.array(losses).reshape(-1, 100).mean(axis=1).repeat(100), color="#0b6e69")
for alarm in alarms:
    ax.axvline(alarm, color="#c84c09", lw=1)
ax.set(xlabel="rows", ylabel="log loss of 100 rows, nats", title=f"{metric}; alarms at {alarms}")
plt.show()
