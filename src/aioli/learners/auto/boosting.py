"""Boosted trees as a companion of the linear experts."""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.auto.companions import TreesCompanion
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.boosting.fitting import THOROUGH
from aioli.states.boosting.state import BoostedState

__all__ = ["BoostingCompanion"]


class BoostingCompanion(TreesCompanion[BoostedState]):
    """Plays boosted trees, whose leaves learn from each row between two fits: heard after some trees, and after all."""

    names = tuple(f"boosting: {rounds} trees" for rounds in THOROUGH.stages)
    _watches = True
    _gaps: Sequence[tuple[int, int]] = ()

    def consult(self, X: Matrix) -> Matrix:
        """Return each member's log-odds of each row, as if it came next: NaN before the first fit."""
        if self._state is None:
            return np.full((len(X), len(self.names)), np.nan)
        return self._state.consult(X)[:, :, 0]

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that writes, again and again, what `consult` says of the only row of X."""
        scores = np.full((1, len(self.names), 1), np.nan)

        def consult() -> None:
            if self._state is not None:
                self._state.consult_into(X, scores)
            out[...] = scores[:, :, 0]

        return consult

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Learn from the rows in order; return each member's log-odds of each row before its label."""
        return self._begun(X.shape[1]).play(X, y.astype(np.int64), weights)[:, :, 0]

    def prepared(self, X: Matrix, y: Vector, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the only row of these arrays, as `play` does, into `out`."""
        state, scores, codes = self._begun(X.shape[1]), np.empty((1, len(self.names), 1)), np.empty(1, np.int64)

        def play() -> None:
            codes[0] = y[0]
            state.play_row(X, codes, weights, scores)
            out[...] = scores[:, :, 0]

        return play

    def labels_come_late(self) -> None:
        """Watch for changes of the world no more: one batch that went wrong would be taken for one."""
        self._watches = False
        if self._state is not None:
            self._state.watches = False

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:
        """Let trees send missing numbers either way."""
        self._gaps = gaps
        if self._state is not None:
            self._state.mark_gaps(gaps)

    def _begun(self, width: int) -> BoostedState:
        """Return the state, which begins with the first row."""
        if self._state is None:
            self._state = BoostedState(THOROUGH, width, outputs=1)
            self._state.watches = self._watches
            self._state.mark_gaps(self._gaps)
        return self._state

    def snapshot(self) -> Snapshot:
        """Return the state, where there is one."""
        parts = {} if self._state is None else {"state": self._state.snapshot()}
        return Snapshot("BoostingCompanion", {"watches": self._watches}, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal companion."""
        given, companion = snapshot.of("BoostingCompanion"), cls()
        companion._watches = given.flag("watches") if "watches" in given.values else True
        if "state" in given.parts:
            companion._state = BoostedState.restore(given.part("state"), THOROUGH)
            if companion._state.outputs != 1:
                raise SnapshotRefused(f"in a BoostingCompanion, {companion._state.outputs} scores a row came, not one")
        return companion
