"""Scenarios of the scikit-learn and River classifiers."""

import importlib
from typing import Any

import numpy as np

from aioli import AIOLI, EKF, Auto, Wide
from benchmarks.unchanged.recording import streams
from benchmarks.unchanged.recording.courses import note_all
from benchmarks.unchanged.recording.notes import Notes, Scenario

__all__ = ["SCENARIOS"]

LETTERS = "abcdefghij"


def _classifier(notes: Notes, name: str, model: Any, X: Any) -> None:
    """Note all that a fitted scikit-learn classifier says of rows."""
    for method in ("predict_proba", "predict_log_proba", "decision_function", "predict"):
        notes.note(f"{name}: {method}", getattr(model, method)(X))
    notes.note(f"{name}: classes_", model.classes_)
    if hasattr(model, "coef_"):
        notes.note(f"{name}: coef_", model.coef_)
        notes.note(f"{name}: intercept_", model.intercept_)


def _sklearn(notes: Notes) -> None:
    face: Any = importlib.import_module("aioli.sklearn")
    X, y = streams.wild(900, 5, decades=4.0, seed=60)
    named = np.where(y == 1.0, "yes", "no")
    weights = np.random.default_rng(61).choice([0.0, 0.5, 1.0, 40.0], size=len(y))
    models = {
        "default": face.AIOLIClassifier(),
        "average=8": face.AIOLIClassifier(average=8),
        "Auto(experts=2)": face.AIOLIClassifier(Auto(experts=2)),
        "balanced": face.AIOLIClassifier(class_weight="balanced"),
    }
    for name, model in models.items():
        model.fit(X[:600], named[:600])
        _classifier(notes, f"{name}, fit", model, X[600:640])
        model.fit(X[:300], y[:300], sample_weight=weights[:300])
        _classifier(notes, f"{name}, fit with weights", model, X[600:640])
    unit, labels = streams.dense(900, 5, seed=62)
    models = {
        "default": face.AIOLIClassifier(),
        "AIOLI": face.AIOLIClassifier(AIOLI(radius=2.0), class_weight={1.0: 3.0}),
        "AIOLI, average=5": face.AIOLIClassifier(AIOLI(intercept=False), average=5),
        "EKF": face.AIOLIClassifier(EKF()),
    }
    for name, model in models.items():
        for k in range(0, 900, 150):
            part = slice(k, k + 150)
            if name != "EKF" and k % 300:
                model.partial_fit(unit[part], labels[part], sample_weight=weights[part])
            else:
                model.partial_fit(unit[part], labels[part], classes=[0.0, 1.0])
        _classifier(notes, f"{name}, partial_fit", model, unit[:40])
    sparse, labels = streams.words(400, 2500, 10, seed=63)
    for name, learner in {"default": None, "Wide": Wide(hashing=9)}.items():
        model = face.AIOLIClassifier(learner).fit(sparse, labels)
        _classifier(notes, f"{name}, sparse rows", model, sparse[:30])


def _rows_with_keys(count: int, seed: int) -> list[tuple[dict[str, float], bool]]:
    """Dictionaries whose keys come one after the other, are absent now and then, and some of which go for good."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=len(LETTERS))
    rows = []
    for t in range(count):
        values = rng.normal(size=len(LETTERS))
        known = 3 + 8 * t // count
        here = [j for j in range(min(known, len(LETTERS))) if rng.random() < 0.85 and not (j == 1 and 2 * t > count)]
        rng.shuffle(here)
        x = {LETTERS[j]: float(values[j]) for j in here}
        rows.append((x, bool(sum(theta[j] * values[j] for j in here) + rng.logistic() > 0.0)))
    return rows


def _river(notes: Notes) -> None:
    face: Any = importlib.import_module("aioli.river")
    rows = _rows_with_keys(500, seed=64)
    for name, learner in {"default": None, "AIOLI": AIOLI(radius=2.0), "Wide": Wide()}.items():
        model = face.AIOLIClassifier(learner)
        said = []
        for t, (x, y) in enumerate(rows):
            said.append(model.predict_proba_one(x)[True])
            model.learn_one(x, y, **({"w": 2.5} if t % 7 == 3 else {}))
        notes.note(f"{name}: predict_proba_one", said)
        notes.note(f"{name}: predict_one", [model.predict_one(x) for x, _ in rows[:30]])


def _river_frames(notes: Notes) -> None:
    face: Any = importlib.import_module("aioli.river")
    pandas: Any = importlib.import_module("pandas")
    X, y = streams.dense(600, 4, seed=65)
    for name, learner in {"default": None, "AIOLI": AIOLI(), "Wide": Wide()}.items():
        model = face.AIOLIClassifier(learner)
        for k in range(0, 600, 60):
            width = 2 if k < 180 else 4
            frame = pandas.DataFrame(X[k : k + 60, :width], columns=list(LETTERS[:width]))
            labels = pandas.Series(np.where(y[k : k + 60] == 1.0, "b", "a"))
            weights = pandas.Series(np.linspace(0.5, 2.0, 60)) if k == 240 else None
            if k:
                said = model.predict_proba_many(frame)
                notes.note(f"{name}, row {k}: predict_proba_many", said[sorted(said.columns)].to_numpy())
            model.learn_many(frame, labels, weights)
        notes.note(f"{name}: predict_many", model.predict_many(frame).astype(str).to_numpy().astype(str))


def _sklearn_learner(notes: Notes) -> None:
    """What the learner inside knows, after frames with names."""
    face: Any = importlib.import_module("aioli.sklearn")
    pandas: Any = importlib.import_module("pandas")
    X, y = streams.dense(300, 3, seed=66)
    for name, model in {"default": face.AIOLIClassifier(), "AIOLI": face.AIOLIClassifier(AIOLI())}.items():
        model.fit(pandas.DataFrame(X, columns=["one", "two", "three"]), y.astype(int))
        note_all(notes, name, model.learner_)
        notes.note(f"{name}: feature_names_", model.learner_.feature_names_)


SCENARIOS: dict[str, Scenario] = {
    "scikit-learn's face": _sklearn,
    "scikit-learn's face, the learner inside": _sklearn_learner,
    "River's face, one by one": _river,
    "River's face, frames": _river_frames,
}
