"""The rows that a kernel learner keeps: dense, or CSR from the first sparse row on. Appending is O(d) amortised."""

import copy
from typing import NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Block", "CsrRows", "KeptRows", "KernelRows", "as_sparse", "block_of"]

CsrRows: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"  # canonical
KernelRows: TypeAlias = "Matrix | CsrRows"
Number = TypeVar("Number", bound=np.generic)


class Block(NamedTuple):
    r"""Rows side by side, and $\|x\|^2$ of each."""

    rows: KernelRows
    squares: Vector


def block_of(rows: KernelRows) -> Block:
    """Return the rows with their squares. O(nnz)."""
    if isinstance(rows, np.ndarray):
        return Block(rows, np.einsum("ij,ij->i", rows, rows))
    return Block(rows, np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel())


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
        self.indices: NDArray[np.int32 | np.int64] = np.empty(0, dtype=np.int32)
        self.ends: NDArray[np.int64] = np.zeros(1, dtype=np.int64)

    def draft(self) -> Self:
        """Return the same rows, to append to and keep or drop. O(1)."""
        return copy.copy(self)

    def block(self) -> Block:
        """Return all rows: a view. O(1) where dense, O(t) where sparse."""
        return Block(self._table(), self.squares[: self.count])

    def in_kind(self, block: Block) -> Block:
        """Return the block in the kind that is kept: a dense store was narrow enough, so these rows fit as well."""
        return Block(as_sparse(block.rows) if self.dense is None else _dense(block.rows), block.squares)

    def take_kind(self, block: Block) -> None:
        """Turn the store sparse, for good, where these are its first sparse rows."""
        if self.dense is not None and not isinstance(block.rows, np.ndarray):
            self._turn_sparse()

    def append(self, block: Block) -> None:
        """Keep these rows too."""
        self.take_kind(block)
        after = self.count + len(block.squares)
        self.squares = _with_room(self.squares, self.count, after)
        self.squares[self.count : after] = block.squares
        if self.dense is not None:
            self.dense = _with_room(self.dense, self.count, after)
            self.dense[self.count : after] = _dense(block.rows)
        else:
            rows = as_sparse(block.rows)
            used = int(self.ends[self.count])
            full = used + rows.nnz
            self.data, self.indices = _with_room(self.data, used, full), _with_room(self.indices, used, full)
            self.ends = _with_room(self.ends, self.count + 1, after + 1)
            self.data[used:full], self.indices[used:full] = rows.data, rows.indices
            self.ends[self.count + 1 : after + 1] = used + rows.indptr[1:]
        self.count = after

    def widened(self, columns: int) -> Self:
        """Return the same rows with this many further columns of zeros. O(td) where dense, O(1) where sparse."""
        wider = copy.copy(self)
        wider.width += columns
        if self.dense is not None:
            wider.dense = np.pad(self.dense[: self.count], ((0, 0), (0, columns)))
        return wider

    def snapshot(self) -> Snapshot:
        """Return the rows and their squares. O(nnz)."""
        arrays: dict[str, Array] = {"squares": self.squares[: self.count].copy()}
        if self.dense is not None:
            arrays |= {"rows": self.dense[: self.count].copy()}
        else:
            used = int(self.ends[self.count])
            entries = {"indices": self.indices[:used].astype(np.int64), "ends": self.ends[: self.count + 1].copy()}
            arrays |= {"data": self.data[:used].copy(), **entries}
        return Snapshot("KeptRows", {"width": self.width, "sparse": self.dense is None}, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal store from a snapshot. O(nnz)."""
        snapshot.of("KeptRows")
        kept = cls(snapshot.whole("width"))
        squares = snapshot.totals("squares", (None,))
        if snapshot.flag("sparse"):
            data, indices = snapshot.array("data", (None,)), snapshot.integers("indices", (None,))
            ends = snapshot.integers("ends", (squares.size + 1,))
            try:
                rows: CsrRows = sparse.csr_array((data, indices, ends), shape=(squares.size, kept.width))
                rows.check_format(full_check=True)
            except ValueError as error:
                raise SnapshotRefused(f"in a KeptRows, the sparse rows contradict themselves ({error})") from error
            kept.append(Block(rows, squares))
        else:
            kept.append(Block(snapshot.array("rows", (squares.size, kept.width)), squares))
        return kept

    def _table(self) -> KernelRows:
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


def _dense(rows: KernelRows) -> Matrix:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def as_sparse(rows: KernelRows) -> CsrRows:
    """Return the rows as CSR; rows that are CSR already are not copied."""
    return sparse.csr_array(rows) if isinstance(rows, np.ndarray) else rows


def _with_room(array: NDArray[Number], used: int, needed: int) -> NDArray[Number]:
    """Return the array itself where it is long enough, else a copy of at least twice its length."""
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger
