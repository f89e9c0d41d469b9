"""Players of sparse rows beside an ensemble: wide experts on all columns, and others on pairs of their values."""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.wide_experts import EXPERTS, WideExpert
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.late_loops import MEMORY
from aioli.states.sparse.pairs import BUCKETS, Pairs
from aioli.states.sparse.state import WideState
from aioli.states.sparse.views import VIEWS
from aioli.streams.sparse_rows import SparseChunk, SparseRows

__all__ = ["WidePlayers"]

CHUNK = 512  # rows whose tokens are in memory at a time
# Of pairs: one a view that was best somewhere, and one that forgets. Time goes with their number, since pairs are many.
PAIR_EXPERTS = (
    WideExpert("rarity", 0.01),
    WideExpert("amount", 0.1),
    WideExpert("rarity", 1.0),
    WideExpert("presence", 1.0, forgetting=0.99),
)


class WidePlayers:
    """Plays wide experts on all columns and, where pairs play, others on the pairs of the ensemble's columns.

    Every method takes the rows, and as `first` the columns of them that the ensemble reads, whose values are paired.

    Parameters
    ----------
    paired
        Whether pairs play.
    """

    def __init__(self, paired: bool) -> None:
        self._pairs = Pairs(paired)
        self._states = _fresh_states(paired)  # on all columns; on pairs

    def __len__(self) -> int:
        return len(self._states)

    @property
    def shares(self) -> list[dict[str, float]]:
        """How much of each player its experts hold, by name."""
        held = []
        for what, experts, state in zip(("columns", "pairs"), (EXPERTS, PAIR_EXPERTS), self._states, strict=False):
            names = [f"{what}, {name}" for name in (*(expert.name for expert in experts), "naive Bayes")]
            held.append(dict(zip(names, state.shares.tolist(), strict=True)))
        return held

    @property
    def memory_sizes(self) -> list[int]:
        """How many numbers each player keeps of a row that it has announced."""
        return [state.kinds.size + 1 + MEMORY for state in self._states]

    def make_room(self, width: int) -> None:
        """Make room for so many columns."""
        for k, state in enumerate(self._states):
            state.make_room(width + k * BUCKETS)

    def predict(self, rows: SparseRows, first: Matrix) -> Matrix:
        """Return the log-odds of each row by each player."""
        Z = np.zeros((len(rows), len(self)))
        for part, X, chunk in self._chunks(rows, first):
            for k, (state, seen) in enumerate(zip(self._states, self._seen(X, chunk), strict=True)):
                Z[part, k] = state.predict(seen)
        return Z

    def announce(self, rows: SparseRows, first: Matrix) -> tuple[Matrix, list[Matrix]]:
        """Return the log-odds of each row by each player, and what each keeps of the rows until their labels come."""
        Z = np.empty((len(rows), len(self)))
        kepts = [np.empty((len(rows), size)) for size in self.memory_sizes]
        for part, X, chunk in self._chunks(rows, first):
            for k, (state, seen) in enumerate(zip(self._states, self._seen(X, chunk), strict=True)):
                Z[part, k], kepts[k][part] = state.announce(seen)
        return Z, kepts

    def learn(
        self,
        rows: SparseRows,
        first: Matrix,
        labels: Vector,
        weights: Vector,
        kept: tuple[list[Matrix], Vector] | None = None,
    ) -> Matrix:
        """Learn the rows; return the log-odds that each player announced before each label.

        `kept` is what the players kept of rows that were announced before, and how late their labels are.
        """
        said = np.full((len(self), len(rows)), math.nan)
        for part, X, chunk in self._chunks(rows, first):
            for k, (state, seen) in enumerate(zip(self._states, self._seen(X, chunk), strict=True)):
                if kept is None:
                    state.play(seen, labels[part], weights[part], said[k, part])
                else:
                    memory = np.ascontiguousarray(kept[0][k][part])
                    state.play(seen, labels[part], weights[part], said[k, part], memory.copy(), kept[1][part])
            self._pairs.observe(X)
        return np.ascontiguousarray(said.T)

    def forget_announcing(self) -> None:
        """Forget that rows have been announced."""
        for state in self._states:
            state.late = None

    def begin_again(self) -> None:
        """Forget the columns, before the first row has been learned."""
        self._states = _fresh_states(self._pairs.paired)

    @property
    def parts(self) -> dict[str, Snapshot]:
        """Snapshots of the players and of the pairs, by name."""
        players = {f"wide{k}": state.snapshot() for k, state in enumerate(self._states)}
        return {**players, "pairs": self._pairs.snapshot()}

    def recall(self, given: Snapshot, width: int | None) -> Self:
        """Remember the `parts` of a snapshot, of so many columns; return the players themselves."""
        states = [WideState.restore(given.part(f"wide{k}")) for k in range(len(self))]
        self._pairs = Pairs.restore(given.part("pairs"))
        for k, (state, own) in enumerate(zip(states, self._states, strict=True)):
            if not state.has_experts_of(own):
                raise SnapshotRefused("in a NarrowAndWide, the experts are others than those that this version plays")
            if state.width != (None if width is None else width + k * BUCKETS):
                raise SnapshotRefused(f"in a NarrowAndWide, a player knows other columns than {width}")
        self._states = states
        return self

    def _chunks(self, rows: SparseRows, first: Matrix) -> list[tuple[slice, Matrix, SparseChunk]]:
        """Return parts of the rows as the players see them: the first columns, and all of them."""
        parts, start = [], 0
        room = self._pairs.room
        while start < len(rows):
            stop = min(start + CHUNK, len(rows), start + room if room else len(rows))
            room = max(0, room - (stop - start))
            parts.append((slice(start, stop), first[start:stop], rows.part(start, stop)))
            start = stop
        return parts

    def _seen(self, X: Matrix, chunk: SparseChunk) -> list[SparseChunk]:
        """Return the rows as each of the players sees them."""
        return [chunk, self._pairs.tokens(X, chunk)][: len(self)]


def _fresh_states(paired: bool) -> list[WideState]:
    return [
        WideState(
            kinds=np.array([VIEWS.index(expert.view) for expert in experts], dtype=np.int64),
            ridge=np.array([expert.ridge for expert in experts]),
            forgetting=np.array([expert.forgetting for expert in experts]),
        )
        for experts in ([EXPERTS, PAIR_EXPERTS] if paired else [EXPERTS])
    ]
