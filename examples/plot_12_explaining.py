"""
Explaining a prediction
=======================

What each column does in general, and what each added to one row's log-odds: against the average of some rows, for any
learner. For a regulator: the second picture is the answer to "why this applicant?".
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from aioli import Auto, explain_columns, explain_row

data = load_breast_cancer(as_frame=True)
X, y = data.data, 1 - data.target
learner = Auto()
learner.learn_many(X.to_numpy(), y)
learner.feature_names_ = list(X.columns)
rows = X.to_numpy()[:200]

effects = explain_columns(learner, rows)[:8]
parts = explain_row(learner, X.to_numpy()[19], rows)[:8]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.barh([e.name for e in effects][::-1], [e.importance for e in effects][::-1], color="#0b6e69")
left.set(xlabel="mean change of the log-odds", title="in general")
colours = ["#c84c09" if part.log_odds > 0 else "#0b6e69" for part in parts]
names = [f"{part.name} = {part.value}" for part in parts]
right.barh(names[::-1], [part.log_odds for part in parts][::-1], color=colours[::-1])
right.axvline(0, color="0.4", lw=0.8)
right.set(xlabel="added to the log-odds of malignant", title=f"one row: p = {learner.predict(X.to_numpy()[19]):.3f}")
plt.show()
