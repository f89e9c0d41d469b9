"""Plays a pooled fleet: a global model of all rows, and models by key that add to what it says."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.fleet.game import Game, factor_model
from aioli.fleet.keyed_records import KeyedRecords
from aioli.fleet.layout import LOSS, Layout
from aioli.fleet.pooled_loops import GLOBAL, logits_of_pooled_rows, play_pooled_rows
from aioli.fleet.records import Records
from aioli.fleet.room import Places
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.state import State

__all__ = ["PooledGame"]


class PooledGame(Game):
    """Plays rows of many keys, each by models of several λ that add to the log-odds of one global model.

    What the models and the global one say is mixed by shares that all keys have in common, which learn from every row
    which λ fits.
    """

    def __init__(self, spec: GameSpec, ridges: Sequence[float], layout: Layout, state: State | None = None) -> None:
        super().__init__([replace(spec, ridge=ridge) for ridge in ridges], layout)
        self.spec = spec
        self.state = State(spec, layout.width) if state is None else state
        self.log_shares: Vector = np.full(layout.models + 1, -math.log(layout.models + 1.0))
        width = layout.width
        self._buffers = (
            np.empty(layout.body),
            np.empty((layout.models, width, width)),
            np.empty((layout.models, width)),
            np.empty((layout.models, len(Tally))),
            np.array([one.packed for one in self.specs]),
            np.empty((3, width)),
        )

    @property
    def shares(self) -> Vector:
        """The share of each λ in the mixture, and at the end that of the global model alone."""
        return np.exp(self.log_shares)

    def play(
        self, records: Records, places: Places, X: Matrix, y: Vector, weights: Vector, logits: Vector, clock: float
    ) -> None:
        """See `Game`."""
        offsets = np.full(len(X), math.nan)
        state, played = self.state, 0
        while played < len(X):
            common = state.P, state.w, state.tally, state.rules, state.factored, self.log_shares
            played, model = play_pooled_rows(
                records.hot,
                places,
                played,
                self.layout.told,
                *self._buffers,
                *common,
                X,
                y,
                weights,
                logits,
                offsets,
                clock,
            )
            if played < len(X) and model == GLOBAL:
                state.factor()
            elif played < len(X):
                factor_model(records, int(places[played]), self.layout, model, self.specs[model])

    def logits(self, matrix: Matrix, places: Places, X: Matrix, logits: Vector) -> None:
        """See `Game`."""
        own, state = State(self.spec, self.layout.width), self.state  # threads may predict side by side
        buffers = np.empty(self.layout.body), own.P, own.w, own.tally, self.spec.regulariser, own.workspace[1]
        common = state.P, state.w, state.factored, self.log_shares
        logits_of_pooled_rows(matrix, places, self.layout.told, *buffers, *common, X, logits)

    def losses_and_certificates(self, records: KeyedRecords) -> tuple[Vector, Vector]:
        """Return each key's loss, and the least over λ of that model's certificate plus the key's excess loss over it.

        Regret is against the global log-odds plus θᵀx, for every ‖θ‖ ≤ B.
        """
        losses = records.heads(LOSS)
        least = np.full(losses.size, math.inf)
        if self.spec.curvature != "full":
            for model, spec in enumerate(self.specs):
                tallies = records.tallies(model)
                proven = spec.ridge * spec.radius**2 + tallies[:, Tally.REGRET] + losses - tallies[:, Tally.LOSS]
                least = np.minimum(least, proven)
        return losses, least

    def grown(self, layout: Layout) -> Self:
        """See `Game`."""
        state = self.state.grown(layout.width - self.layout.width)
        larger = type(self)(self.spec, self.ridges.tolist(), layout, state)
        larger.log_shares[:] = self.log_shares
        return larger

    def merge(self, other: Self) -> None:
        """Merge the global models, and multiply the shares: each counts the losses of its own rows."""
        if other.state.tally[Tally.ROUNDS]:
            self.state = self.state.merged(other.state) if self.state.tally[Tally.ROUNDS] else other.state.copy()
        self.log_shares += other.log_shares
        self.log_shares -= np.logaddexp.reduce(self.log_shares)

    def merge_record(self, records: Records, place: int, theirs: Matrix, source: int) -> None:
        """See `Game`; losses add."""
        super().merge_record(records, place, theirs, source)
        records.hot[place, LOSS] += theirs[source, LOSS]

    def parts(self) -> dict[str, Snapshot]:
        """Return the global model and the shares."""
        common = Snapshot("PooledGame", {}, {"log_shares": self.log_shares.copy()}, {"state": self.state.snapshot()})
        return {"common": common}

    def take_part(self, snapshot: Snapshot) -> None:
        """Go on from the part of a fleet's snapshot that `parts` made."""
        given = snapshot.of("PooledGame")
        state = State.restore(given.part("state"))
        if state.spec != self.spec or state.width != self.layout.width:
            raise SnapshotRefused(f"in a PooledGame, the global model is of another game, {state.spec}")
        log_shares = given.array("log_shares", (self.layout.models + 1,))
        if log_shares.max() > 1e-9 or abs(np.logaddexp.reduce(log_shares)) > 1e-6:
            raise SnapshotRefused("in a PooledGame, the shares do not add up to 1")
        self.state, self.log_shares = state, log_shares.copy()
