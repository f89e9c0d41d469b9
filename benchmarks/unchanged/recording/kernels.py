"""Scenarios of the learners of curved functions: KernelAIOLI, RandomFeatures, Nystrom."""

from collections.abc import Callable
from typing import Any

import numpy as np

from aioli import AIOLI, EKF, Auto, KernelAIOLI, Nystrom, RandomFeatures
from benchmarks.unchanged.recording import streams
from benchmarks.unchanged.recording.courses import course, note_all, rows_of
from benchmarks.unchanged.recording.notes import Notes, Scenario

__all__ = ["SCENARIOS"]

LIGHT = ("one by one", "at once", "in pieces")
FIXED_WIDTH = ("one by one", "at once", "in pieces", "weighted", "late", "continued", "refused")
NO_FILE = ("one by one", "at once", "in pieces", "weighted", "late")


def cauchy(X: Any, Y: Any) -> Any:
    """Compute 1/(1 + ‖x-y‖²) of all pairs."""
    squares = ((np.asarray(X)[:, None, :] - np.asarray(Y)[None, :, :]) ** 2).sum(axis=2)
    return 1.0 / (1.0 + squares)


def _sizes(make: Callable[[], KernelAIOLI], rows: int) -> Scenario:
    """Ask for effective dimensions on the way; sparse rows come after dense ones."""

    def play(notes: Notes) -> None:
        X, y = streams.words(rows, 40, 6, seed=40)
        learner = make()
        for k in range(0, rows, 50):
            part = X[k : k + 50] if k % 100 else X[k : k + 50].toarray()
            notes.note(f"row {k}: learn_many", learner.learn_many(part, y[k : k + 50]))
            notes.note(f"row {k}: effective_dimension_", learner.effective_dimension_)
        notes.note("effective_dimension(0.3)", learner.effective_dimension(0.3))
        notes.note("sparse: learn", [learner.learn(x, t) for x, t in zip(rows_of(X[:9]), y, strict=False)])
        note_all(notes, "at the end", learner, X)

    return play


def _moving(rows: int) -> streams.Stream:
    """Rows that come from another place after a while, so that a full dictionary exchanges its points."""
    X, y = streams.ring(rows, 2, seed=41)
    return X + 8.0 * (np.arange(rows) > 500)[:, None], y


SCENARIOS: dict[str, Scenario] = {
    "KernelAIOLI, rbf": course(lambda: KernelAIOLI(), streams.ring(260)),
    "KernelAIOLI, laplacian": course(lambda: KernelAIOLI("laplacian", gamma=0.7), streams.ring(260, 3)),
    "KernelAIOLI, poly": course(lambda: KernelAIOLI("poly", degree=2, coef0=0.5), streams.ring(260)),
    "KernelAIOLI, linear": course(
        lambda: KernelAIOLI("linear", curvature="paper", intercept=False), streams.dense(260, 4)
    ),
    "KernelAIOLI, a function": course(lambda: KernelAIOLI(cauchy), streams.ring(200), NO_FILE),
    "KernelAIOLI, forgetting": course(lambda: KernelAIOLI(forgetting=0.98), streams.drifting(260, 2)),
    "KernelAIOLI, sparse rows": course(lambda: KernelAIOLI("rbf", gamma=0.1), streams.words(220, 300, 8)),
    "KernelAIOLI, far apart": course(lambda: KernelAIOLI(gamma=3.0), streams.wild(200, 3, decades=4.0), LIGHT),
    "KernelAIOLI, effective dimension": _sizes(lambda: KernelAIOLI("poly", gamma=0.05, degree=2), 200),
    "KernelAIOLI, effective dimension, forgetting": _sizes(lambda: KernelAIOLI(forgetting=0.99), 200),
    "RandomFeatures": course(lambda: RandomFeatures(features=64), streams.ring(700), FIXED_WIDTH),
    "RandomFeatures, 256 features": course(lambda: RandomFeatures(), streams.ring(400), ("at once", "in pieces")),
    "RandomFeatures, bandwidth 0.8": course(
        lambda: RandomFeatures(features=64, bandwidth=0.8, orthogonal=False, seed=3), streams.ring(600), FIXED_WIDTH
    ),
    "RandomFeatures, laplacian": course(
        lambda: RandomFeatures(features=40, kernel="laplacian"), streams.ring(500, 3), FIXED_WIDTH
    ),
    "RandomFeatures of Auto": course(
        lambda: RandomFeatures(Auto(), features=20, bandwidth=1.0), streams.ring(250), FIXED_WIDTH
    ),
    "RandomFeatures of EKF": course(
        lambda: RandomFeatures(EKF(), features=20, bandwidth=1.0), streams.ring(300), LIGHT
    ),
    "Nystrom": course(lambda: Nystrom(points=40), streams.ring(600), FIXED_WIDTH),
    "Nystrom, 256 points": course(lambda: Nystrom(), streams.ring(500), ("at once", "in pieces")),
    "Nystrom, bandwidth 0.8": course(
        lambda: Nystrom(AIOLI(radius=6.0), points=30, bandwidth=0.8, accuracy=0.05), streams.ring(600), FIXED_WIDTH
    ),
    "Nystrom, rows that move": course(lambda: Nystrom(points=20, bandwidth=1.0), _moving(1000), FIXED_WIDTH),
    "Nystrom, laplacian, rows that move": course(
        lambda: Nystrom(points=25, bandwidth=1.5, kernel="laplacian"), _moving(1000), FIXED_WIDTH
    ),
    "Nystrom of Auto": course(lambda: Nystrom(Auto(), points=15, bandwidth=1.0), streams.ring(200), FIXED_WIDTH),
}
