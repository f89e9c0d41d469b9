"""
In scikit-learn: pipelines, cross-validation, displays
======================================================

`AIOLIClassifier` is a classifier like any other. `fit` does not depend on the order of the rows; `partial_fit` goes
on with a stream. scikit-learn's own displays take it.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aioli import AIOLI
from aioli.sklearn import AIOLIClassifier

X, y = make_classification(6000, 20, n_informative=6, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

models = {
    "AIOLIClassifier": make_pipeline(StandardScaler(), AIOLIClassifier(AIOLI())),
    "LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression()),
    "SGDClassifier": make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
}
figure, ax = plt.subplots(figsize=(6, 5))
for name, model in models.items():
    model.fit(X_train, y_train)
    CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=10, strategy="quantile", name=name, ax=ax)
plt.show()

# %%
# The classifier keeps the learner, with its certificate.

print(models["AIOLIClassifier"][-1].learner_.certificate())
