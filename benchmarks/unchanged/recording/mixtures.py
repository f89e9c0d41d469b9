"""Scenarios of Auto and Wide: dense, wide and sparse rows, and streams long enough for experts to retire."""

import pickle
from typing import Any

import numpy as np

from aioli import Auto, Wide
from benchmarks.unchanged.recording import streams
from benchmarks.unchanged.recording.courses import course, note_all, rows_of
from benchmarks.unchanged.recording.notes import Notes, Scenario

__all__ = ["SCENARIOS"]

LIGHT = ("one by one", "at once", "in pieces")
ALL_BUT_WIDTH = ("one by one", "at once", "in pieces", "weighted", "late", "continued", "grown")
HEAVIEST = 1e5


def _retiring(notes: Notes) -> None:
    """Learn the same rows at once, in uneven blocks, and one by one; before and after experts have retired."""
    X, y = streams.ring(9500, 5)
    at_once = Auto()
    notes.note("at once: learn_many", at_once.learn_many(X, y))
    note_all(notes, "at once", at_once, X)
    blocks = Auto()
    said = [blocks.learn_many(part, labels) for part, labels in zip(_blocks(X), _blocks(y), strict=True)]
    notes.note("in blocks: learn_many", np.concatenate(said))
    note_all(notes, "in blocks", blocks, X)
    single = Auto()
    notes.note("one by one: learn", [single.learn(x, label) for x, label in zip(X, y, strict=True)])
    note_all(notes, "one by one", single, X)
    at_once.grow(2)
    wider, labels = streams.ring(800, 7, seed=30)
    notes.note("grown after retiring: learn_many", at_once.learn_many(wider, labels))
    note_all(notes, "grown after retiring", at_once, wider)


def _blocks(values: Any) -> list[Any]:
    return np.array_split(values, [1, 500, 1600, 4000, 4096, 4100, 8192, 9000])


def _heavy(notes: Notes) -> None:
    """Weights of all sizes, in blocks long enough for several threads."""
    X, y = streams.wild(2600, 4, decades=8.0)
    weights = 10.0 ** np.random.default_rng(31).uniform(-3.0, np.log10(HEAVIEST), size=len(y))
    for name, learner in {"Auto": Auto(), "Auto(experts=3)": Auto(experts=3)}.items():
        notes.note(f"{name}: learn_many", learner.learn_many(X, y, weights))
        note_all(notes, name, learner, X)


def _heavy_and_collinear(notes: Notes) -> None:
    """So much is learned along one direction that an expert turns to its factored form, and goes on in it."""
    rng = np.random.default_rng(35)
    X = np.repeat(rng.normal(size=(2500, 1)), 4, axis=1) + 1e-9 * rng.normal(size=(2500, 4))
    y = (rng.random(2500) < 0.5).astype(float)
    learner = Auto()
    notes.note("learn_many", learner.learn_many(X[:2300], y[:2300], np.full(2300, 9e5)))
    note_all(notes, "learn_many", learner, X)
    twin = pickle.loads(pickle.dumps(learner))
    notes.note("learn", [learner.learn(x, t) for x, t in zip(X[2300:], y[2300:], strict=True)])
    notes.note("pickled: learn_many", twin.learn_many(X[2300:], y[2300:]))
    note_all(notes, "grown", twin.grow(1))


def _any_width(notes: Notes) -> None:
    """Hashed rows whose width changes from one call to the next."""
    X, y = streams.words(900, 3000, 15, seed=32)
    learner = Wide(hashing=10)
    for k, width in enumerate((3000, 800, 2000)):
        part = slice(300 * k, 300 * (k + 1))
        rows = X[part, :width]
        notes.note(f"{width} columns: learn_many", learner.learn_many(rows[:200], y[part][:200]))
        said = [learner.learn(x, t) for x, t in zip(rows_of(rows[200:]), y[part][200:], strict=True)]
        notes.note(f"{width} columns: learn", said)
    note_all(notes, "at the end", learner, X)


def _dense_rows_of_wide(notes: Notes) -> None:
    X, y = streams.words(300, 400, 8, seed=33)
    rows = X.toarray()
    learners: dict[str, Any] = {"Wide": Wide(), "Auto": Auto()}
    for name, learner in learners.items():
        notes.note(f"{name}: learn_many", learner.learn_many(rows[:200], y[:200]))
        notes.note(f"{name}: learn", [learner.learn(x, t) for x, t in zip(rows[200:], y[200:], strict=True)])
        note_all(notes, name, learner, rows)
    wide = Wide()
    wide.learn_many(rows, y)
    notes.note("Wide: certificate(radius=2)", float(wide.certificate(radius=2.0)))


SCENARIOS: dict[str, Scenario] = {
    "Auto": course(lambda: Auto(), streams.dense(1300, 6)),
    "Auto, one column": course(lambda: Auto(), streams.dense(300, 1, seed=34), LIGHT),
    "Auto, wild scales": course(lambda: Auto(), streams.wild(600, 5, decades=8.0)),
    "Auto, drift": course(lambda: Auto(), streams.drifting(600, 4)),
    "Auto, one-hot": course(lambda: Auto(), streams.one_hot(600, (3, 12, 30))),
    "Auto, collinear rows": course(lambda: Auto(), streams.collinear(400, 6, length=1e8)),
    "Auto, labels hardly in doubt": course(lambda: Auto(), streams.nearly_separable(400, 4)),
    "Auto, 300 columns": course(lambda: Auto(), streams.dense(300, 300), ("at once", "in pieces")),
    "Auto, three experts": course(lambda: Auto(experts=3), streams.dense(600, 6)),
    "Auto, experts retire": _retiring,
    "Auto, heavy weights": _heavy,
    "Auto, heavy weights, collinear rows": _heavy_and_collinear,
    "Auto, wide sparse rows": course(lambda: Auto(), streams.words(700, 2500, 20)),
    "Auto, wide one-hot": course(lambda: Auto(), streams.one_hot(500, (100, 150)), ALL_BUT_WIDTH),
    "Wide": course(lambda: Wide(), streams.words(900, 5000, 20)),
    "Wide, four experts": course(lambda: Wide(experts=4), streams.words(600, 5000, 20), LIGHT),
    "Wide, hashing": course(lambda: Wide(hashing=11), streams.words(900, 5000, 20), ALL_BUT_WIDTH[:-1]),
    "Wide, hashing, any width": _any_width,
    "Wide and Auto, dense rows": _dense_rows_of_wide,
}
