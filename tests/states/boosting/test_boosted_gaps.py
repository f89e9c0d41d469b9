"""Trees send missing numbers either way: what is gained, and that nothing else changes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aioli import Auto
from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.boosting.fitting import SWIFT, THOROUGH, Numbers
from aioli.states.boosting.gaps import show_gaps
from aioli.states.boosting.state import BoostedState

ROWS = 1200
GAPS = [(0, 2), (1, 3)]  # two columns of numbers, and behind them their marks


def punched(rng: np.random.Generator, rows: int = ROWS) -> tuple[Matrix, Numbers]:
    """Rows whose label is of the large numbers of a column, and of the small ones of another: so are the missing ones.

    Missing cells are filled with 0, the mean of the others, and marked.
    """
    X = rng.normal(size=(rows, 2))
    gap = rng.random((rows, 2)) < 0.3 * np.array([X[:, 0] > 0.5, X[:, 1] < -0.5]).T
    y = ((X[:, 0] > 0.5) & (X[:, 1] < -0.5)) ^ (rng.random(rows) < 0.05)
    return np.ascontiguousarray(np.c_[np.where(gap, 0.0, X), gap]), y.astype(np.int64)


def play(state: BoostedState, X: Matrix, y: Numbers) -> Vector:
    return state.play(X, y, np.ones(len(X)))[:, -1, 0]


def loss(z: Vector, y: Numbers) -> float:
    z = np.nan_to_num(z)[200:]
    return float(np.logaddexp(0.0, np.where(y[200:] == 1, -z, z)).mean())


def marked(width: int = 4, outputs: int = 1) -> BoostedState:
    state = BoostedState(THOROUGH if outputs == 1 else SWIFT, width, outputs)
    state.mark_gaps(GAPS)
    return state


def test_a_missing_cell_is_below_all_others_and_above_them() -> None:
    X, seen = np.array([[5.0, 7.0, 0.0, 0.0], [0.0, 7.0, 1.0, 0.0]]), np.empty((2, 6))
    show_gaps(X, np.array(GAPS), seen)
    assert_array_equal(seen[0], [5.0, 7.0, 0.0, 0.0, 5.0, 7.0])
    assert_array_equal(seen[1], [-1e300, 7.0, 1.0, 0.0, 1e300, 7.0])


def test_trees_that_know_of_gaps_lose_less(rng: np.random.Generator) -> None:
    X, y = punched(rng)
    assert loss(play(marked(), X, y), y) < 0.97 * loss(play(BoostedState(THOROUGH, 4, 1), X, y), y)


def test_columns_without_a_gap_so_far_are_read_as_ever(rng: np.random.Generator) -> None:
    X, y = punched(rng, 400)
    X[:, 2:] = 0.0
    assert_array_equal(play(marked(), X, y), play(BoostedState(THOROUGH, 4, 1), X, y))


def test_any_chunking_is_the_same_game(rng: np.random.Generator) -> None:
    X, y = punched(rng, 500)
    said, parts, single = play(marked(), X, y), marked(), marked()
    heard = [play(parts, X[a:b], y[a:b]) for a, b in itertools.pairwise([0, 1, 40, 200, 203, 500])]
    assert_array_equal(np.concatenate(heard), said)
    out = np.empty((1, 2, 1))
    for t in range(300):
        single.play_row(X[t : t + 1], y[t : t + 1], np.ones(1), out)
        assert_array_equal(out[0, -1, 0], said[t])


def test_a_mark_that_comes_later_is_as_if_it_had_been_there(rng: np.random.Generator) -> None:
    X, y = punched(rng, 600)
    X[:300, 2:] = 0.0
    narrow = BoostedState(THOROUGH, 2, 1)
    first = play(narrow, np.ascontiguousarray(X[:300, :2]), y[:300])
    wider = narrow.grown(2)
    wider.mark_gaps(GAPS)
    assert_array_equal(np.concatenate([first, play(wider, X[300:], y[300:])]), play(marked(), X, y))


def test_gaps_that_are_told_late_change_nothing_before_the_next_fit(rng: np.random.Generator) -> None:
    """As where a model of an earlier version is loaded, whose trees were grown on filled cells."""
    X, y = punched(rng, 500)
    state, other = BoostedState(THOROUGH, 4, 1), BoostedState(THOROUGH, 4, 1)
    play(state, X, y)
    play(other, X, y)
    state.mark_gaps(GAPS)
    assert_array_equal(state.consult(X), other.consult(X))
    rows = state.due - state.rows
    assert_array_equal(play(state, X[:rows], y[:rows]), play(other, X[:rows], y[:rows]))
    assert not np.array_equal(state.consult(X), other.consult(X))


def test_growing_keeps_what_trees_say(rng: np.random.Generator) -> None:
    X, y = punched(rng)
    state = marked()
    play(state, X, y)
    wider = state.grown(3)
    assert_array_equal(wider.consult(np.c_[X, np.zeros((ROWS, 3))]), state.consult(X))
    wider.mark_gaps([*GAPS, (4, 5), (6, 9)])  # the last is of columns that rows have not
    assert wider.gaps.tolist() == [[0, 2], [1, 3], [4, 5]]
    assert_array_equal(wider.consult(np.c_[X, np.zeros((ROWS, 3))]), state.consult(X))


@pytest.mark.parametrize("outputs", [1, 3])
def test_what_is_remembered(rng: np.random.Generator, outputs: int) -> None:
    X, y = punched(rng, 500)
    state = marked(outputs=outputs)
    play(state, X[:400], y[:400])
    again = BoostedState.restore(state.snapshot(), state.how)
    assert_array_equal(play(again, X[400:], y[400:]), play(state, X[400:], y[400:]))
    if outputs > 1:
        assert state.with_class().gaps.tolist() == state.gaps.tolist()


@pytest.mark.parametrize("gaps", [[[0, 4]], [[-1, 2]], [[0, 2], [0, 2]]])
def test_a_damaged_file_is_refused(gaps: list[list[int]], rng: np.random.Generator) -> None:
    X, y = punched(rng, 100)
    state = marked()
    play(state, X, y)
    file = state.snapshot()
    with pytest.raises(SnapshotRefused):
        BoostedState.restore(replace(file, arrays={**file.arrays, "gaps": np.array(gaps)}), THOROUGH)


@pytest.mark.parametrize("make", [Auto, lambda: Auto(classes=[0, 1])], ids=["two classes", "many"])
def test_auto_hears_of_gaps_by_the_names_of_features(make, rng: np.random.Generator, tmp_path) -> None:  # type: ignore[no-untyped-def]
    X, y = punched(rng)
    X, y = np.c_[X, rng.normal(size=(ROWS, 20))], y.astype(float)  # so that columns are chosen, too
    names = ["a", "b", "a is missing", "b is missing", *(f"noise {j}" for j in range(20))]
    known, plain = make(), make()
    known.feature_names_ = names
    said, unaware = known.learn_many(X, y), plain.learn_many(X, y)

    def lost(P: Matrix) -> float:
        p = P[:, 1] if P.ndim == 2 else P
        return float(-np.log(np.where(y == 1.0, p, 1.0 - p)).mean())

    assert lost(said) < lost(unaware)
    known.save(tmp_path / "model")
    again = type(known).load(tmp_path / "model")
    assert_array_equal(again.learn_many(X[:90], y[:90]), known.learn_many(X[:90], y[:90]))
