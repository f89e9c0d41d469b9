r"""Kernels by scikit-learn's names, or any function of two matrices of rows; evaluated in blocks, and checked.

| name | $k(x, y)$ | |
|---|---|---|
| `"linear"` | $x^\top y$ | |
| `"poly"` | $(\gamma\,x^\top y + c_0)^p$ | $p$ is `degree`, $c_0 \ge 0$ is `coef0` |
| `"rbf"` | $e^{-\gamma\|x-y\|^2}$ | |
| `"laplacian"` | $e^{-\gamma\|x-y\|_1}$ | |
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from aioli.errors import AioliError, ParameterRefused, RowRefused
from aioli.learners.parameters import require_positive
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.states.kernel.growing_cholesky import ROUNDING
from aioli.states.kernel.kept_rows import Block, CsrRows, KernelRows, as_sparse
from aioli.streams.sparse_rows import Indices

__all__ = ["NAMES", "Function", "Kernel", "decay", "gram", "no_kernel", "row_number"]

NAMES = ("linear", "poly", "rbf", "laplacian")

Function = Callable[[Any, Any], Any]  # of the user's: whatever takes two tables of rows

CANCELLING = 1e-12  # of γ‖x-y‖²: the error up to which ‖x‖² + ‖y‖² - 2xᵀy, one matrix product, may stand for it


@dataclass(frozen=True)
class Kernel:
    """A kernel and its parameters, checked once; `gamma` may be None until the number of columns is known."""

    kernel: str | Function
    gamma: float | None
    degree: int
    coef0: float

    def __post_init__(self) -> None:
        if isinstance(self.kernel, str) and self.kernel not in NAMES:
            raise ParameterRefused.unlike("kernel", self.kernel, f"one of {', '.join(NAMES)}, or a function")
        if not (isinstance(self.kernel, str) or callable(self.kernel)):
            raise ParameterRefused.unlike("kernel", self.kernel, "a name, or a function of two matrices of rows")
        if self.gamma is not None:
            require_positive(gamma=self.gamma)
        if not isinstance(self.degree, (int, np.integer)) or not 1 <= self.degree <= 100:
            raise ParameterRefused.unlike("degree", self.degree, "a whole number from 1 to 100")
        if not isinstance(self.coef0, (int, float, np.number)) or not 0.0 <= self.coef0 <= 1e100:
            raise ParameterRefused.unlike(
                "coef0", self.coef0, "a number of at least 0: below, (γxᵀy + coef0)^degree is no kernel"
            )

    def for_width(self, columns: int) -> "Kernel":
        """Return the same kernel with its γ: 1 over the number of columns, unless it was given."""
        return self if self.gamma is not None else replace(self, gamma=1.0 / columns)

    def matrix(self, X: Block, Y: Block) -> Matrix:
        """Return the kernel of each row of X with each row of Y, both of one kind. O(nnz) a row."""
        if not isinstance(self.kernel, str):
            shape = len(X.squares), len(Y.squares)
            return _as_values(self.kernel(_locked(X), _locked(Y)), shape) if all(shape) else np.empty(shape)
        gamma = 1.0 if self.gamma is None else float(self.gamma)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # an infinity is found by `gram`
            if self.kernel == "laplacian":
                return decay(X.rows, Y.rows, gamma, 1)
            if self.kernel == "rbf":
                largest = max(float(X.squares.max(initial=0.0)), float(Y.squares.max(initial=0.0)))
                if gamma * largest * np.finfo(np.float64).eps > CANCELLING:
                    return decay(X.rows, Y.rows, gamma, 2)
                square = X.squares[:, None] + Y.squares - 2.0 * _products(X.rows, Y.rows)
                return np.exp(-gamma * np.maximum(square, 0.0))
            products = _products(X.rows, Y.rows)
            return products if self.kernel == "linear" else np.power(gamma * products + self.coef0, self.degree)

    def diagonal(self, X: Block) -> Vector:
        """Return k(x, x) of each row; O(1) a row for the kernels that have a name."""
        if not isinstance(self.kernel, str):
            return np.diagonal(self.matrix(X, X)).copy()
        if self.kernel == "linear":
            return X.squares
        if self.kernel == "poly":
            with np.errstate(over="ignore"):
                return np.power((self.gamma or 1.0) * X.squares + self.coef0, self.degree)
        return np.ones(len(X.squares))

    def accuracy(self, X: Block) -> float:
        """Return how far rounding may move the kernel of two of these rows, as a share of √k(x,x)·√k(y,y)."""
        terms = X.rows.shape[1] if isinstance(X.rows, np.ndarray) else int(np.diff(X.rows.indptr).max(initial=0))
        sums = (terms + 4.0) * np.finfo(np.float64).eps
        if self.kernel == "poly":
            return 2.0 * float(self.degree) * sums
        if self.kernel == "rbf":  # by a product of matrices, an error of ‖x‖² is one of the exponent
            exponent = 4.0 * (self.gamma or 1.0) * float(X.squares.max(initial=0.0)) * sums
            return sums + min(exponent, terms * CANCELLING)
        return sums


def gram(kernel: Kernel, X: Block, kept: Block, kept_diagonal: Vector, first: int | None) -> tuple[Matrix, Matrix]:
    """Return the kernel of X with the rows kept, and among themselves. O(nnz) a pair.

    What no kernel can be is `RowRefused`: not finite, not symmetric, or beyond k(x,y)² ≤ k(x,x) k(y,y). A kernel
    that has no name is asked about every new row and the latest kept one in both orders. `first` as in `row_number`.
    """
    K, own = kernel.matrix(X, kept), kernel.matrix(X, X)
    for values, what in ((own, "a row that came with it"), (K, "a row kept")):
        if not np.isfinite(values).all():
            t, s = np.argwhere(~np.isfinite(values))[0].tolist()
            raise RowRefused(
                f"its kernel with {what} is {values[t, s]}",
                row=row_number(first, t),
                value=float(values[t, s]),
                remedy="scale the columns, or mend the kernel",
            )
    named = isinstance(kernel.kernel, str)
    diagonal = kernel.diagonal(X) if named else np.diagonal(own).copy()
    length, kept_length = np.sqrt(np.abs(diagonal)), np.sqrt(np.abs(kept_diagonal))
    size, kept_size = np.outer(length, length), np.outer(length, kept_length)
    asymmetric = (np.abs(own - own.T) > ROUNDING * size).any(axis=1)
    if not named and len(kept_diagonal):
        latest = Block(kept.rows[-1:], kept.squares[-1:])
        asymmetric |= ~(np.abs(kernel.matrix(latest, X)[0] - K[:, -1]) <= ROUNDING * kept_size[:, -1])
    beyond = (np.abs(own) > (1.0 + ROUNDING) * size).any(axis=1) | (diagonal < 0.0)
    beyond |= (np.abs(K) > (1.0 + ROUNDING) * kept_size).any(axis=1)
    for wrong, what in ((asymmetric, "not symmetric"), (beyond, "not positive definite")):
        if wrong.any():
            raise no_kernel(what, row_number(first, int(np.argmax(wrong))))
    np.fill_diagonal(own, diagonal)
    return K, own


def row_number(first: int | None, t: int) -> int | None:
    """Return the number, in the user's call, of row t of a block; None where `first` says that a single row came."""
    return None if first is None else first + t


def no_kernel(what: str, row: int | None) -> RowRefused:
    """Return the refusal of a function that this row shows to be no kernel."""
    return RowRefused(f"the kernel is {what} on the rows so far: it is no inner product", row=row, remedy="use another")


def decay(X: KernelRows, Y: KernelRows, gamma: float, power: int) -> Matrix:
    r"""Return $e^{-\gamma\sum_i|x_i - y_i|^p}$ of each pair, from the differences themselves. O(nnz) a pair."""
    return np.exp(-gamma * _distances(X, Y, power))


def _locked(block: Block) -> KernelRows:
    """Return the rows, which a function of the user's may read and not write."""
    if not isinstance(block.rows, np.ndarray):
        return block.rows.copy()
    rows = block.rows.view()
    rows.flags.writeable = False
    return rows


def _as_values(given: object, shape: tuple[int, int]) -> Matrix:
    values = np.array(cast(CsrRows, given).toarray() if sparse.issparse(given) else given)
    if values.shape != shape or values.dtype.kind not in "biuf":
        raise AioliError(
            f"the kernel gave {values.dtype} numbers of shape {values.shape} for {shape[0]} rows and {shape[1]}; it "
            "must take two matrices of rows and give a real number for each pair (nothing was learned)"
        )
    return values.astype(np.float64)


def _products(X: KernelRows, Y: KernelRows) -> Matrix:
    if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
        return np.ascontiguousarray(X @ Y.T)
    return np.ascontiguousarray(
        (as_sparse(Y) @ as_sparse(X).T).toarray().T
    )  # transposing costs the fewer rows their entries


def _distances(X: KernelRows, Y: KernelRows, power: int) -> Matrix:
    r"""Return $\sum_i |x_i - y_i|^p$ of each pair, from the differences themselves."""
    if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
        return cdist(X, Y, "cityblock" if power == 1 else "sqeuclidean")
    out = np.empty((X.shape[0], Y.shape[0]))
    merge(*_entries(as_sparse(X)), *_entries(as_sparse(Y)), power, out)
    return out


def _entries(rows: CsrRows) -> tuple[Indices, Indices, Vector]:
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int64), np.asarray(rows.data)


@compiled("void(i8[::1],i8[::1],f8[::1],i8[::1],i8[::1],f8[::1],i8,f8[:,::1])")
def merge(
    x_ends: Indices, x_at: Indices, x: Vector, y_ends: Indices, y_at: Indices, y: Vector, power: int, out: Matrix
) -> None:
    """Add up the distances of sparse rows, column by column in order. O(nnz) a pair."""
    for t in range(out.shape[0]):
        for s in range(out.shape[1]):
            i, j, total = x_ends[t], y_ends[s], 0.0
            while i < x_ends[t + 1] or j < y_ends[s + 1]:
                if j == y_ends[s + 1] or (i < x_ends[t + 1] and x_at[i] < y_at[j]):
                    gap = x[i]
                    i += 1
                elif i == x_ends[t + 1] or y_at[j] < x_at[i]:
                    gap = y[j]
                    j += 1
                else:
                    gap = x[i] - y[j]
                    i += 1
                    j += 1
                total += abs(gap) if power == 1 else gap * gap
            out[t, s] = total
