"""What boosted trees say of rows, walked in step, and by a walk that ends where it ends."""

import numpy as np
import pytest
from boosting_streams import crossed, leaf_of, scores
from numpy.testing import assert_array_equal

from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.states.boosting.fitting import THOROUGH, Boosting, fit
from aioli.states.boosting.growing import FEATURE, LEAF, LEAVES, NODE, NODES, VALUE
from aioli.states.boosting.scoring import Walks

STUMPS = Boosting((1,), 1.0, 0.5)  # one tree a score


def tree_of(shape: str, rng: np.random.Generator) -> Matrix:
    """Return a tree of one leaf, or of as many splits as a tree may have: each of the newest leaf, the oldest, or any.

    Thresholds have one digit, as cells have, so that some cells lie on one.
    """
    tree = np.zeros((NODES, NODE))
    tree[:, FEATURE], tree[:, VALUE] = LEAF, rng.normal(size=NODES)
    leaves = [0]
    for child in range(1, 1 if shape == "one leaf" else 2 * LEAVES - 2, 2):
        place = leaves.pop({"a chain": -1, "all levels full": 0}.get(shape, int(rng.integers(len(leaves)))))
        tree[place, :VALUE] = rng.integers(3), np.round(rng.normal(), 1), child
        leaves += [child, child + 1]
    return tree


def plain_scores(base: Vector, trees: Cube, X: Matrix, how: Boosting) -> Cube:
    """Add up, tree by tree, what the leaf says to which each row comes."""
    out = np.empty((len(X), len(how.stages), base.size))
    for t, x in enumerate(X):
        score = base.copy()
        for i, tree in enumerate(trees, 1):
            score[(i - 1) % base.size] += tree[leaf_of(tree, x), VALUE]
            if i % base.size == 0 and i // base.size in how.stages:
                out[t, how.stages.index(i // base.size)] = score
    return out


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("stages", [(1,), (7,), (2, 5), (1, 4, 8)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_rows_score_what_a_walk_down_the_trees_says_bit_for_bit(
    rows: int, stages: tuple[int, ...], outputs: int, rng: np.random.Generator
) -> None:
    shapes = ("any", "one leaf", "a chain", "all levels full")
    trees = np.array([tree_of(shapes[i % 4], rng) for i in range(stages[-1] * outputs)])
    base, X = rng.normal(size=outputs), np.round(rng.normal(size=(rows, 3)), 1)
    how = Boosting(stages, 0.1, 0.5)
    assert_array_equal(scores(base, trees, X, how), plain_scores(base, trees, X, how))


@pytest.mark.parametrize("shape", ["one leaf", "a chain", "all levels full"])
def test_rows_take_as_many_steps_as_the_deepest_leaf_is_deep(shape: str, rng: np.random.Generator) -> None:
    deepest = {"one leaf": 0, "a chain": LEAVES - 1, "all levels full": 5}[shape]
    trees = tree_of(shape, rng)[None]
    assert Walks.of(trees).depths.tolist() == [deepest]
    X = np.round(rng.normal(size=(100, 3)), 1)
    assert_array_equal(scores(np.zeros(1), trees, X, STUMPS), plain_scores(np.zeros(1), trees, X, STUMPS))


def test_trees_that_were_fitted_are_walked_alike() -> None:
    X, y = crossed(300)
    base, trees = fit(THOROUGH, X, y, np.ones(300), 1)
    assert_array_equal(scores(base, trees, X), plain_scores(base, trees, X, THOROUGH))
