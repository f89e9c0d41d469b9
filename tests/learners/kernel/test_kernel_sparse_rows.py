"""KernelAIOLI on sparse rows: the same game as on dense ones, in the memory of their entries."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from support import make_labels, make_rows

from aioli import KernelAIOLI


def test_dense_and_sparse_rows_may_both_come() -> None:
    X = make_rows("sparse", 200, 4, seed=0)
    y = make_labels(X, 0)
    expected = KernelAIOLI(gamma=0.3).learn_many(X, y)
    mixed = KernelAIOLI(gamma=0.3)
    said = [mixed.learn_many(X[:50], y[:50])]
    assert_allclose(mixed.predict_many(sparse.csr_array(X)), mixed.predict_many(X), rtol=1e-12)
    said.append(mixed.learn_many(sparse.csc_matrix(X[50:90]), y[50:90]))
    said.append(mixed.learn_many(X[90:], y[90:]))
    assert_allclose(np.concatenate(said), expected, rtol=1e-10)
    assert_allclose(mixed.predict_many(sparse.csr_array(X)), mixed.predict_many(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_wide_sparse_rows_are_never_made_dense(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X: Any = sparse.random_array((150, 40_000), density=0.001, format="csr", rng=np.random.default_rng(0))
    y = np.asarray(X[:, :20_000].sum(axis=1) > X[:, 20_000:].sum(axis=1))
    few = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))
    expected = KernelAIOLI(kernel, gamma=0.1, degree=2).learn_many(X[:, few].toarray(), y)
    made = sparse.csr_array.toarray

    def small_only(matrix: Any, *args: Any, **settings: Any) -> Any:
        assert matrix.shape[1] < 40_000
        return made(matrix, *args, **settings)

    monkeypatch.setattr(sparse.csr_array, "toarray", small_only)
    learner = KernelAIOLI(kernel, gamma=0.1, degree=2)
    assert_allclose(learner.learn_many(X, y), expected, rtol=1e-10)  # columns of zeros change nothing
    assert_allclose(learner.predict(X[[3]]), learner.predict_many(X[:5])[3], rtol=1e-10)
