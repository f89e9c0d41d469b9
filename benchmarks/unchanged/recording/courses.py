"""Courses that any learner can be put through; each notes all that the learner says on the way."""

import copy
import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.unchanged.recording.notes import Notes, Scenario
from benchmarks.unchanged.recording.streams import Stream, Vector

__all__ = ["ALL", "course", "note_all", "rows_of"]

Make = Callable[[], Any]
Course = Callable[[Notes, Make, Any, Vector], None]

PROBES = 5  # rows of which a learner is asked without learning
PIECES = (1, 2, 7, 40, 130, 600)  # rows that are learned at once, in turn
KNOWN = (
    *("rounds", "loss", "n_features_", "coefficients_", "weights_", "bandwidths_", "dictionary_sizes_", "gamma_"),
    *("effective_dimension_", "kept_rounds_", "ridge_", "square_loss"),
)


def course(make: Make, stream: Stream, courses: Sequence[str] = ()) -> Scenario:
    """Make the scenario that puts fresh learners through these courses, or through all."""

    def play(notes: Notes) -> None:
        for name in courses or ALL:
            ALL[name](notes, make, *stream)

    return play


def rows_of(X: Any) -> list[Any]:
    """Split into single rows: vectors, or CSR arrays of one row."""
    return list(X) if isinstance(X, np.ndarray) else [X[[t]] for t in range(X.shape[0])]


def note_all(notes: Notes, when: str, learner: Any, X: Any = None) -> None:
    """Note everything that the learner knows, and what it would say of the first rows of X."""
    for name in KNOWN:
        if hasattr(learner, name):
            notes.note(f"{when}: {name}", getattr(learner, name))
    if hasattr(learner, "certificate"):
        for tight in (False, True):
            proven = learner.certificate(tight=tight)
            numbers = [float(proven), float(proven.radius), float(proven.rounds), float(proven.theorem)]
            notes.note(f"{when}: certificate(tight={tight})", numbers)
            notes.note(f"{when}: certificate(tight={tight}).against", proven.against)
    if X is None:
        return
    probes = X[:PROBES]
    for name in ("predict", "predict_logit"):
        if hasattr(learner, name):
            notes.note(f"{when}: {name}", [getattr(learner, name)(x) for x in rows_of(probes)])
    for name in ("predict_many", "predict_logit_many"):
        if hasattr(learner, name):
            notes.note(f"{when}: {name}", getattr(learner, name)(probes))


def _one_by_one(notes: Notes, make: Make, X: Any, y: Vector) -> None:
    learner = make()
    note_all(notes, "before the first row", learner)
    said, asked = [], []
    for t, (x, label) in enumerate(zip(rows_of(X), y, strict=True)):
        if t % 3 == 0:
            asked.append(learner.predict(x))
        said.append(learner.learn(x, label))
    notes.note("one by one: learn", said)
    notes.note("one by one: predict on the way", asked)
    note_all(notes, "one by one", learner, X)


def _at_once(notes: Notes, make: Make, X: Any, y: Vector) -> None:
    learner = make()
    notes.note("at once: learn_many", learner.learn_many(X, y))
    note_all(notes, "at once", learner, X)


def _in_pieces(notes: Notes, make: Make, X: Any, y: Vector) -> None:
    learner = make()
    said: list[Vector] = []
    asked: list[Vector] = []
    first, turn = 0, 0
    while first < len(y):
        part = slice(first, first + PIECES[turn % len(PIECES)])
        said.append(learner.learn_many(X[part], y[part]))
        asked.append(learner.predict_many(X[:2]))
        first, turn = first + len(said[-1]), turn + 1
    notes.note("in pieces: learn_many", np.concatenate(said))
    notes.note("in pieces: predict_many on the way", np.concatenate(asked))
    note_all(notes, "in pieces", learner, X)


def _weighted(notes: Notes, make: Make, X: Any, y: Vector) -> None:
    rng = np.random.default_rng(17)
    weights = rng.choice([0.0, 0.25, 1.0, 1.0, 3.0, 33.0, 60.0], size=len(y))
    learner = make()
    half = len(y) // 2
    notes.note("weights: learn_many", learner.learn_many(X[:half], y[:half], weights[:half]))
    single = zip(rows_of(X[half:]), y[half:], weights[half:], strict=True)
    notes.note("weights: learn", [learner.learn(x, label, float(weight)) for x, label, weight in single])
    note_all(notes, "weights", learner, X)


def _late(notes: Notes, make: Make, X: Any, y: Vector) -> None:
    """Labels that come some rows after what was announced."""
    learner = make()
    half, delay = len(y) // 2, 20
    announced: list[Any] = []
    for first in range(0, half, delay):
        part = slice(first, min(half, first + delay))
        announced.append(learner.learn_many(X[part], y[part], logits=learner.predict_logit_many(X[part])))
    notes.note("late labels: learn_many", np.concatenate(announced))
    rows, said = rows_of(X[half:]), []
    for first in range(0, len(rows), delay):
        waiting = [(t, learner.predict_logit(rows[t])) for t in range(first, min(len(rows), first + delay))]
        said += [learner.learn(rows[t], y[half + t], logit=z) for t, z in waiting]
    notes.note("late labels: learn", said)
    note_all(notes, "late labels", learner, X)


def _continued(notes: Notes, make: Make, X: Any, y: Vector) -> None:
    """Saved and loaded, pickled, copied: what goes on from there."""
    half = len(y) // 2
    for when, again in AGAIN.items():
        learner = make()
        if when == "saved" and not hasattr(learner, "save"):
            continue
        note_all(notes, f"{when} before the first row", again(learner))
        learner.learn_many(X[:half], y[:half])
        twin = again(learner)
        notes.note(f"{when}: learn", [twin.learn(x, t) for x, t in zip(rows_of(X[half:])[:9], y[half:], strict=False)])
        notes.note(f"{when}: learn_many", twin.learn_many(X[half + 9 :], y[half + 9 :]))
        note_all(notes, when, twin, X)
        note_all(notes, f"{when}, what it was made of", learner, X)


def _grown(notes: Notes, make: Make, X: Any, y: Vector) -> None:
    """Columns that come one after the other, the last ones together."""
    width, learner = X.shape[1], make()
    widths = sorted({max(1, width // 2), max(1, width // 2) + 1, width})
    ends = [len(y) * (i + 1) // len(widths) for i in range(len(widths))]
    first = 0
    for wide, end in zip(widths, ends, strict=True):
        if first:
            learner.grow(wide - learner.n_features_)
            note_all(notes, f"grown to {wide} columns, without a row", learner)
        part = X[first:end, :wide]
        notes.note(f"grown to {wide} columns: learn_many", learner.learn_many(part, y[first:end]))
        note_all(notes, f"grown to {wide} columns", learner, part)
        first = end


def _refused(notes: Notes, make: Make, X: Any, y: Vector) -> None:
    """Rows and labels that are none: the kind of the error, and that nothing was learned."""
    learner = make()
    learner.learn_many(X[:50], y[:50])
    broken = X[50:80].copy()
    if isinstance(broken, np.ndarray):
        broken[-1, -1] = np.nan
    else:
        broken.data[-1] = np.nan
    odd = y[50:80].copy()
    odd[-1] = 7.0
    attempts: dict[str, Callable[[], Any]] = {
        "NaN in the last row": lambda: learner.learn_many(broken, y[50:80]),
        "a label of 7": lambda: learner.learn_many(X[50:80], odd),
        "too few labels": lambda: learner.learn_many(X[50:80], y[50:79]),
        "too few columns": lambda: learner.learn_many(X[50:80, :-1], y[50:80]),
        "predict with NaN": lambda: learner.predict_many(broken),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
            notes.note(f"refused, {name}", "was not refused")
        except (ValueError, TypeError) as error:
            notes.note(f"refused, {name}", "ValueError" if isinstance(error, ValueError) else "TypeError")
    notes.note("after refusals: learn_many", learner.learn_many(X[50:], y[50:]))
    note_all(notes, "after refusals", learner, X)


def _saved(learner: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.aioli"
        learner.save(path)
        return type(learner).load(path)


def _pickled(learner: Any) -> Any:
    return pickle.loads(pickle.dumps(learner))


AGAIN: dict[str, Callable[[Any], Any]] = {"saved": _saved, "pickled": _pickled, "copied": copy.deepcopy}

ALL: dict[str, Course] = {
    "one by one": _one_by_one,
    "at once": _at_once,
    "in pieces": _in_pieces,
    "weighted": _weighted,
    "late": _late,
    "continued": _continued,
    "grown": _grown,
    "refused": _refused,
}
