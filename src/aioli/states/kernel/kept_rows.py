"""The rows that a kernel learner keeps: dense, or CSR from the first sparse row on. Appending is O(d) amortised."""

import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from aioli.numerics.compiling import Matrix, Vector

__all__ = ["Block", "KeptRows", "Table", "block_of", "is_sparse"]

Table = Any  # rows: a float64 matrix, or a canonical float64 CSR array


class Block(NamedTuple):
    r"""Rows side by side, and $\|x\|^2$ of each."""

    rows: Table
    squares: Vector


def is_sparse(rows: Table) -> bool:
    """Whether these are CSR rows."""
    return not isinstance(rows, np.ndarray)


def block_of(rows: Table) -> Block:
    """The rows with their squares. O(nnz)."""
    if is_sparse(rows):
        return Block(rows, np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel())
    return Block(rows, np.einsum("ij,ij->i", rows, rows))


class KeptRows:
    """Rows in the order they came. Arrays double when full, and nothing that was written is written again.

    So a `draft` shares them: what it appends lies beyond what the original reads, and dropping it undoes it.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.count = 0
        self.squares: Vector = np.empty(0)
        self.dense: Matrix | None = np.empty((0, width))
        self.data: Vector = np.empty(0)
        self.indices: NDArray[np.int32] | NDArray[np.int64] = np.empty(0, dtype=np.int32)
        self.ends: NDArray[np.int64] = np.zeros(1, dtype=np.int64)

    def draft(self) -> Self:
        """The same rows, to append to and keep or drop. O(1)."""
        return copy.copy(self)

    def block(self) -> Block:
        """All rows: a view. O(1) where dense, O(t) where sparse."""
        return Block(self._table(), self.squares[: self.count])

    def in_kind(self, block: Block) -> Block:
        """The block in the kind that is kept. A dense store was narrow enough for dense rows: these fit as well."""
        if self.dense is None:
            return block if is_sparse(block.rows) else Block(sparse.csr_array(block.rows), block.squares)
        return Block(block.rows.toarray(), block.squares) if is_sparse(block.rows) else block

    def take_kind(self, block: Block) -> None:
        """The first sparse rows make the store sparse, for good."""
        if self.dense is not None and is_sparse(block.rows):
            self._turn_sparse()

    def append(self, block: Block) -> None:
        """Keep these rows too."""
        self.take_kind(block)
        rows, squares = self.in_kind(block)
        after = self.count + len(squares)
        self.squares = _with_room(self.squares, self.count, after)
        self.squares[self.count : after] = squares
        if self.dense is not None:
            self.dense = _with_room(self.dense, self.count, after)
            self.dense[self.count : after] = rows
        else:
            used = int(self.ends[self.count])
            full = used + rows.nnz
            self.data, self.indices = _with_room(self.data, used, full), _with_room(self.indices, used, full)
            self.ends = _with_room(self.ends, self.count + 1, after + 1)
            self.data[used:full], self.indices[used:full] = rows.data, rows.indices
            self.ends[self.count + 1 : after + 1] = used + rows.indptr[1:]
        self.count = after

    def widened(self, columns: int) -> Self:
        """The same rows with this many further columns of zeros. O(td) where dense, O(1) where sparse."""
        wider = copy.copy(self)
        wider.width += columns
        if self.dense is not None:
            wider.dense = np.pad(self.dense[: self.count], ((0, 0), (0, columns)))
        return wider

    def tensors(self) -> dict[str, Vector]:
        """What to save: float64 all of it, which holds column numbers exactly up to 2⁵³."""
        if self.dense is not None:
            return {"rows": self.dense[: self.count]}
        used = int(self.ends[self.count])
        return {
            "data": self.data[:used],
            "indices": self.indices[:used].astype(np.float64),
            "ends": self.ends[: self.count + 1].astype(np.float64),
        }

    @classmethod
    def from_tensors(cls, width: int, tensors: dict[str, Vector]) -> Self:
        """The rows that `tensors` gave; what cannot be rows is a `ValueError`."""
        kept = cls(width)
        if "rows" in tensors:
            rows: Table = tensors["rows"]
            if rows.ndim != 2 or rows.shape[1] != width:
                raise ValueError(f"rows of shape {rows.shape} for {width} columns")
        else:
            ends = tensors["ends"].astype(np.int64)
            indices = tensors["indices"].astype(np.int64)
            rows = sparse.csr_array((tensors["data"], indices, ends), shape=(ends.size - 1, width))
            rows.check_format(full_check=True)
        kept.append(block_of(rows))
        return kept

    def _table(self) -> Table:
        if self.dense is not None:
            return self.dense[: self.count]
        used = int(self.ends[self.count])
        parts = self.data[:used], self.indices[:used], self.ends[: self.count + 1]
        return sparse.csr_array(parts, shape=(self.count, self.width))

    def _turn_sparse(self) -> None:
        rows = sparse.csr_array(self._table())
        narrow = self.width < np.iinfo(np.int32).max
        self.dense, self.data = None, rows.data
        self.indices = rows.indices.astype(np.int32) if narrow else rows.indices.astype(np.int64)
        self.ends = rows.indptr.astype(np.int64)


def _with_room(array: Any, used: int, needed: int) -> Any:
    """The array itself where it is long enough, else one of at least twice its length with the same beginning."""
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger
