"""Whoever catches a refusal of the border reads row, column, value and remedy from it, not from its sentence."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from aioli.errors import LabelRefused, ParameterRefused, RowRefused
from aioli.streams.matrices import FILL
from aioli.streams.rows import Rows, as_label, as_labels, as_logits, as_weights
from aioli.streams.sparse_rows import SparseRows

X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


def spoiled(value: float) -> Any:
    rows = X.copy()
    rows[1, 1] = value
    return rows


@pytest.mark.parametrize("border", [Rows, SparseRows])
@pytest.mark.parametrize(("value", "remedy"), [(math.inf, FILL), (1e9, "scale the columns first")])
@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_a_refused_cell(border: Any, value: float, remedy: str, names: list[str] | None) -> None:
    with pytest.raises(RowRefused) as caught:
        border(spoiled(value), intercept=False, widest=1e6, names=names)
    error = caught.value
    assert (error.row, error.column, error.value, error.remedy) == (1, "b" if names else 1, value, remedy)
    assert str(error.placed("line 3 of a.csv")).startswith("line 3 of a.csv: column ")
    with pytest.raises(RowRefused) as single:
        border(spoiled(value)[1], intercept=False, widest=1e6, names=names, single=True)
    assert single.value.row is None


def test_a_refused_label() -> None:
    with pytest.raises(LabelRefused) as caught:
        as_labels([0.0, 3.0, 1.0], 3)
    assert (caught.value.row, caught.value.value) == (1, 3.0)
    with pytest.raises(LabelRefused) as single:
        as_label("maybe")
    assert (single.value.row, single.value.value) == (None, "maybe")
    with pytest.raises(LabelRefused) as mixed:
        as_labels([0, 1, -1], 3)
    assert mixed.value.row == 2
    with pytest.raises(LabelRefused) as text:
        as_labels(np.array([0, "x"], dtype=object), 2)
    assert (text.value.row, text.value.value) == (1, "x")


def test_refused_weights_and_log_odds() -> None:
    rows = Rows(X, intercept=False, widest=1e6)
    with pytest.raises(RowRefused) as negative:
        as_weights([1.0, 1.0, -2.0], rows, 1e6)
    assert (negative.value.row, negative.value.value) == (2, -2.0)
    with pytest.raises(RowRefused) as heavy:
        as_weights([1.0, 1e7, 1.0], rows, 1e6)
    assert (heavy.value.row, heavy.value.remedy) == (1, "scale the weights down")
    with pytest.raises(RowRefused) as late:
        as_logits([math.nan, 0.0], 2)
    assert late.value.row == 0


@pytest.mark.parametrize(
    ("given", "parameter", "value"),
    [
        (lambda: Rows(np.ones(3), intercept=False, widest=1.0), "X", (3,)),
        (lambda: Rows(np.ones((2, 2)), intercept=False, widest=1.0, width=3), "X", (2, 2)),
        (lambda: Rows(sparse.csr_array((0, 2)), intercept=False, widest=1.0), "X", (0, 2)),
        (lambda: as_labels([0, 1], 3), "y", (2,)),
        (lambda: as_logits([0.0], 2), "logits", (1,)),
    ],
)
def test_what_is_of_another_shape(given: Any, parameter: str, value: object) -> None:
    with pytest.raises(ParameterRefused) as caught:
        given()
    assert (caught.value.parameter, caught.value.value) == (parameter, value)


def test_a_masked_entry() -> None:
    masked = np.ma.masked_array(X, mask=np.array([[0, 0], [0, 1], [0, 0]], dtype=bool))
    with pytest.raises(RowRefused) as caught:
        Rows(masked, intercept=False, widest=1e6)
    assert (caught.value.row, caught.value.column) == (1, 1)
    with pytest.raises(RowRefused) as label:
        as_labels(np.ma.masked_array([0, 1], mask=[False, True]), 2)
    assert label.value.row == 1
