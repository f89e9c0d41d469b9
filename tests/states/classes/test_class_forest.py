"""Trees that meet further classes keep what they know, in a memory that stays bounded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.forest import ClassForestState
from aioli.states.forest import state as forest_state
from aioli.states.forest.ranks import Ranks
from aioli.states.forest.state import ForestState


def steps(n: int, classes: int) -> tuple[Matrix, Codes]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    return X, (X[:, 0] * classes).astype(np.int64)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_further_class_takes_no_more_than_it_would_as_unseen_and_the_others_keep_their_odds(classes: int) -> None:
    X, codes = steps(300, classes)
    forest = ForestState(2, classes, 4)
    forest.play(X, codes, np.ones(300))
    before, after = np.exp(forest.consult(X[:20])), np.exp(forest.with_class().consult(X[:20]))
    trees = slice(0, 5)  # the members that count
    assert (after[:, trees, -1] < 0.3).all()
    likeliest = before.argmax(axis=2)
    assert (after[:, :, :-1].argmax(axis=2) == likeliest).mean() > 0.99
    assert_allclose(after.sum(axis=2), 1.0, atol=1e-12)


def test_memory_stays_bounded_as_classes_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_state, "ROOM", 1 << 17)
    X, codes = steps(400, 40)
    state = ClassForestState(2, 1, 3)
    out = np.empty((1, 40))
    met = {int(codes[0]): 0}
    for t in range(400):
        code = met.setdefault(int(codes[t]), len(met))
        if code == state.classes:
            state.add_class()
        state.play(X[t : t + 1], np.array([code]), np.ones(1), out[:, : state.classes].copy())
        assert state.forest.nodes.nbytes <= 1 << 18
    assert state.classes == 40
    twin = ClassForestState.restore(state.snapshot())
    said, again = np.empty((5, 40)), np.empty((5, 40))
    state.consult(X[:5], said)
    twin.consult(X[:5], again)
    assert_allclose(said, again, rtol=0.0, atol=0.0)


def test_a_leaf_of_one_class_is_split_once_it_holds_eight_rows_or_another_class() -> None:
    X, _ = steps(40, 3)
    state = ClassForestState(2, 3, 4)

    def play(rows: Matrix, codes: Codes) -> list[int]:
        state.play(rows, codes, np.ones(len(rows)), np.empty((len(rows), 3)))
        return [int(used) for used in state.forest.used]

    assert play(X[:24], np.zeros(24, np.int64)) != [1] * 4, "more than eight rows"
    state = ClassForestState(2, 3, 4)
    state.forest.ranks = Ranks(X)
    assert play(X[:8], np.zeros(8, np.int64)) == [1] * 4
    far = np.array([[2.0, 2.0]])
    assert min(play(far, np.array([1]))) == 3, "another class"


def test_rows_one_by_one_are_announced_as_rows_at_once() -> None:
    classes = 3
    X, codes = steps(300, classes)
    at_once, one_by_one = ClassForestState(2, classes, 4), ClassForestState(2, classes, 4)
    said, again = np.empty((300, classes)), np.empty((300, classes))
    at_once.play(X, codes, np.ones(300), said)
    x, code, out = X[:1].copy(), codes[:1].copy(), np.empty((1, classes))
    play = one_by_one.prepared(x, code, np.ones(1), out)
    for t in range(300):
        x[...], code[...] = X[t], codes[t]
        play()
        again[t] = out
    assert_allclose(again, said, rtol=0.0, atol=0.0)
