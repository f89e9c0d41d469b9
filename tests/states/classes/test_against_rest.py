"""One class against the rest in one array: the same games as one state a class, whatever is asked of them."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from aioli.outcomes.spec import GameSpec
from aioli.states.classes.against_rest import RestState
from aioli.states.classes.one_vs_rest import OneVsRestState

SPEC = GameSpec(8.0, 0.1, 0.5, "tight", 1.0, intercept=False)


def test_it_plays_the_games_of_one_state_a_class() -> None:
    rng = np.random.default_rng(0)
    X, codes, weights = rng.normal(size=(60, 3)), rng.integers(0, 4, 60), rng.uniform(0.0, 3.0, 60)
    apart, together = OneVsRestState(SPEC, 3, 4), RestState(SPEC, 3, 4)
    said = np.empty((60, 4))
    together.play(X[:40], codes[:40], weights[:40], said[:40])
    for t in range(40, 60):
        together.consult(X[t : t + 1], said[t : t + 1])
        before = said[t].copy()
        together.play(X[t : t + 1], codes[t : t + 1], weights[t : t + 1], said[t : t + 1])
        assert_allclose(said[t], before, rtol=1e-12)
    assert_allclose(said, apart.play(X, codes, weights), rtol=1e-9)
    assert_allclose(together.certificate(), apart.certificate(), rtol=1e-9)
    assert_allclose(together.loss, apart.loss, rtol=1e-9)


def test_a_state_that_would_lose_digits_is_factored_and_goes_on() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1)) * np.ones(3) * 1e6 + 1e-3 * rng.normal(size=(50, 3))
    codes = rng.integers(0, 3, 50)
    apart, together = OneVsRestState(SPEC, 3, 3), RestState(SPEC, 3, 3)
    said = np.empty((50, 3))
    together.play(X, codes, np.ones(50), said)
    assert any(node.state.factored for node in together.games.nodes)
    assert_allclose(said, apart.play(X, codes, np.ones(50)), atol=1e-6)


def test_it_grows_in_columns_and_classes_and_is_restored() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    state, apart = RestState(SPEC, 3, 3), OneVsRestState(SPEC, 3, 3)
    state.play(X, codes, np.ones(30), np.empty((30, 3)))
    apart.play(X, codes, np.ones(30))
    grown = state.grown(5, np.arange(3))
    grown.add_class()
    apart.grow(2)
    apart.add_class()
    again = RestState.restore(grown.snapshot(), SPEC)
    new, labels, said = rng.normal(size=(10, 5)), rng.integers(0, 4, 10), np.empty((2, 10, 4))
    grown.play(new, labels, np.ones(10), said[0])
    again.play(new, labels, np.ones(10), said[1])
    assert_array_equal(said[0], said[1])
    assert_allclose(said[0], apart.play(new, labels, np.ones(10)), rtol=1e-9)
