"""A tree is the mixture of its prunings, exactly: what it lost is the weight of its root."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector
from aioli.states.forest.nodes import FEATURE, FIRST, FIXED, ODDS, OWN, STOP, TREE
from aioli.states.forest.state import ForestState

NOTHING = -1e-300  # ln ρ of a tree that forgets nothing, but keeps its weights as one that forgets does


def checkered(rows: int, width: int = 3, seed: int = 0) -> tuple[Matrix, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    return X, (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)


def prunings(records: Matrix, node: int = 0) -> Iterator[tuple[float, float]]:
    """Yield ln π and the loss of every pruning, those of the subtree at a node."""
    record = records[node]
    yield math.log(record[STOP]), -record[OWN]
    if record[FEATURE] >= 0.0:
        first = int(record[FIRST])
        for left_prior, left_loss in prunings(records, first):
            for right_prior, right_loss in prunings(records, first + 1):
                yield math.log(1.0 - record[STOP]) + left_prior + right_prior, left_loss + right_loss


def played(
    rows: int, classes: int = 2, seed: int = 0, log_rho: float = NOTHING
) -> tuple[ForestState, Vector, NDArray[np.int64], float]:
    """Play a small forest; return it, its members' log-probabilities of the labels, those, and the root's first w."""
    X, y = checkered(rows, seed=seed)
    y = (y + 2 * (X[:, 2] > 0.0)) % classes
    state = ForestState(X.shape[1], classes, 1)
    state.log_rho[:] = log_rho
    first = 16  # trees are made anew at 16, 64, 256, … rows
    while 4 * first <= rows:
        first *= 4
    state.play(X[:first], y[:first], np.ones(first))
    begun = float(state.nodes[0, 0, TREE])
    said = state.play(X[first:], y[first:], np.ones(rows - first))
    return state, said[np.arange(rows - first), 0, y[first:]], y, begun


@pytest.mark.parametrize(("rows", "classes"), [(17, 2), (60, 2), (400, 2), (200, 3)])
def test_what_a_tree_lost_is_the_weight_of_its_root(rows: int, classes: int) -> None:
    state, said, _, begun = played(rows, classes)
    # a member's probabilities are cut off at 1e-4; none of these is so small
    assert said.min() > math.log(1e-4)
    assert_allclose(said.sum(), state.nodes[0, 0, TREE] - begun, rtol=1e-10)


def test_a_tree_is_the_mixture_of_all_its_prunings() -> None:
    for seed in range(5):
        state, _, _, _ = played(16, seed=seed)
        records = state.nodes[0]
        everyone = list(prunings(records))
        assert len(everyone) > 20
        assert_allclose(sum(math.exp(prior) for prior, _ in everyone), 1.0, rtol=1e-12)
        likelihood = sum(math.exp(prior - loss) for prior, loss in everyone)
        assert_allclose(math.log(likelihood), records[0, TREE], rtol=1e-12)


@pytest.mark.parametrize(("rows", "classes"), [(60, 2), (1000, 2), (500, 3)])
def test_odds_are_those_of_the_weights(rows: int, classes: int) -> None:
    by_weights, said, _, _ = played(rows, classes)
    by_odds, said_too, _, _ = played(rows, classes, log_rho=0.0)
    assert_allclose(said_too, said, rtol=1e-10)
    used = by_weights.used[0]
    assert by_odds.used[0] == used
    # thousands of products and quotients, each to half a unit in the last place
    assert_allclose(by_odds.nodes[0, :used, ODDS], by_weights.nodes[0, :used, ODDS], rtol=1e-10)


def test_weights_of_rows_move_odds_as_they_move_the_weights_of_prunings() -> None:
    X, y = checkered(300)
    weights = np.random.default_rng(1).choice([0.0, 0.3, 1.0, 2.5], 300)
    forests = [ForestState(3, 2, 1) for _ in range(2)]
    forests[0].log_rho[:] = NOTHING
    said, said_too = (forest.play(X, y, weights) for forest in forests)
    assert_allclose(said_too, said, rtol=1e-10, atol=1e-12)


def test_a_tree_loses_no_more_than_its_prior_over_the_best_pruning() -> None:
    state, _, _, _ = played(300)

    def best(node: int) -> float:
        record = state.nodes[0, node]
        stop = -record[OWN] - math.log(record[STOP])
        if record[FEATURE] < 0.0:
            return float(stop)
        return float(min(stop, best(int(record[FIRST])) + best(int(record[FIRST]) + 1) - math.log(1.0 - record[STOP])))

    assert -state.nodes[0, 0, TREE] <= best(0) + 1e-9


def test_every_row_of_a_tree_is_counted_once_at_every_depth() -> None:
    state, _, y, _ = played(250)
    records = state.nodes[0, : state.used[0]]
    assert records[0, FIXED : FIXED + 2].tolist() == [np.count_nonzero(y == 0), np.count_nonzero(y == 1)]
    inner = records[records[:, FEATURE] >= 0.0]
    left = inner[:, FIRST].astype(np.int64)
    children = records[left] + records[left + 1]
    assert (children[:, FIXED : FIXED + 2] <= inner[:, FIXED : FIXED + 2]).all()


def test_nodes_and_bytes_stay_within_their_bounds() -> None:
    X, y = checkered(3000, 30)
    state = ForestState(30, 2, 4)
    state.play(X, y, np.ones(len(y)))
    assert state.used.max() <= state.most
    assert state.nodes.nbytes + state.boxes.nbytes <= 1 << 25


def test_a_row_far_out_changes_little() -> None:
    X, y = checkered(1500)
    clean, glitched = ForestState(3, 2, 8), ForestState(3, 2, 8)
    rows = X.copy()
    rows[500] *= 1e6
    said, said_too = clean.play(X, y, np.ones(1500)), glitched.play(rows, y, np.ones(1500))
    after = np.arange(501, 1500)
    loss, loss_too = (-part[after, 4, y[after]].mean() for part in (said, said_too))
    assert loss_too < 1.02 * loss
