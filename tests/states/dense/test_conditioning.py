"""Raw features of any scale: played exactly, or refused; never a silent NaN or a negative v."""

import importlib
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import curvatures, game, make_labels

from aioli import AIOLI
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import Curvature, GameSpec
from aioli.states.dense.play import play
from aioli.states.dense.state import State

mpmath: Any = importlib.import_module("mpmath")  # it has no types

CHECKED = [1, 2, 3, 10, 100, 299]


def announce_in_fifty_digits(rules: GameSpec, X: Matrix, y: Vector, logits: Vector) -> list[float]:
    """What the definition announces at the checked rows, given what was announced before, in exact arithmetic."""
    with mpmath.workdps(50):
        d = X.shape[1]
        A, b = mpmath.eye(d) * mpmath.mpf(rules.ridge), mpmath.zeros(d, 1)
        h = curvatures(rules, X, logits)
        found = []
        for t in range(max(CHECKED) + 1):
            x = mpmath.matrix(X[t].tolist())
            if t in CHECKED:
                solved = mpmath.lu_solve(A, b), mpmath.lu_solve(A, x)
                m, v = ((x.T * s)[0] for s in solved)
                found.append(float(_root(m, mpmath.mpf(rules.regulariser) * v / 2)))
            z, ht = mpmath.mpf(logits[t]), mpmath.mpf(h[t])
            A += x * x.T * (ht / 2)
            b += x * ((ht * z + y[t] - 1 / (1 + mpmath.exp(-z))) / 2)
    return found


def _root(m: Any, a: Any) -> Any:
    low, high = sorted([m, mpmath.mpf(0)])
    for _ in range(180):
        z = (low + high) / 2
        low, high = (low, z) if z + a * mpmath.tanh(z / 2) > m else (z, high)
    return low


@pytest.mark.parametrize("curvature", ["paper", "tight"])
@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4, 1e8])
@pytest.mark.parametrize("kind", ["scaled", "mixed", "shifted", "collinear"])
def test_raw_features_of_any_scale_are_played_exactly(kind: str, scale: float, curvature: Curvature) -> None:
    rng = np.random.default_rng(1)
    base = np.c_[np.ones(300), rng.normal(size=(300, 3))]
    y = make_labels(base, 1)
    X = base.copy()
    if kind == "scaled":
        X[:, 1:] *= scale
    elif kind == "mixed":
        X[:, 1:] *= [scale, 1.0, 1.0 / scale]
    elif kind == "shifted":  # nearly collinear with the intercept
        X[:, 1:] += scale
    else:
        X[:, 2] = scale * X[:, 1]
        X[:, 3] = 0.0
    rules = game(radius=4.0, ridge=1 / 16, regulariser=1.0, curvature=curvature)
    state = State(rules, 4)
    logits = np.full(300, np.nan)
    play(state, X, y, np.ones(300), logits)
    assert np.isfinite(logits).all()
    expected = announce_in_fifty_digits(rules, X, y, logits)
    # 1e-6 of a probability; log-odds of thousands, from raw scales, are held to their own size
    assert_allclose(logits[CHECKED], expected, rtol=1e-6, atol=4e-6)


def test_the_state_turns_to_its_factored_form_only_where_it_must() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    tame, wild = AIOLI(), AIOLI()
    tame.learn_many(rng.normal(size=(2000, 5)), y)
    wild.learn_many(rng.normal(size=(2000, 5)) + 1e5, y)
    assert tame._state is not None
    assert wild._state is not None
    assert not tame._state.factored
    assert wild._state.factored


def test_turning_to_the_factored_form_goes_unnoticed_row_by_row() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) + 1e6
    y = make_labels(X, 1)
    single, many = AIOLI(), AIOLI()
    assert_allclose([single.learn(x, t) for x, t in zip(X, y, strict=True)], many.learn_many(X, y), atol=1e-9)
    assert single._state is not None
    assert single._state.factored


def test_a_row_beyond_float64_is_refused() -> None:
    learner = AIOLI()
    learner.learn([1.0, 2.0], 1)
    for row in ([1e20, 0.0], [1e200, 1.0], [0.0, -1e300]):
        with pytest.raises(ValueError, match="scale the columns"):
            learner.learn(row, 1)
        with pytest.raises(ValueError, match="scale the columns"):
            learner.predict(row)
    assert learner.rounds == 1


def test_v_is_never_negative_for_rows_along_what_is_known_best() -> None:
    rng = np.random.default_rng(0)
    direction = rng.normal(size=6)
    X = np.outer(rng.normal(size=100_000) * 100, direction)
    learner = AIOLI(intercept=False)
    learner.learn_many(X, (X[:, 0] > 0) * 1)
    assert learner._state is not None
    v = np.einsum("ti,ij,tj->t", X[:500], learner._state.covariance(), X[:500])
    assert (v > 0).all()
    assert np.isfinite(learner.predict_many(X[:500])).all()
