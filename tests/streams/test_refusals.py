"""Rows that the border refuses: not finite, too long, of another shape or type."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusing import INF, LABELS, NAN, D, N, good_rows, refused, snapshot, trained
from scipy import sparse

from aioli import AIOLI
from aioli.streams import rows as border

# ---- numbers that are none


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.coo_array, np.ndarray.tolist, np.float32])
@pytest.mark.parametrize("row", [0, N // 2, N - 1])
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_what_is_not_finite_is_named(bad: float, row: int, make: Any) -> None:
    X = good_rows()
    X[row, 1] = bad
    for learner in (trained(), AIOLI()):
        with refused(learner, f"row {row}", "column 1", str(bad), "fill it"):
            learner.learn_many(make(X), LABELS)
        with refused(learner, f"row {row}", "column 1", str(bad), "fill it"):
            learner.predict_many(make(X))
        for play in (learner.predict, learner.predict_logit, lambda x, who=learner: who.learn(x, 1)):
            with refused(learner, "column 1", str(bad), "fill it"):
                play(X[row])


@pytest.mark.parametrize("row", [4, 5, 8])
def test_a_bad_row_in_a_later_chunk_stops_the_first_chunk_too(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(border, "CHUNK_BYTES", 8 * 4 * (D + 1))  # four rows a chunk
    X = good_rows()
    X[row, 2] = NAN
    learner = trained()
    with refused(learner, f"row {row}", "column 2"):
        learner.learn_many(X, LABELS)


@pytest.mark.parametrize("size", [1e20, 1e154, 1e200, 1e308, -1e308])
def test_a_row_too_long_to_keep_exact_is_named(size: float) -> None:
    X = good_rows()
    X[N - 1, 2] = size
    learner = trained()
    with refused(learner, f"row {N - 1}", "column 2", f"{size:g}", "scale"):
        learner.learn_many(X, LABELS)
    with refused(learner, "column 2", f"{size:g}", "scale"):
        learner.learn(X[N - 1], 1)
    with refused(learner, "column 2", f"{size:g}", "scale"):
        learner.predict(X[N - 1])


def test_columns_are_called_by_their_names() -> None:
    learner = trained()
    learner.feature_names_ = ["age", "income", "clicks"]
    with refused(learner, "'income'", "nan"):
        learner.learn([0.0, NAN, 0.0], 1)
    with refused(learner, "row 0", "'clicks'", "1e+200"):
        learner.learn_many([[0.0, 1.0, 1e200]], [1])


def test_names_that_do_not_fit_the_rows_are_refused_as_such() -> None:
    learner = AIOLI()
    learner.feature_names_ = ["age"]
    for x in ([1.0, 2.0], [1.0, NAN]):
        with refused(learner, "1 name", "2 columns"):
            learner.learn(x, 1)


@pytest.mark.parametrize("ridge", [1e30, 1e90, 1e100])
@pytest.mark.parametrize("bad", [NAN, INF])
def test_a_stiff_prior_lets_nothing_through_that_is_not_finite(ridge: float, bad: float) -> None:
    learner = trained(ridge=ridge)
    with refused(learner, "row 0", "column 0", str(bad)):
        learner.learn_many([[bad, 0.0, 0.0]], [1])
    with refused(learner, "column 0", str(bad)):
        learner.learn([bad, 0.0, 0.0], 1)
    with refused(learner, "column 0", str(bad)):
        learner.predict([bad, 0.0, 0.0])


def test_a_long_double_beyond_float64_is_an_infinity() -> None:
    if np.finfo(np.longdouble).max <= np.finfo(np.float64).max:
        pytest.skip("this system has no long double beyond float64")
    learner = trained()
    with refused(learner, "column 2", "inf"):
        learner.learn(np.array([0.0, 0.0, np.longdouble("1e400")]), 1)


def test_a_masked_entry_is_missing_and_not_the_number_behind_the_mask() -> None:
    masked: Any = np.ma.masked_array(good_rows(), mask=np.zeros((N, D), dtype=bool))
    masked[4, 1] = np.ma.masked
    learner = trained()
    with refused(learner, "row 4", "column 1", "mask"):
        learner.learn_many(masked, LABELS)
    with refused(learner, "column 1", "mask"):
        learner.learn(masked[4], 1)
    with refused(learner, "column 1", "mask"):
        learner.predict(masked[4])
    with refused(learner, "row 2", "mask"):
        learner.learn_many(good_rows(), np.ma.masked_array(LABELS, mask=np.arange(N) == 2))


# ---- shapes


@pytest.mark.parametrize("width", [1, D - 1, D + 1, 50])
def test_a_row_of_another_width(width: int) -> None:
    learner = trained()
    advice = "grow()" if width > D else "give 0"
    for play in (learner.predict, learner.predict_logit, lambda x: learner.learn(x, 1)):
        with refused(learner, f"{width} columns", f"knows {D}", advice):
            play(np.ones(width))
    for X in (np.ones((2, width)), sparse.csr_array(np.ones((2, width)))):
        with refused(learner, f"{width} columns", f"knows {D}", advice):
            learner.learn_many(X, [0, 1])
        with refused(learner, f"{width} columns", f"knows {D}", advice):
            learner.predict_many(X)


@pytest.mark.parametrize("shape", [(0, D), (0, 0), (D, 0)])
@pytest.mark.parametrize("make", [np.zeros, sparse.csr_matrix, sparse.csr_array])
def test_an_empty_matrix(shape: tuple[int, int], make: Any) -> None:
    for learner in (trained(), AIOLI()):
        with refused(learner, "empty", str(shape), "at least one row"):
            learner.learn_many(make(shape), [1] * shape[0])
        with refused(learner, "empty", str(shape), "at least one row"):
            learner.predict_many(make(shape))


@pytest.mark.parametrize("x", [[], (), np.zeros(0), np.zeros((1, 0))], ids=repr)
def test_an_empty_row(x: object) -> None:
    for learner in (trained(), AIOLI()):
        with refused(learner, "empty", "give"):
            learner.predict(x)
        with refused(learner, "empty", "give"):
            learner.learn(x, 1)


NO_MATRIX: dict[str, Any] = {
    "None": None,
    "a number": 3.0,
    "a row": np.ones(D),
    "a sparse row": sparse.coo_array(np.ones(D)),
    "a cube": np.ones((2, 2, D)),
    "a sparse cube": sparse.coo_array(np.ones((2, 2, D))),
}


@pytest.mark.parametrize("kind", NO_MATRIX)
def test_what_is_no_matrix(kind: str) -> None:
    learner = trained()
    for play in (learner.predict_many, lambda X: learner.learn_many(X, [1])):
        with refused(learner, "shape", "two dimensions"):
            play(NO_MATRIX[kind])


NO_ROW: dict[str, Any] = {
    "None": None,
    "a number": 3.0,
    "a word": "abc",
    "two rows": np.ones((2, D)),
    "two sparse rows": sparse.csr_array(np.ones((2, D))),
    "a cube": np.ones((1, 1, D)),
}


@pytest.mark.parametrize("kind", NO_ROW)
def test_what_is_no_row(kind: str) -> None:
    learner = trained()
    for play in (learner.predict, learner.predict_logit, lambda x: learner.learn(x, 1)):
        with refused(learner, "shape", "one row"):
            play(NO_ROW[kind])


def test_dictionaries_are_for_other_learners() -> None:
    learner = trained()
    for play in (learner.predict, learner.predict_logit, lambda x: learner.learn(x, 1)):
        with refused(learner, "a dictionary came", "TableLearner"):
            play({"a": 1.0})
    for play_many in (learner.predict_many, lambda X: learner.learn_many(X, [1])):
        with refused(learner, "dictionaries came", "TableLearner"):
            play_many([{"a": 1.0}])


@pytest.mark.parametrize("X", [[[1.0, 2.0, 3.0], [1.0, 2.0]], [[1.0, 2.0, 3.0], 4.0], [[1.0], [[2.0]]]], ids=repr)
def test_rows_of_different_widths(X: object) -> None:
    learner = trained()
    with refused(learner, "different widths", "rectangle"):
        learner.learn_many(X, [0, 1])


# ---- types

WRONG_TYPES: dict[str, Any] = {
    "strings": np.array([["1.0", "2.0", "3.0"]]),
    "bytes": np.array([[b"1.0", b"2.0", b"3.0"]]),
    "complex": np.array([[1j, 2.0, 3.0]]),
    "sparse complex": sparse.csr_array(np.array([[1j, 2.0, 3.0]])),
    "dates": np.array([["2024-01-01", "2024-01-02", "NaT"]], dtype="datetime64[D]"),
    "durations": np.array([[1, 2, 3]], dtype="timedelta64[s]"),
    "objects that are numbers": np.array([[1.0, 2, 3]], dtype=object),
    "integers beyond 64 bits": [[1, 2, 10**30]],
}


@pytest.mark.parametrize("kind", WRONG_TYPES)
def test_values_that_are_no_real_numbers(kind: str) -> None:
    X = WRONG_TYPES[kind]
    for learner in (trained(), AIOLI()):
        for play in (learner.predict_many, learner.predict, lambda X, who=learner: who.learn_many(X, [1])):
            with refused(learner, "type", "real numbers"):
                play(X)


@pytest.mark.parametrize("bad", [None, "x", 1j, [1.0]], ids=repr)
def test_an_object_that_is_no_number_is_named(bad: object) -> None:
    X: Any = np.array(good_rows(), dtype=object)
    X[4, 2] = bad
    learner = trained()
    with refused(learner, "row 4", "column 2", repr(bad), "real numbers"):
        learner.learn_many(X, LABELS)
    with refused(learner, "column 2", repr(bad), "real numbers"):
        learner.learn(X[4], 1)


def sentence(play: Callable[[Any], object], x: object) -> str | None:
    """What it says when it refuses x; None where it does not."""
    try:
        play(copy.deepcopy(x))
    except ValueError as error:
        return str(error)
    return None


@given(st.recursive(st.none() | st.text() | st.floats() | st.integers() | st.booleans(), st.lists, max_leaves=12))
def test_anything_at_all_is_a_row_or_refused(x: object) -> None:
    learner = trained()
    before = snapshot(learner)
    for play in (learner.predict, learner.predict_many, lambda x: learner.learn(x, 1)):
        said = sentence(play, x)
        assert said is None or "came" in said or "row" in said  # our sentence, not a compiler's
        assert said is None or snapshot(learner) == before
