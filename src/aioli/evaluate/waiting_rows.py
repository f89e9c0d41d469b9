"""Queues predicted rows that wait for their labels, in the order in which they came."""

from collections import deque
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from aioli.errors import SnapshotRefused
from aioli.learners.announcements import Announcements
from aioli.learners.classes.announcements import ClassAnnouncements
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Array, Plain, Snapshot
from aioli.streams.files.table import Csr, Features

__all__ = ["Block", "Tickets", "WaitingRows", "join_blocks"]

Tickets = Announcements | ClassAnnouncements
NO_LABEL = -1.0  # stands in a file for a label that will not come: files hold finite numbers
NO_TIME = -1e300  # the clock before the first row: files hold finite numbers


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows that have been announced and wait for their labels.

    Attributes
    ----------
    X, y, weights
        The rows, their labels, which nobody has heard yet, NaN where none will come, and their weights; None where all
        are 1.
    p, base
        The probabilities announced, of K classes a column each, and the base rate's of the labels known then: of label
        1, or of K classes that of the row's own label.
    due
        When their labels come, where that is a matter of time.
    tickets
        What the learner announced; None where it does not learn late.
    """

    X: Features
    y: Vector
    weights: Vector | None
    p: Vector | Matrix
    base: Vector
    due: Vector
    tickets: Tickets | None

    def of(self, rows: slice | NDArray[np.int64]) -> "Block":
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        tickets = None if self.tickets is None else self.tickets.of(rows)
        return Block(self.X[rows], self.y[rows], weights, self.p[rows], self.base[rows], self.due[rows], tickets)


class WaitingRows:
    """A queue of announced rows, and what a player with late labels must know besides.

    Attributes
    ----------
    owed
        How many labels of a whole batch have come and are still to be learned.
    clock
        The latest time of a row so far.
    heard, came
        How many labels have been learned, and how many of each class, by its code.
    """

    def __init__(self) -> None:
        self.owed = self.heard = 0
        self.came: Vector = np.zeros(2)
        self.clock = NO_TIME
        self._blocks: deque[Block] = deque()
        self._rows = self._width = 0  # the latter of the widest row so far

    def __len__(self) -> int:
        return self._rows

    @property
    def next_due(self) -> float:
        """The time at which the next label comes; infinity where no row waits."""
        return self._blocks[0].due.item(0) if self._blocks else np.inf

    def due(self, time: float) -> int:
        """Return how many labels have come by a time. O(blocks that are due)."""
        count = 0
        for block in self._blocks:
            some = int(np.searchsorted(block.due, time, side="right"))
            count += some
            if some < len(block.y):
                break
        return count

    def add(self, block: Block) -> None:
        """Put rows behind the others."""
        self._blocks.append(block)
        self._width = max(self._width, block.X.shape[1])
        self._rows += len(block.y)

    def first(self, rows: int, width: int | None) -> Block:
        """Return the oldest rows, as wide as the learner is now."""
        parts: list[Block] = []
        missing = rows
        for block in self._blocks:
            if not missing:
                break
            parts.append(block if len(block.y) <= missing else block.of(slice(0, missing)))
            missing -= len(parts[-1].y)
        return join_blocks(parts, max(self._width, width or 0))

    def drop(self, block: Block) -> None:
        """Forget the oldest rows, whose labels have been learned."""
        rows = len(block.y)
        self.heard += int(np.count_nonzero(~np.isnan(block.y)))
        came = np.bincount(block.y[~np.isnan(block.y)].astype(np.int64), minlength=self.came.size).astype(np.float64)
        came[: self.came.size] += self.came
        self.came = came
        self.owed = max(0, self.owed - rows)
        self._rows -= rows
        self._forget(rows)

    def _forget(self, rows: int) -> None:
        while rows:
            oldest = self._blocks.popleft()
            if len(oldest.y) > rows:
                self._blocks.appendleft(oldest.of(slice(rows, None)))
                return
            rows -= len(oldest.y)

    def snapshot(self) -> Snapshot:
        """Return the rows and the counts."""
        ones = int(self.came[1])
        values: dict[str, Plain] = {"owed": self.owed, "heard": self.heard, "ones": ones, "clock": self.clock}
        if self.came.size > 2:
            values |= {"classes": self.came.size, "came": self.came.astype(np.int64).tolist()}
        if not self._rows:
            return Snapshot("WaitingRows", {**values, "width": None})
        block = self.first(self._rows, None)
        y = np.nan_to_num(block.y, nan=NO_LABEL)
        arrays: dict[str, Array] = {"y": y, "p": block.p, "base": block.base, "due": block.due}
        if block.weights is not None:
            arrays["weights"] = block.weights
        if isinstance(block.X, np.ndarray):
            arrays["X"] = block.X
        else:
            indices, starts = block.X.indices.astype(np.int64), block.X.indptr.astype(np.int64)
            arrays |= {"data": block.X.data, "indices": indices, "starts": starts}
        parts = {} if block.tickets is None else {"tickets": block.tickets.snapshot()}
        owned = {name: array.copy() for name, array in arrays.items()}
        return Snapshot("WaitingRows", {**values, "width": block.X.shape[1]}, owned, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal queue from a snapshot."""
        given = snapshot.of("WaitingRows")
        waiting = cls()
        waiting.owed, waiting.heard, ones = (given.whole(name) for name in ("owed", "heard", "ones"))
        waiting.came = np.array([waiting.heard - ones, ones], dtype=np.float64)
        if "came" in given.values:
            waiting.came = np.array(given.wholes("came", given.whole("classes")), dtype=np.float64)
        waiting.clock = given.number("clock")
        if given.values.get("width") is None:
            return waiting
        width = given.whole("width")
        y = given.array("y", (None,))
        y = np.where(y == NO_LABEL, np.nan, y)
        rows = len(y)
        base, due = (given.array(name, (rows,)) for name in ("base", "due"))
        p = given.array("p", (rows,) if given.arrays["p"].ndim == 1 else (rows, None))
        weights = given.array("weights", (rows,)) if "weights" in given.arrays else None
        tickets = _tickets(given.part("tickets")) if "tickets" in given.parts else None
        if tickets is not None and len(tickets) != rows:
            raise SnapshotRefused(f"in WaitingRows, {rows} rows have {len(tickets)} announcements")
        waiting.add(Block(_features(given, rows, width), y, weights, p, base, due, tickets))
        return waiting


def _features(given: Snapshot, rows: int, width: int) -> Features:
    if "X" in given.arrays:
        return given.array("X", (rows, width))
    data, starts = given.array("data", (None,)), given.integers("starts", (rows + 1,))
    indices = given.integers("indices", (len(data),))
    if indices.size and not 0 <= indices.min() <= indices.max() < width:
        raise SnapshotRefused(f"in WaitingRows, a column is not one of {width}")
    return csr_array((data, indices, starts), shape=(rows, width))


def join_blocks(parts: list[Block], width: int) -> Block:
    """Return blocks as one, its rows of this width."""
    if len(parts) == 1 and parts[0].X.shape[1] == width:
        return parts[0]
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate([np.ones(len(part.y)) if part.weights is None else part.weights for part in parts])
    return Block(
        X=_stacked([part.X for part in parts], width),
        y=np.concatenate([part.y for part in parts]),
        weights=weights,
        p=np.concatenate([part.p for part in parts]),
        base=np.concatenate([part.base for part in parts]),
        due=np.concatenate([part.due for part in parts]),
        tickets=_joined_tickets([part.tickets for part in parts if part.tickets is not None]),
    )


def _tickets(snapshot: Snapshot) -> Tickets:
    if snapshot.kind == "ClassAnnouncements":
        return ClassAnnouncements.restore(snapshot)
    return Announcements.restore(snapshot)


def _joined_tickets(parts: list[Tickets]) -> Tickets | None:
    of_classes = [part for part in parts if isinstance(part, ClassAnnouncements)]
    if of_classes:
        return ClassAnnouncements.joined(of_classes)
    of_two = [part for part in parts if isinstance(part, Announcements)]
    return Announcements.joined(of_two) if of_two else None


def _stacked(parts: list[Features], width: int) -> Features:
    dense: list[Vector] = []
    wide: list[Csr] = []
    for X in parts:
        if isinstance(X, np.ndarray):
            dense.append(X if X.shape[1] == width else np.pad(X, ((0, 0), (0, width - X.shape[1]))))
        else:
            wide.append(csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width)))
    return np.concatenate(dense) if dense else csr_array(vstack(wide, format="csr"))
