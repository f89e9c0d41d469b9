"""Compiled calls that learners bind once: their arrays are as the signatures say, which bound calls do not check."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aioli import Auto, ClassAuto
from aioli.numerics import compiling


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bound calls go the long way, which refuses an array that is not as the signature says, or read-only."""
    monkeypatch.setattr(compiling, "_entry_of", lambda function: function)


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("make", [Auto, lambda: ClassAuto(classes=[0, 1]), ClassAuto])
def test_bound_calls_are_given_arrays_as_their_signatures_say(make: Callable[[], Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 3))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0.0).astype(np.int64).tolist()
    learner = make()
    learner.learn_many(X[:900], y[:900])
    for t in range(900, 1040):  # a forest grows, a mixture is reviewed
        learner.learn(X[t], y[t])
        learner.predict(X[t])
    learner.save(tmp_path / "learner")
    learner = type(learner).load(tmp_path / "learner")  # arrays of files may be read-only
    learner.learn_many(X[1040:1044], y[1040:1044])
    learner.learn(X[1044], y[1044])
    learner.grow(1)
    wider = np.column_stack([X, X[:, 0]])
    for t in range(1045, 1060):
        learner.predict(wider[t])
        learner.learn(wider[t], y[t])
