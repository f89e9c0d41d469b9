"""The average of states of a learner of many classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import AIOLI, OGD, Auto, ClassAuto, ClassOnlineToBatch, OnlineToBatch
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes


def stream(n: int = 300) -> tuple[Matrix, Codes]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.argmax(2.0 * X + rng.gumbel(size=X.shape), axis=1)


def test_classes_and_learners_of_classes_make_one() -> None:
    for model in (
        OnlineToBatch(AIOLI(classes=[0, 1, 2])),
        OnlineToBatch(AIOLI(), classes=[0, 1, 2]),
        OnlineToBatch(Auto(classes="any")),
    ):
        assert isinstance(model, ClassOnlineToBatch)
    default = OnlineToBatch(classes="any")
    assert isinstance(default, ClassOnlineToBatch)
    assert isinstance(default.learner, ClassAuto)
    with pytest.raises(ValueError, match=r"OneVsRest\(OGD\(\)\)"):
        OnlineToBatch(OGD(), classes="any")
    used = AIOLI(classes="any")
    used.learn([1.0], "a")
    with pytest.raises(ValueError, match="1 rows already"):
        OnlineToBatch(used)


def test_it_predicts_the_mean_of_the_states_that_it_kept() -> None:
    X, y = stream()
    model = ClassOnlineToBatch(AIOLI(classes=[0, 1, 2]), states=3, share=1.0)
    model.learn_many(X, y)
    states = []
    for round_ in model.kept_rounds_:
        state = AIOLI(classes=[0, 1, 2])
        if round_ > 1:
            state.learn_many(X[: round_ - 1], y[: round_ - 1])
        states.append(state.predict_many(X))
    assert_allclose(model.predict_many(X), np.mean(states, axis=0), rtol=1e-9)
    assert model.excess_risk_bound() == float(model.certificate()) / len(y)


def test_a_state_from_before_a_class_gives_it_nothing() -> None:
    X, y = stream()
    y[:200] %= 2
    y[200] = 2
    model = ClassOnlineToBatch(AIOLI(classes="any"), states=2, seed=1, share=1.0)
    p = model.learn_many(X, y)
    assert p.shape == (300, 3)
    assert (p[:200, 2] == 0.0).all()
    said = model.predict_many(X[:5])
    assert_allclose(said.sum(axis=1), 1.0 - model.escape, rtol=1e-12)
