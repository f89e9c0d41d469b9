"""The memory of a kernel learner, which plays rows: the kernel, the rows, and the factor that grows with them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Self

import numpy as np

from aioli.errors import ParameterRefused, RowRefused, SnapshotRefused
from aioli.learners.kernel.functions import Kernel, gram, no_kernel, row_number
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.root import root_many
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.kernel.certificate import length_by_kernel
from aioli.states.kernel.growing_cholesky import PANEL, ROUNDING, GrowingCholesky
from aioli.states.kernel.kept_rows import Block, KeptRows, KernelRows, block_of
from aioli.streams.rows import Rows
from aioli.streams.sparse_rows import SparseRows

__all__ = ["KernelMemory", "tables_of"]

REACH = 4e9  # of k(x,x)/λ: v is a difference of numbers of this size, and ε of them is 1e-6


class KernelMemory:
    """Kernel, rows and factor, always as many rows as the factor has."""

    def __init__(self, kernel: Kernel, kept: KeptRows, state: GrowingCholesky) -> None:
        self.kernel = kernel
        self.kept = kept
        self.state = state

    @classmethod
    def empty(cls, kernel: Kernel, width: int, spec: GameSpec) -> Self:
        """Return a memory of no rows yet, of this many columns."""
        return cls(kernel.for_width(width), KeptRows(width), GrowingCholesky(spec))

    def draft(self) -> Self:
        """Return the same memory, to learn with and keep or drop; the original never sees what it writes. O(t)."""
        return type(self)(self.kernel, self.kept.draft(), self.state.draft())

    def widened(self, columns: int) -> Self:
        """Return the same memory with this many further columns of zeros."""
        return type(self)(self.kernel, self.kept.widened(columns), self.state)

    def snapshot(self) -> Snapshot:
        """Return γ, the rows and the factor; the kernel itself, which may be a function, is its owner's to keep."""
        gamma = None if self.kernel.gamma is None else float(self.kernel.gamma)
        parts = {"kept": self.kept.snapshot(), "state": self.state.snapshot()}
        return Snapshot("KernelMemory", {"gamma": gamma}, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot, kernel: Kernel) -> Self:
        """Make an equal memory from a snapshot, with the kernel that its owner kept."""
        kept = KeptRows.restore(snapshot.of("KernelMemory").part("kept"))
        state = GrowingCholesky.restore(snapshot.part("state"))
        if kept.count != state.count:
            raise SnapshotRefused(f"in a KernelMemory, {kept.count} rows came with a factor of {state.count}")
        gamma = None if snapshot.values.get("gamma") is None else snapshot.number("gamma")
        try:
            return cls(replace(kernel, gamma=gamma), kept, state)
        except ParameterRefused as error:
            raise SnapshotRefused(f"in a KernelMemory, {error}") from error

    @property
    def one(self) -> float:
        """Return what the intercept adds to the kernel."""
        return float(self.state.spec.intercept)

    def logits(self, X: KernelRows, first: int | None) -> Vector:
        """Return the log-odds of each row, as if it came next; `first` is as in `row_number`. O(t²) a row."""
        kept = self.kept.block()
        announced = [np.empty(0)]
        for start in range(0, X.shape[0], PANEL):
            rows = self.kept.in_kind(block_of(X[start : start + PANEL]))
            K, diagonal = self.kernel.matrix(rows, kept) + self.one, self.kernel.diagonal(rows) + self.one
            finite = np.isfinite(K).all(axis=1) & np.isfinite(diagonal)
            if not finite.all():
                row = row_number(first, start + int(np.argmin(finite)))
                raise RowRefused("its kernel with a row kept is not finite", row=row, remedy="scale the columns")
            m, left = self.state.moments(K, diagonal)
            if (left < -ROUNDING * diagonal).any():
                row = row_number(first, start + int(np.argmax(left < -ROUNDING * diagonal)))
                raise no_kernel("not positive definite", row)
            v = np.maximum(left, 0.0) / self.state.spec.ridge
            announced.append(root_many(m, 0.5 * self.state.spec.regulariser * v))
        return np.concatenate(announced)

    def play(self, X: KernelRows, y: Vector, weights: Vector, logits: Vector, first: int | None) -> None:
        """Play the rows in order, as many at once as a panel of the factor takes. O(t²) a row."""
        start = 0
        while start < X.shape[0]:
            part = slice(start, min(start + self.state.room, X.shape[0]))
            block = block_of(X[part])
            self._play_block(block, y[part], weights[part], logits[part], row_number(first, start))
            start = part.stop

    def whole_kernel(self) -> Matrix:
        """Return K, of all rows kept. O(t²) kernels."""
        block = self.kept.block()
        K = self.kernel.matrix(block, block)
        np.fill_diagonal(K, self.state.diagonal - self.one)
        return 0.5 * (K + K.T) + self.one

    def length(self, K: Matrix) -> Callable[[Vector], float]:
        r"""Return a function that bounds $\|\Phi^\top q\|$ from above, for rows of the kernel matrix K.

        With the linear kernel Φ is known, and the bound good to ε; otherwise to √ε, as it is the root of a difference.
        """
        block, norms = self.kept.block(), np.sqrt(self.state.diagonal)
        if self.kernel.kernel != "linear":
            return partial(length_by_kernel, K, norms, self.kernel.accuracy(block))

        def of_rows(q: Vector) -> float:
            rounding = (len(q) + 2.0) * np.finfo(np.float64).eps * float(np.abs(q) @ norms)
            total: Vector = np.asarray(q @ block.rows, np.float64)
            return math.hypot(float(np.linalg.norm(total)), self.one * float(q.sum())) + rounding

        return of_rows

    def kernel_columns(self, count: int, start: int, stop: int) -> Matrix:
        """Return the kernel of the first `count` rows with those from start to stop."""
        rows, squares = self.kept.block()
        K = self.kernel.matrix(Block(rows[:count], squares[:count]), Block(rows[start:stop], squares[start:stop]))
        return K + self.one

    def _play_block(self, block: Block, y: Vector, weights: Vector, logits: Vector, first: int | None) -> None:
        self.kept.take_kind(block)
        rows, kept = self.kept.in_kind(block), self.kept.block()
        K, own = gram(self.kernel, rows, kept, self.state.diagonal - self.one, first)
        K, own = K + self.one, own + self.one
        norms, spec = np.sqrt(np.diagonal(own)), self.state.spec
        long = norms > math.sqrt(REACH * spec.ridge)
        heavy = norms * np.maximum(weights, 1.0) > spec.widest_row
        if (long | heavy).any():
            t = int(np.argmax(long | heavy))
            raise RowRefused(
                f"of length √k(x,x) = {norms[t]:g} in the kernel's space, weight {weights[t]:g}, beyond what float64 "
                "can keep exact",
                row=row_number(first, t),
                value=float(norms[t]),
                remedy="scale columns or weights down, or raise the ridge",
            )
        played = self.state.play(K, own, y, weights, logits)
        if played < len(y):
            raise no_kernel("not positive definite", row_number(first, played))
        self.kept.append(rows)


def tables_of(rows: Rows | SparseRows) -> Iterator[tuple[int, KernelRows]]:
    """Yield the rows chunk by chunk, each a matrix or CSR array, with the number of its first row."""
    if isinstance(rows, SparseRows):
        yield 0, rows.values
    else:
        yield from rows
