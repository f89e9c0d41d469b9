"""What the border accepts: every kind of row, label and weight gives what plain float64 gives."""

import copy
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from aioli import AIOLI
from aioli.numerics.compiling import Matrix
from aioli.streams import rows as border
from aioli.streams.rows import Rows, as_label, as_labels, as_logits, as_weights

N, D = 12, 4
LABELS = (np.arange(N) * 7 % 5 < 2).astype(np.float64)


def eighths() -> Matrix:
    """Multiples of 1/8, many of them 0: exact in float16."""
    X = np.random.default_rng(1).integers(-16, 17, size=(N, D)) / 8.0
    X[X < -1.0] = 0.0
    return X


def counts() -> Matrix:
    """Small counts: exact in every type of integer."""
    return np.random.default_rng(2).integers(0, 4, size=(N, D)).astype(np.float64)


def contents(learner: AIOLI) -> tuple[bytes, bytes, bytes]:
    """P, w and the tally, to compare bit for bit."""
    state = learner._state
    assert state is not None
    return state.P.tobytes(), state.w.tobytes(), state.tally.tobytes()


def read_only(X: Matrix) -> Matrix:
    X = X.copy()
    X.flags.writeable = False
    return X


def unaligned(X: Matrix) -> Matrix:
    """The same numbers, one byte off the boundary of a float64."""
    shifted = np.empty(X.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)
    shifted[...] = X
    return shifted


def spread_out(X: Matrix) -> Matrix:
    """A view that steps over every other number, in every dimension."""
    for axis in range(X.ndim):
        X = np.repeat(X, 2, axis=axis)
    return X[(slice(None, None, 2),) * X.ndim]


def backwards(X: Matrix) -> Matrix:
    """A view with negative strides."""
    return np.flip(np.flip(X).copy())


DENSE: dict[str, Any] = {  # of any number of dimensions
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "long double": lambda X: X.astype(np.longdouble),
    "big-endian float64": lambda X: X.astype(">f8"),
    "big-endian float32": lambda X: X.astype(">f4"),
    "Fortran order": np.asfortranarray,
    "strided": spread_out,
    "negative strides": backwards,
    "read-only": read_only,
    "unaligned": unaligned,
    "list": lambda X: X.tolist(),
    "list of what iterating gives": list,
    "subclass of ndarray": lambda X: X.view(np.recarray),
    "masked array with nothing masked": np.ma.asarray,
}
TWO_DIMENSIONAL: dict[str, Any] = {
    "tuple of tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list of tuples of NumPy scalars": lambda X: [tuple(row) for row in X],
    "np.matrix": lambda X: X.view(np.matrix),
    "CSR matrix": sparse.csr_matrix,
    "CSC matrix": sparse.csc_matrix,
    "COO matrix": sparse.coo_matrix,
    "CSR array": sparse.csr_array,
    "CSC array": sparse.csc_array,
    "COO array": sparse.coo_array,
    "LIL array": sparse.lil_array,
    "DOK array": sparse.dok_array,
    "DIA array": sparse.dia_array,
    "BSR array": sparse.bsr_array,
    "sparse float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "sparse long double": lambda X: sparse.csc_array(X.astype(np.longdouble)),
}
ONE_DIMENSIONAL: dict[str, Any] = {
    "tuple": lambda x: tuple(x.tolist()),
    "1-D COO array": sparse.coo_array,
    "1-D CSR array": sparse.csr_array,
    "1-D DOK array": sparse.dok_array,
}
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i2", ">u8"]


def check_same_game(X: Matrix, given: Any) -> None:
    plain, learner = AIOLI(), AIOLI()
    assert_array_equal(learner.learn_many(given, LABELS), plain.learn_many(X, LABELS))
    assert contents(learner) == contents(plain)
    assert_array_equal(learner.predict_many(given), plain.predict_many(X))


def check_same_row(x: Any, given: Any) -> None:
    plain = AIOLI()
    plain.learn_many(eighths(), LABELS)
    learner = copy.deepcopy(plain)
    # a plain row goes to a compiled loop, any other through a matrix product: their sums are ordered differently
    assert_allclose(learner.predict(given), plain.predict(x), rtol=1e-13)
    assert_allclose(learner.predict_logit(given), plain.predict_logit(x), rtol=1e-13)
    assert_allclose(learner.learn(given, 1), plain.learn(x, 1), rtol=1e-13)
    assert_allclose(learner.coefficients_, plain.coefficients_, rtol=1e-13)


@pytest.mark.parametrize("kind", [*DENSE, *TWO_DIMENSIONAL])
def test_matrices_of_every_kind_play_the_same_game(kind: str) -> None:
    check_same_game(eighths(), (DENSE | TWO_DIMENSIONAL)[kind](eighths()))


@pytest.mark.parametrize("kind", [*DENSE, *ONE_DIMENSIONAL])
def test_rows_of_every_kind_are_the_same_row(kind: str) -> None:
    x = eighths()[3]
    check_same_row(x, (DENSE | ONE_DIMENSIONAL)[kind](x))


@pytest.mark.parametrize("kind", [*DENSE, *TWO_DIMENSIONAL])
def test_a_matrix_of_one_row_is_a_row(kind: str) -> None:
    x = eighths()[3]
    check_same_row(x, (DENSE | TWO_DIMENSIONAL)[kind](x[None, :]))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_every_size(dtype: str) -> None:
    check_same_game(counts(), counts().astype(dtype))
    check_same_row(counts()[5], counts()[5].astype(dtype))


def test_truth_values_are_0_and_1() -> None:
    X = counts() > 1
    check_same_game(X.astype(np.float64), X)
    check_same_game(X.astype(np.float64), X.tolist())
    check_same_game(X.astype(np.float64), sparse.csr_array(X))
    check_same_row(X[4].astype(np.float64), X[4])


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_memory_map(order: Any, tmp_path: Path) -> None:
    mapped: Any = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=(N, D), order=order)
    mapped[...] = eighths()
    check_same_game(eighths(), mapped)
    check_same_row(eighths()[3], mapped[3])


def test_sparse_entries_given_twice_add_up() -> None:
    rows, columns = np.nonzero(np.ones((N, D)))
    halves = np.concatenate([eighths().ravel() / 2.0] * 2)
    twice = sparse.coo_array((halves, (np.tile(rows, 2), np.tile(columns, 2))), shape=(N, D))
    check_same_game(eighths(), twice)


def test_a_data_frame() -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = pandas.DataFrame(eighths(), columns=list("abcd"))
    check_same_game(eighths(), frame)
    check_same_row(eighths()[3], frame.iloc[3])
    mixed = pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    check_same_row(eighths()[3], frame.iloc[3:4])
    assert AIOLI().learn_many(mixed, pandas.Series([0, 1])).tolist()[0] == 0.5


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_in_many_chunks_are_the_same_rows(make: Any, intercept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = AIOLI(intercept=intercept)
    expected = whole.learn_many(eighths(), LABELS, weights=np.arange(N) / 4.0)
    monkeypatch.setattr(border, "CHUNK_BYTES", 8 * 5 * (D + 1))  # chunks of five rows: 5, 5 and 2
    rows = Rows(make(eighths()), intercept=intercept, widest=1e9)
    assert [(start, chunk.shape) for start, chunk in rows] == [
        (start, (size, D + intercept)) for start, size in ((0, 5), (5, 5), (10, 2))
    ]
    learner = AIOLI(intercept=intercept)
    # the fused loop applies a row's downdate with the next row's product: at a chunk's end, on its own
    assert_allclose(learner.learn_many(make(eighths()), LABELS, weights=np.arange(N) / 4.0), expected, rtol=1e-13)
    assert_allclose(learner.predict_many(make(eighths())), whole.predict_many(eighths()), rtol=1e-13)


def test_rows_hand_out_float64_with_the_intercept_first() -> None:
    (start, chunk), *rest = Rows(eighths().astype(np.float32), intercept=True, widest=1e9)
    assert start == 0
    assert not rest
    assert chunk.dtype == np.float64
    assert_array_equal(chunk, np.column_stack([np.ones(N), eighths()]))
    assert chunk.flags.c_contiguous
    assert len(Rows([1.0, 2.0], intercept=False, widest=1e9, single=True)) == 1


def test_nothing_that_is_given_is_changed_or_kept() -> None:
    X, y, weights, logits = eighths(), LABELS.copy(), np.full(N, 0.5), np.linspace(-1.0, 1.0, N)
    learner = AIOLI()
    learner.learn_many(X, y, weights, logits)
    learner.learn(X[0], 1)
    learner.predict(X[1])
    assert_array_equal(X, eighths())
    assert_array_equal(y, LABELS)
    assert_array_equal(weights, np.full(N, 0.5))
    assert_array_equal(logits, np.linspace(-1.0, 1.0, N))
    before = contents(learner)
    for given in (X, y, weights, logits):
        given[...] = np.nan
    assert contents(learner) == before


ONES: list[Any] = [1, 1.0, True, np.True_, np.int8(1), np.uint64(1), np.float16(1), np.array(1), np.array([1.0])]
ZEROS: list[Any] = [0, 0.0, -0.0, False, np.False_, np.uint8(0), np.float32(0), np.array([False])]
MINUS: list[Any] = [-1, -1.0, np.int8(-1), np.float64(-1), np.array(-1)]


@pytest.mark.parametrize("label", [*ONES, Fraction(1), Decimal(1)], ids=repr)
def test_labels_that_are_1(label: object) -> None:
    assert as_label(label) == 1.0


@pytest.mark.parametrize("label", [*ZEROS, *MINUS], ids=repr)
def test_labels_that_are_0(label: object) -> None:
    assert as_label(label) == 0.0


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", ">i4", ">f8"])
def test_label_arrays_of_every_type(dtype: str) -> None:
    assert_array_equal(as_labels(LABELS.astype(dtype), N), LABELS)
    assert_array_equal(as_labels(LABELS.astype(dtype)[:, None], N), LABELS)  # a column of a matrix
    assert_array_equal(as_labels(LABELS.astype(dtype).tolist(), N), LABELS)


def test_minus_one_is_the_other_label() -> None:
    assert_array_equal(as_labels(2.0 * LABELS - 1.0, N), LABELS)
    assert_array_equal(as_labels((2 * LABELS - 1).astype(np.int8), N), LABELS)
    assert_array_equal(as_labels([-1, -1], 2), [0.0, 0.0])


def test_weights_and_logits_become_float64() -> None:
    rows = Rows(eighths(), intercept=True, widest=1e9)
    assert_array_equal(as_weights(None, rows, 1e9), np.ones(N))
    assert_array_equal(as_weights(list(range(N)), rows, 1e9), np.arange(N))
    assert_array_equal(as_weights(np.ones((N, 1), dtype=bool), rows, 1e9), np.ones(N))
    assert np.isnan(as_logits(None, 3)).all()
    assert_array_equal(as_logits(np.array([0, -2], dtype=np.int8), 2), [0.0, -2.0])
