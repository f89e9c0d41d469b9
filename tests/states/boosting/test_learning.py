"""What leaves learn between two fits."""

import numpy as np
import pytest
from boosting_streams import crossed, leaf_of
from numpy.testing import assert_allclose, assert_array_equal

from aioli.numerics.compiling import Cube, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.boosting.fitting import SWIFT, THOROUGH, Boosting, Numbers
from aioli.states.boosting.growing import COVER, RIDGE, VALUE
from aioli.states.boosting.learning import FARTHEST, LEAST_CURVATURE, MOST_COVER, PART, loss_and_gradient
from aioli.states.boosting.state import BoostedState


def fitted(rows: int, how: Boosting = THOROUGH, outputs: int = 1) -> BoostedState:
    """Return a state whose last fit was a while ago."""
    X, y = crossed(rows)
    state = BoostedState(how, 4, outputs)
    state.play(X, y, np.ones(rows))
    return state


def learned(how: Boosting, base: Vector, trees: Cube, x: Vector, code: int, weight: float) -> Cube:
    """Return the trees after one row, as the formulas say, step by step."""
    after, places = trees.copy(), [leaf_of(tree, x) for tree in trees]
    K = len(base)
    z = base + np.array([sum(trees[i, places[i], VALUE] for i in range(k, len(trees), K)) for k in range(K)])
    p = 1.0 / (1.0 + np.exp(-z)) if K == 1 else np.exp(z) / np.exp(z).sum()
    g = p - code if K == 1 else p - (np.arange(K) == code)
    h = np.maximum(p * (1.0 - p), LEAST_CURVATURE)
    for k in range(K):
        mine = range(k, len(trees), K)
        covers = [min(trees[i, places[i], COVER] + weight * h[k], MOST_COVER) for i in mine]
        steps = np.array([PART * how.rate * weight * g[k] / (cover + RIDGE) for cover in covers])
        steps *= min(1.0, FARTHEST / max(abs(steps.sum()), 1e-300))
        for i, cover, step in zip(mine, covers, steps, strict=True):
            after[i, places[i], COVER] = cover
            after[i, places[i], VALUE] -= step
    return after


@pytest.mark.parametrize(("how", "outputs"), [(THOROUGH, 1), (SWIFT, 2)])
@pytest.mark.parametrize("weight", [0.3, 1.0, 50.0])
def test_leaves_move_as_the_formulas_say(how: Boosting, outputs: int, weight: float) -> None:
    state, (X, y) = fitted(140, how, outputs), crossed(20, seed=1)
    y = 1 - y  # what the trees do not expect
    for t in range(20):
        expected = learned(how, state.base, state.trees, X[t], int(y[t]), weight)
        state.play(X[t : t + 1], y[t : t + 1], np.array([weight]))
        assert_allclose(state.trees, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("outputs", [1, 4])
def test_a_gradient_is_how_the_loss_of_the_label_rises(outputs: int, rng: np.random.Generator) -> None:
    for _ in range(20):
        scores, code, gradient = rng.normal(size=outputs), int(rng.integers(0, max(outputs, 2))), np.empty(outputs)
        z = np.append(0.0, scores) if outputs == 1 else scores
        loss = loss_and_gradient(scores, code, gradient)
        assert_allclose(loss, np.log(np.exp(z).sum()) - z[code])
        for k in range(outputs):
            moved, ignored = scores.copy(), np.empty(outputs)
            moved[k] += 1e-6
            assert_allclose(gradient[k], (loss_and_gradient(moved, code, ignored) - loss) / 1e-6, atol=1e-5)


def test_rows_of_weight_0_teach_nothing() -> None:
    state, (X, y) = fitted(200), crossed(20, seed=1)
    before = state.trees
    state.play(X, 1 - y, np.zeros(20))
    assert_array_equal(state.trees, before)


@pytest.mark.parametrize("weight", [1.0, 1e3, 1e99])
def test_a_row_moves_no_score_by_more_than_two(weight: float) -> None:
    state, (X, y) = fitted(200), crossed(1, seed=1)
    before = state.consult(X)
    state.play(X, 1 - y, np.array([weight]))
    moved = abs(state.consult(X) - before)[0, :, 0]
    assert 0.1 < moved[-1] <= FARTHEST + 1e-9
    assert moved[0] <= moved[-1]


def test_between_two_fits_what_is_learned_counts(rng: np.random.Generator) -> None:
    """Labels that were noise in the rows of the last fit become certain: no fit is due yet."""
    X = rng.integers(0, 2, size=(1400, 3)).astype(float)
    y = np.where(np.arange(1400) < 1000, rng.integers(0, 2, size=1400), X[:, 0] > 0.0).astype(np.int64)
    state = BoostedState(THOROUGH._replace(fresh=4.0), 3, 1)
    z = state.play(X, y, np.ones(1400))[:, -1, 0]
    right = (z > 0.0) == (y == 1)
    assert state.due > 1400
    assert right[:1000].mean() < 0.6
    assert right[1200:].mean() > 0.95


def test_files_from_before_leaves_learned_are_read() -> None:
    state, (X, y) = fitted(200), crossed(300, seed=1)
    file = state.snapshot()
    arrays = {**file.arrays, "trees": file.arrays["trees"][:, :, :COVER]}
    earlier = BoostedState.restore(Snapshot(file.kind, file.values, arrays), THOROUGH)
    assert_array_equal(earlier.consult(X), state.consult(X))
    assert (earlier.trees[:, :, COVER] == MOST_COVER).all()
    codes: Numbers = y
    for each in (earlier, state):
        each.play(X, codes, np.ones(300))
    assert_array_equal(earlier.consult(X), state.consult(X))  # a fit has come since


def test_trees_come_back_as_they_were_prepared() -> None:
    state = fitted(200)
    again = BoostedState.restore(state.snapshot(), THOROUGH)
    assert_array_equal(again.trees, state.trees)
