"""What a kernel learner remembers: its kernel, the rows, and the factor that grows with them; and how it plays rows."""

import math
from typing import Self

import numpy as np

from aioli.learners.kernel.functions import Kernel, Where, gram, no_kernel
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.root import root_many
from aioli.outcomes.spec import GameSpec
from aioli.states.kernel.growing_cholesky import PANEL, ROUNDING, GrowingCholesky
from aioli.states.kernel.kept_rows import Block, KeptRows, Table, block_of

__all__ = ["KernelMemory"]

REACH = 4e9  # of k(x,x)/λ: v is a difference of numbers of this size, and ε of them is 1e-6


class KernelMemory:
    """Kernel, rows and factor, always as many rows as the factor has."""

    def __init__(self, kernel: Kernel, kept: KeptRows, state: GrowingCholesky) -> None:
        self.kernel = kernel
        self.kept = kept
        self.state = state

    @classmethod
    def empty(cls, kernel: Kernel, width: int, spec: GameSpec) -> Self:
        """No rows yet, of this many columns."""
        return cls(kernel.for_width(width), KeptRows(width), GrowingCholesky(spec))

    def draft(self) -> Self:
        """The same memory, to learn with and keep or drop; the original never sees what it writes. O(t)."""
        return type(self)(self.kernel, self.kept.draft(), self.state.draft())

    def widened(self, columns: int) -> Self:
        """The same memory with this many further columns of zeros."""
        return type(self)(self.kernel, self.kept.widened(columns), self.state)

    def tensors(self) -> dict[str, Vector]:
        """What to save."""
        return self.kept.tensors() | self.state.tensors()

    @classmethod
    def from_tensors(cls, kernel: Kernel, width: int, spec: GameSpec, tensors: dict[str, Vector]) -> Self:
        """The memory that `tensors` gave; what cannot be one is a `ValueError`."""
        kept = KeptRows.from_tensors(width, tensors)
        return cls(kernel, kept, GrowingCholesky.from_tensors(spec, kept.count, tensors))

    @property
    def one(self) -> float:
        """What the intercept adds to the kernel."""
        return float(self.state.spec.intercept)

    def logits(self, X: Table, start: int, where: Where) -> Vector:
        """The log-odds of each row, as if it came next; a message calls the first `where(start)`. O(t²) a row."""
        kept = self.kept.block()
        announced = [np.empty(0)]
        for first in range(0, X.shape[0], PANEL):
            rows = self.kept.in_kind(block_of(X[first : first + PANEL]))
            K, diagonal = self.kernel.matrix(rows, kept) + self.one, self.kernel.diagonal(rows) + self.one
            finite = np.isfinite(K).all(axis=1) & np.isfinite(diagonal)
            if not finite.all():
                t = start + first + int(np.argmin(finite))
                raise ValueError(f"{where(t)}: its kernel with a row kept is not finite; scale the columns")
            m, left = self.state.moments(K, diagonal)
            if (left < -ROUNDING * diagonal).any():
                t = start + first + int(np.argmax(left < -ROUNDING * diagonal))
                raise ValueError(f"{where(t)}: {no_kernel('not positive definite')}")
            v = np.maximum(left, 0.0) / self.state.spec.ridge
            announced.append(root_many(m, 0.5 * self.state.spec.regulariser * v))
        return np.concatenate(announced)

    def play(self, X: Table, y: Vector, weights: Vector, logits: Vector, start: int, where: Where) -> None:
        """Play the rows in order, as many at once as a panel of the factor takes. O(t²) a row."""
        first = 0
        while first < X.shape[0]:
            part = slice(first, min(first + self.state.room, X.shape[0]))
            block = block_of(X[part])
            self._play_block(block, y[part], weights[part], logits[part], start + first, where)
            first = part.stop

    def whole_kernel(self) -> Matrix:
        """K, of all rows kept. O(t²) kernels."""
        block = self.kept.block()
        K = self.kernel.matrix(block, block)
        np.fill_diagonal(K, self.state.diagonal - self.one)
        return 0.5 * (K + K.T) + self.one

    def kernel_columns(self, count: int, start: int, stop: int) -> Matrix:
        """The kernel of the first `count` rows with those from start to stop."""
        rows, squares = self.kept.block()
        K = self.kernel.matrix(Block(rows[:count], squares[:count]), Block(rows[start:stop], squares[start:stop]))
        return K + self.one

    def _play_block(self, block: Block, y: Vector, weights: Vector, logits: Vector, start: int, where: Where) -> None:
        self.kept.take_kind(block)
        rows, kept = self.kept.in_kind(block), self.kept.block()
        K, own = gram(self.kernel, rows, kept, self.state.diagonal - self.one, start, where)
        K, own = K + self.one, own + self.one
        norms, spec = np.sqrt(np.diagonal(own)), self.state.spec
        long = norms > math.sqrt(REACH * spec.ridge)
        heavy = norms * np.maximum(weights, 1.0) > spec.widest_row
        if (long | heavy).any():
            t = int(np.argmax(long | heavy))
            raise ValueError(
                f"{where(start + t)}: of length √k(x,x) = {norms[t]:g} in the kernel's space, weight {weights[t]:g}, "
                "beyond what float64 can keep exact; scale columns or weights down, or raise the ridge "
                "(nothing was learned)"
            )
        played = self.state.play(K, own, y, weights, logits)
        if played < len(y):
            raise ValueError(f"{where(start + played)}: {no_kernel('not positive definite')}")
        self.kept.append(rows)
