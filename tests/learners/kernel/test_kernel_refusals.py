"""What KernelAIOLI refuses, in a sentence, and without a trace."""

import copy
import math
import re
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from support import make_labels, make_rows

from aioli import KernelAIOLI
from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import to_bytes


def taught(n: int = 60, **parameters: Any) -> KernelAIOLI:
    learner = KernelAIOLI(**parameters)
    X = make_rows("random", n, 3, 1)
    learner.learn_many(X, make_labels(X, 1))
    return learner


def assert_untouched(learner: KernelAIOLI, twin: KernelAIOLI) -> None:
    """Equal to the last bit, now and in the future."""
    X = make_rows("random", 150, 3, 2)
    y = make_labels(X, 2)
    assert (learner.rounds, learner.loss, learner.n_features_) == (twin.rounds, twin.loss, twin.n_features_)
    assert learner.certificate() == twin.certificate()
    assert learner.effective_dimension_ == twin.effective_dimension_
    assert_array_equal(learner.learn_many(X, y), twin.learn_many(X, y))
    assert learner.certificate(tight=True) == twin.certificate(tight=True)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"gamma": 0.0}, "gamma is 0.0; it must be a finite number above 0"),
        ({"gamma": -1.0}, "gamma is -1.0; it must be a finite number above 0"),
        ({"gamma": math.nan}, "gamma is nan; it must be a finite number above 0"),
        ({"gamma": math.inf}, "gamma is inf; it must be a finite number above 0"),
        ({"gamma": "scale"}, "gamma is 'scale'; it must be a finite number above 0"),
        ({"kernel": "sigmoid"}, "kernel is 'sigmoid'; it must be one of linear, poly, rbf, laplacian"),
        ({"kernel": 3}, "kernel is 3; it must be a name, or a function"),
        ({"degree": 0}, "degree is 0; it must be a whole number"),
        ({"degree": 2.5}, "degree is 2.5; it must be a whole number"),
        ({"coef0": -1.0}, "coef0 is -1.0; it must be a number of at least 0"),
        ({"coef0": math.nan}, "coef0 is nan; it must be a number of at least 0"),
        ({"budget": 0}, "budget is 0; it must be a whole number of rows"),
        ({"budget": 2.5}, "budget is 2.5; it must be a whole number of rows"),
        ({"radius": -1.0}, "radius is -1.0"),
        ({"ridge": 0.0}, "ridge is 0.0"),
        ({"forgetting": 1.5}, "forgetting is 1.5"),
        ({"curvature": "round"}, "curvature is 'round'"),
    ],
)
def test_parameters_that_cannot_be(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        KernelAIOLI(**parameters)


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("as_csr", [False, True])
def test_rows_labels_and_weights_that_are_none_leave_no_trace(forgetting: float, as_csr: bool) -> None:
    learner = taught(forgetting=forgetting)
    twin = copy.deepcopy(learner)
    X = make_rows("random", 200, 3, 5)
    y = make_labels(X, 5)
    for value in (math.nan, math.inf):
        broken = X.copy()
        broken[170, 1] = value
        with pytest.raises(ValueError, match=f"row 170: column 1 is {value}.*nothing was learned"):
            learner.learn_many(sparse.csr_array(broken) if as_csr else broken, y)
        with pytest.raises(ValueError, match=f"the row: column 1 is {value}"):
            learner.learn(sparse.csr_array(broken[170:171]) if as_csr else broken[170], 1)
        with pytest.raises(ValueError, match=f"column 1 is {value}"):
            learner.predict(broken[170])
    table = sparse.csr_array(X) if as_csr else X
    for labels, weights, logits, sentence in [
        (y + 5.0, None, None, "row 0: the label is"),
        (y, np.full(200, -1.0), None, "row 0: weight is -1"),
        (y, np.full(200, 1e200), None, "row 0: of length .* weight 1e.200"),
        (y, None, np.full(200, math.nan), "row 0: logit is nan"),
        (y[:-1], None, None, "200 rows came with labels of shape"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            learner.learn_many(table, labels, weights, logits)
    with pytest.raises(ValueError, match="this learner knows 3"):
        learner.learn([1.0, 2.0], 1)
    assert_untouched(learner, twin)


def test_a_refused_first_row_leaves_a_learner_that_knows_no_columns() -> None:
    learner = KernelAIOLI("linear")
    for bad in ([math.nan, 0.0], [1e60, 0.0], [1e120, 0.0]):
        with pytest.raises(ValueError, match="nothing was learned"):
            learner.learn(bad, 1)
    assert learner.n_features_ is None
    assert learner.gamma_ is None
    learner.learn([1.0, 2.0, 3.0], 1)
    assert learner.n_features_ == 3


def inner(X: Matrix, Y: Matrix) -> Matrix:
    return np.asarray(X @ Y.T)


def with_a_hole(X: Matrix, Y: Matrix) -> Matrix:
    K = inner(X, Y)
    K[(np.abs(X[:, :1]) > 2.0) & (np.abs(Y[:, 0]) <= 2.0)] = np.nan
    return K


BAD_KERNELS: dict[str, tuple[Any, str]] = {
    "negative": (lambda X, Y: -inner(X, Y), "not positive definite"),
    "beyond Cauchy and Schwarz": (lambda X, Y: 1.0 / (1e-3 + np.exp(-inner(X, Y))), "not positive definite"),
    "distance": (lambda X, Y: 1.0 + np.abs(X[:, :1] - Y[:, 0]), "not positive definite"),
    "indefinite, within Cauchy and Schwarz": (lambda X, Y: np.cos(np.abs(X[:, :1] - Y[:, 0]) ** 3), "not positive def"),
    "asymmetric": (lambda X, Y: inner(X, Y) + 0.1 * X[:, :1], "not symmetric"),
    "nan": (lambda X, Y: np.full((len(X), len(Y)), np.nan), "its kernel with a row .* is nan"),
    "infinite": (lambda X, Y: np.full((len(X), len(Y)), np.inf), "its kernel with a row .* is inf"),
    "nan between some": (with_a_hole, "row 3: its kernel with a row .* is nan"),
    "of vectors": (lambda X, Y: float(np.sum(X) * np.sum(Y)), "of shape .* it must take two matrices of rows"),
    "complex": (lambda X, Y: inner(X, Y) * 1j, "complex128 numbers .* real number for each pair"),
    "words": (lambda X, Y: [["a"] * len(Y)] * len(X), "real number for each pair"),
}


@pytest.mark.parametrize("name", BAD_KERNELS)
@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_a_function_that_is_no_kernel_is_found_out_and_leaves_no_trace(name: str, forgetting: float) -> None:
    bad, sentence = BAD_KERNELS[name]
    choice = {"kernel": inner}
    learner = taught(kernel=lambda X, Y: choice["kernel"](X, Y), ridge=0.01, intercept=False, forgetting=forgetting)
    twin = copy.deepcopy(learner)
    X = make_rows("random", 150, 3, 7)
    X[:, 0] = np.clip(X[:, 0], -1.9, 1.9)
    X[3, 0] = 2.1
    choice["kernel"] = bad
    with pytest.raises(ValueError, match=sentence):
        learner.learn_many(X, make_labels(X, 7))
    choice["kernel"] = inner
    assert_untouched(learner, twin)


@pytest.mark.parametrize("name", BAD_KERNELS)
def test_a_function_that_is_no_kernel_is_found_out_row_by_row(name: str) -> None:
    bad, sentence = BAD_KERNELS[name]
    learner = KernelAIOLI(bad, ridge=0.01, intercept=False)
    X = make_rows("random", 150, 3, 7)
    X[:, 0] = np.clip(X[:, 0], -1.9, 1.9)
    X[3, 0] = 2.1
    refused = ""
    for x, y in zip(X, make_labels(X, 7), strict=True):
        before = copy.deepcopy(learner._memory)
        try:
            learner.learn(x, y)
        except ValueError as error:
            refused = str(error)
            break
    assert re.search(sentence.replace("row 3", "the row"), refused)
    if before is None or learner._memory is None:
        assert before is learner._memory is None
    else:
        assert to_bytes(learner._memory.snapshot()) == to_bytes(before.snapshot())


def test_an_exception_of_the_kernel_itself_leaves_no_trace() -> None:
    failing = {"now": False}

    def kernel(X: Matrix, Y: Matrix) -> Matrix:
        if failing["now"] and len(Y) > 100:
            raise RuntimeError("out of order")
        return inner(X, Y)

    learner = taught(kernel=kernel)
    twin = copy.deepcopy(learner)
    X = make_rows("random", 200, 3, 7)
    failing["now"] = True
    with pytest.raises(RuntimeError, match="out of order"):
        learner.learn_many(X, make_labels(X, 7))
    failing["now"] = False
    assert_untouched(learner, twin)


@pytest.mark.parametrize("as_csr", [False, True])
def test_a_kernel_cannot_write_into_the_rows_that_are_kept(as_csr: bool) -> None:
    def careless(X: Any, Y: Any) -> Any:
        if isinstance(Y, np.ndarray):
            Y[:] = 0.0
        else:
            Y.data[:] = 0.0
        return X @ Y.T

    def careful(X: Any, Y: Any) -> Any:
        return X @ Y.T

    choice = {"kernel": careful}
    learner = KernelAIOLI(lambda X, Y: choice["kernel"](X, Y))
    X = make_rows("random", 20, 3, 1)
    table = sparse.csr_array(X) if as_csr else X
    learner.learn_many(table, make_labels(X, 1))
    expected = learner.predict_many(table)
    choice["kernel"] = careless
    with nullcontext() if as_csr else pytest.raises(ValueError, match="read-only"):  # sparse rows are copies
        learner.predict_many(table)
    choice["kernel"] = careful
    assert_array_equal(learner.predict_many(table), expected)


def test_sparse_rows_that_were_refused_do_not_make_the_store_sparse() -> None:
    learner = taught()
    twin = copy.deepcopy(learner)
    X = sparse.csr_array(make_rows("sparse", 5, 3, 1))
    with pytest.raises(ValueError, match="beyond what float64 can keep"):
        learner.learn_many(X, [1, 0, 1, 0, 1], weights=[1.0, 1.0, 1.0, 1.0, 1e100])
    assert_untouched(learner, twin)


def test_the_budget_of_rows_is_kept_and_says_where_to_turn() -> None:
    X = make_rows("random", 30, 3, 1)
    y = make_labels(X, 1)
    learner = KernelAIOLI(budget=20)
    with pytest.raises(ValueError, match=r"0 rows are kept and 30 more came.*Nystrom or RandomFeatures"):
        learner.learn_many(X, y)
    assert learner.rounds == 0
    learner.learn_many(X[:20], y[:20])
    twin = copy.deepcopy(learner)
    with pytest.raises(ValueError, match="20 rows are kept and 1 more came"):
        learner.learn(X[20], y[20])
    learner.budget = twin.budget = None
    assert_untouched(learner, twin)


def test_a_prediction_with_what_is_no_kernel_is_refused() -> None:
    choice: dict[str, Any] = {"kernel": inner}
    learner = taught(kernel=lambda X, Y: choice["kernel"](X, Y), ridge=0.01)
    x = np.ones(3)
    p = learner.predict(x)
    for bad, sentence in [
        (lambda X, Y: inner(X, Y) * np.nan, "the row: its kernel with a row kept is not finite"),
        (lambda X, Y: inner(X, Y) * (1.0 if len(Y) == 1 else 100.0), "the row: the kernel is not positive definite"),
    ]:
        choice["kernel"] = bad
        with pytest.raises(ValueError, match=sentence):
            learner.predict(x)
    choice["kernel"] = inner
    assert learner.predict(x) == p
