"""Scenarios of AIOLI itself: all its parameters, and all forms in which its state is kept."""

import numpy as np

from aioli import AIOLI
from benchmarks.unchanged.recording import streams
from benchmarks.unchanged.recording.courses import course, note_all, rows_of
from benchmarks.unchanged.recording.notes import Notes, Scenario

__all__ = ["SCENARIOS"]

LIGHT = ("one by one", "at once", "in pieces")


def _merged(notes: Notes) -> None:
    X, y = streams.dense(900, 5, seed=20)
    for radius in (4.0, 1.0):
        parts = [AIOLI(radius=radius) for _ in range(3)]
        for k, learner in enumerate(parts):
            learner.learn_many(X[k * 200 : (k + 1) * 200], y[k * 200 : (k + 1) * 200])
        whole = parts[0].merge(parts[1]).merge(parts[2])
        note_all(notes, f"radius {radius}, merged", whole, X)
        notes.note(f"radius {radius}, merged: learn_many", whole.learn_many(X[600:], y[600:]))
        note_all(notes, f"radius {radius}, merged, later", whole, X)
    fresh = AIOLI().merge(AIOLI())
    note_all(notes, "nothing merged with nothing", fresh)
    learned = AIOLI()
    learned.learn_many(X[:100], y[:100])
    note_all(notes, "something merged into nothing", AIOLI().merge(learned), X)
    factored = AIOLI(radius=1.0), AIOLI(radius=1.0)
    X, y = streams.collinear(600, 6, length=1e6)
    for k, learner in enumerate(factored):
        learner.learn_many(X[k * 300 : (k + 1) * 300], y[k * 300 : (k + 1) * 300])
    note_all(notes, "factored, merged", factored[0].merge(factored[1]), X)


def _kinds_of_rows(notes: Notes) -> None:
    """The same rows as lists, other types of numbers, other layouts."""
    X, y = streams.dense(400, 4, seed=21)
    X = np.round(4.0 * X)
    kinds = {
        "float32": X.astype(np.float32),
        "int": X.astype(np.int64),
        "Fortran order": np.asfortranarray(X),
        "every other column": np.repeat(X, 2, axis=1)[:, ::2],
        "bool": X > 0.0,
    }
    for name, rows in kinds.items():
        learner = AIOLI()
        said = [learner.learn(x, t) for x, t in zip(rows_of(rows[:200]), y, strict=False)]
        notes.note(f"{name}: learn", said)
        notes.note(f"{name}: learn_many", learner.learn_many(rows[200:], y[200:]))
        note_all(notes, name, learner, rows)
    learner = AIOLI()
    notes.note("lists: learn", [learner.learn(x, bool(t)) for x, t in zip(X.tolist(), y, strict=True)])
    notes.note("lists: predict_many", learner.predict_many(X.tolist()))
    signs = AIOLI()
    notes.note("labels of -1 and 1: learn_many", signs.learn_many(X, np.where(y == 1.0, 1, -1)))


SCENARIOS: dict[str, Scenario] = {
    "AIOLI": course(lambda: AIOLI(), streams.dense(1500, 6)),
    "AIOLI, one column": course(lambda: AIOLI(), streams.dense(400, 1, seed=22), LIGHT),
    "AIOLI, paper's curvature": course(lambda: AIOLI(curvature="paper", radius=2.0), streams.dense(1200, 8)),
    "AIOLI, full curvature": course(lambda: AIOLI(curvature="full", ridge=0.5), streams.dense(1200, 8)),
    "AIOLI, forgetting": course(lambda: AIOLI(forgetting=0.99), streams.drifting(1500, 5)),
    "AIOLI, no intercept": course(lambda: AIOLI(intercept=False), streams.dense(1200, 7)),
    "AIOLI, regulariser ½": course(lambda: AIOLI(radius=8.0, regulariser=0.5), streams.dense(1200, 7)),
    "AIOLI, regulariser 0, ridge 0.01": course(lambda: AIOLI(regulariser=0.0, ridge=0.01), streams.dense(1200, 7)),
    "AIOLI, radius 50": course(lambda: AIOLI(radius=50.0), streams.dense(800, 3)),
    "AIOLI, labels hardly in doubt": course(lambda: AIOLI(radius=20.0), streams.nearly_separable(800, 4)),
    "AIOLI, wild scales": course(lambda: AIOLI(), streams.wild(800, 6, decades=3.0)),
    "AIOLI, one-hot": course(lambda: AIOLI(), streams.one_hot(1000, (3, 12, 30))),
    "AIOLI, collinear rows": course(lambda: AIOLI(radius=1.0), streams.collinear(800, 8, length=1e6)),
    "AIOLI, collinear rows, forgetting": course(
        lambda: AIOLI(radius=1.0, forgetting=0.999), streams.collinear(800, 8, length=1e6)
    ),
    "AIOLI, 50 columns": course(lambda: AIOLI(), streams.dense(600, 50), LIGHT),
    "AIOLI, 300 columns": course(lambda: AIOLI(), streams.dense(900, 300)),
    "AIOLI, 300 columns, paper's curvature": course(
        lambda: AIOLI(curvature="paper"), streams.dense(700, 300, seed=23), LIGHT
    ),
    "AIOLI, 300 columns, forgetting": course(lambda: AIOLI(forgetting=0.999), streams.drifting(500, 300), LIGHT),
    "AIOLI, 300 collinear columns": course(lambda: AIOLI(radius=1.0), streams.collinear(600, 300, length=1e6), LIGHT),
    "AIOLI, merge": _merged,
    "AIOLI, kinds of rows": _kinds_of_rows,
}
