"""What it means to refuse: a sentence that says where, what and what to do, and a learner exactly as it was."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from aioli import AIOLI
from aioli.numerics.compiling import Matrix

N, D = 9, 3
NAN, INF = math.nan, math.inf
LABELS = [0, 1, 1, 0, 1, 0, 0, 1, 1]


def good_rows() -> Matrix:
    return np.random.default_rng(3).normal(size=(N, D))


def trained(**parameters: Any) -> AIOLI:
    learner = AIOLI(**parameters)
    learner.learn_many(good_rows(), LABELS)
    return learner


def snapshot(learner: AIOLI) -> tuple[object, ...]:
    """All that its future depends on, bit for bit."""
    state = learner._state
    if state is None:
        return None, learner.n_features_, learner.feature_names_
    arrays = (state.P.tobytes(), state.w.tobytes(), state.tally.tobytes(), state.rules.tobytes())
    probe = np.random.default_rng(4).normal(size=(5, state.width - state.spec.intercept))
    return *arrays, state.factored, learner.predict_many(probe).tobytes(), learner.feature_names_


@contextmanager
def refused(learner: AIOLI, *words: str) -> Iterator[None]:
    """A ValueError whose sentence has all of these words; the learner stays exactly as it was."""
    before = snapshot(learner)
    message = None
    try:
        yield
    except ValueError as error:
        message = str(error)
    assert message is not None, "it was not refused"
    assert all(word in message for word in words), message
    assert snapshot(learner) == before
